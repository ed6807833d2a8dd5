// How a site opens its ports, and what people are told where one cannot be opened.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "control/gateway/site/ports/lan_setup.h"
#include "control/gateway/site/site.h"

namespace cw::site {
namespace {

/// Ports blame their own options; people know the keys of the file.
std::string with_key(std::string_view table, const std::string& sentence) {
  const size_t colon = sentence.find(": ");
  const std::string option = sentence.substr(0, colon == std::string::npos ? 0 : colon);
  const bool is_option = !option.empty() && std::ranges::all_of(option, [](unsigned char c) {
    return std::islower(c) != 0 || c == '_';
  });
  if (!is_option) return std::string(table) + ": " + sentence;
  if (option.starts_with("eal")) return "site." + sentence;
  if (option == "next_hop") return "peer." + sentence;
  const std::string key = option == "name" ? "device" : option;
  return std::string(table) + "." + key + sentence.substr(colon);
}

}  // namespace

/// Before there are threads with a core of their own, of which DPDK's would be one.
Result<void> Site::begin_eal() const {
#ifdef CW_HAVE_DPDK
  if (plan_.lan_kind != LanKind::Dpdk && plan_.wan_kind != WanKind::Dpdk) return {};
  const char* const table = plan_.wan_kind == WanKind::Dpdk ? "wan" : "lan";
  if (auto begun = start_eal(plan_.eal); !begun) {
    return failure(with_key(table, begun.error().sentence));
  }
#endif
  return {};
}

std::optional<EalChoice> Site::eal() const {
#ifdef CW_HAVE_DPDK
  if (plan_.lan_kind != LanKind::Dpdk && plan_.wan_kind != WanKind::Dpdk) return std::nullopt;
  return start_eal(plan_.eal).value();  // it runs, or there would be no port
#else
  return std::nullopt;
#endif
}

/// An RNIC comes last: the kernel takes what is posted from nobody but who opened it, with the
/// rights of then.
Result<void> Site::open_shard(size_t number, const Settle& settle, LanPort& lan, WanPort& wan) {
  const SiteShard* const first = number == 0 ? nullptr : shards_.front().get();
  const auto open_wan = [&]() -> Result<void> {
    auto opened = make_wan_port(plan_, number, first == nullptr ? nullptr : &first->wan());
    if (!opened) return failure(with_key("wan", opened.error().sentence));
    wan = std::move(*opened);
    return {};
  };
  const bool is_rnic = plan_.wan_kind == WanKind::Verbs;
  if (!is_rnic) {
    if (const auto opened = open_wan(); !opened) return opened;
    if (const auto checked = check_room(*wan.port); !checked) return checked;
  }
  if (const auto opened = open_lan(number, first, lan); !opened || !is_rnic) return opened;
  if (settle) {
    if (const auto settled = settle(plan_); !settled) return settled;
  }
  return open_wan();
}

Result<void> Site::check_room(const Port& wan) const {
  const uint32_t room = wan.facts().payload_max;
  if (room >= plan_.wan.payload_bytes_max) return {};
  return failure("pair.mtu: this machine's route to a peer carries packets that are " +
                 std::to_string(plan_.wan.payload_bytes_max - room) +
                 " bytes smaller; lower pair.mtu at all sites by that, or raise the MTU of the "
                 "interface");
}

Result<void> Site::open_lan(size_t number, const SiteShard* first, LanPort& lan) {
  auto made = make_lan_port(plan_, number, first == nullptr ? nullptr : &first->lan());
  if (!made) return failure(with_key("lan", made.error().sentence));
  lan = std::move(*made);
  if (lan.tun == nullptr || number > 0) return {};
  // Further queues join the device by the name that the first has got.
  plan_.lan.device.name = lan.device();
  set_queue_length(lan.device(), plan_.lan_queue_packets);
  if (lan.tun->status().is_taken) {
    take_back_others(lan.device(), plan_.lan_addresses, plan_.lan_routes, plan_.sets_routes);
  }
  return set_up_lan(lan.device(), plan_.lan_addresses, plan_.lan_routes);
}

}  // namespace cw::site
