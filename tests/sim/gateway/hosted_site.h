// A site of two cores over sockets of loopback, with a host behind each shard: for programs that
// run it by threads or look at what its shards do, one by one.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "control/gateway/site/site.h"
#include "dataplane/base/assert.h"
#include "dataplane/port/sim/network.h"
#include "tests/sim/gateway/host.h"
#include "tests/sim/gateway/sites.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {

/// A LAN of one host, on the thread of the shard that it is behind; its time passes with the
/// shard's turns, unless somebody lets it pass between them.
struct HostedLan {
  HostedLan() { network.join(host_port, gateway_port); }
  SimNetwork network{
      {.port_packets = 1024, .wire_packets = 1024, .payload_max = limits::frame_bytes_max}};
  SimPort &host_port = network.add_port(), &gateway_port = network.add_port();
  Host host{host_port, 0};
  bool is_apart = false;

  void turn(Instant now) {
    network.advance_to(now);
    host.turn(now);
  }
};

class HostedLanPort final : public PortAround {
 public:
  explicit HostedLanPort(HostedLan& lan) : PortAround(lan.gateway_port), lan_(lan) {}
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    if (!lan_.is_apart) lan_.turn(now);
    return PortAround::rx_burst(out, now);
  }

 private:
  HostedLan& lan_;
};

/// Site 1 or 2 of two. The hosts may be spoken to until the first turn.
struct HostedSite {
  static constexpr size_t cores = 2;
  /// The WAN port of a shard, made on the thread that builds it.
  using WanMaker = std::function<std::unique_ptr<Port>(const site::Plan& plan, size_t shard)>;

  HostedSite(int number, const SiteText& text, Instant now, const WanMaker& make_wan)
      : file_(file_of(number, text)) {
    site::Plan plan = this->plan();
    const auto make_ports = [&](size_t shard) {
      lans[shard] = std::make_unique<HostedLan>();
      return site::ShardPorts{std::make_unique<HostedLanPort>(*lans[shard]),
                              make_wan(plan_of(file_of(number, text)), shard)};
    };
    const site::SiteGround ground{
        .ports = make_ports, .now = now, .random = {nullptr, random_bits}, .clock = MachineClock()};
    auto made = site::Site::make(std::move(plan), ground);
    CW_ASSERT(made);
    site = std::move(*made);
  }

  /// As causewayd's control thread does.
  std::optional<site::SiteState> look() const {
    auto state = site->state(Duration::from_s(1));
    if (state && state->wants_policies) site->care_for_policies(Duration::from_s(1));
    return state;
  }
  bool is_up() const {
    const auto state = look();
    return state && std::ranges::all_of(state->peers, &site::PeerView::is_up);
  }

  site::Plan plan() const {
    site::Plan plan = plan_of(file_);
    plan.cores.assign(cores, std::nullopt);
    return plan;
  }

  std::array<std::unique_ptr<HostedLan>, cores> lans;
  std::unique_ptr<site::Site> site;

 private:
  static std::string file_of(int number, SiteText text) {
    text.site += "cores = [0, 0]\n";
    text.pair += "links = 2\n";
    return site_files(2, text)[static_cast<size_t>(number - 1)];
  }
  static uint64_t random_bits(void*) {
    uint64_t bits = 0;
    CW_ASSERT(getentropy(&bits, sizeof(bits)) == 0);
    return bits;
  }
  std::string file_;
};

}  // namespace cw::sim
