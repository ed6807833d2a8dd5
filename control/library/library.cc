// What libcauseway comes with: the devices and policies that its cw_context_create() knows.
//
// "sim:0" and "sim:1" are two ends in one process, joined by a millisecond of lossless wire: enough
// to try a program without a network. Real time passes. "verbs:..." is an RNIC (rnic_device.h).
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/library/fresh_bits.h"
#include "control/library/rnic_device.h"
#include "control/library/udp_group.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/port/sim/fabric/network.h"
#include "dataplane/port/sim/network.h"
#include "dataplane/sdr/sdk/platform.h"
#include "offload/codec/codecs.h"
#include "offload/dpa/open_dpa.h"
#include "policies/policies.h"

namespace cw::sdk {
namespace {
using namespace literals;

/// Made by the first context, and never freed: devices may live as long as the process.
struct SimPair {
  SimPair() : network({.seed = 1}), ports{&network.add_port(), &network.add_port()} {
    network.advance_to(clock.read());
    network.join(*ports[0], *ports[1], {.delay = 1_ms});
  }
  MonotonicClock clock;
  SimNetwork network;
  std::array<SimPort*, 2> ports;
};

class SimDevice final : public Device {
 public:
  SimDevice(SimPair& pair, size_t end) : pair_(pair), end_(end) {}
  AnyWanPort port() override { return *pair_.ports[end_]; }
  Rate rate() const override { return 10_Gbps; }
  Instant now() override {
    pair_.network.advance_to(pair_.clock.read());
    return pair_.network.now();
  }
  uint64_t fresh_bits() override { return fresh_bits_of_system(); }

 private:
  SimPair& pair_;
  size_t end_;
};

Result<std::unique_ptr<Device>> open_sim(std::string_view rest) {
  static SimPair& pair = *new SimPair;
  if (rest != "0" && rest != "1") {
    return failure("sim:" + std::string(rest) + ": the two ends are sim:0 and sim:1");
  }
  return std::make_unique<SimDevice>(pair, rest == "0" ? 0 : 1);
}

/// As SimPair.
struct SimFabric {
  explicit SimFabric(size_t hosts)
      : network(*make_leaf_spine({.hosts = hosts, .leaves = 2, .spines = 1}), {.seed = 1}) {
    network.advance_to(clock.read());
  }
  MonotonicClock clock;
  FabricNetwork network;
};

class SimMember final : public GroupDevice {
 public:
  SimMember(SimFabric& fabric, std::vector<uint16_t> hosts, uint16_t rank)
      : fabric_(fabric), hosts_(std::move(hosts)), rank_(rank) {
    (void)fabric_.network.join(hosts_[rank], group_peer_first);  // or has, in an earlier life
  }
  AnyWanPort port() override { return fabric_.network.port(hosts_[rank_]); }
  Rate rate() const override { return 10_Gbps; }
  Instant now() override {
    const Instant now = fabric_.clock.read();
    while (fabric_.network.now() < now) {
      fabric_.network.run_until(now);
      std::array<uint16_t, 64> ready;
      while (fabric_.network.take_ready(ready) > 0) continue;  // members ask by themselves
    }
    return fabric_.network.now();
  }
  uint64_t fresh_bits() override { return fresh_bits_of_system(); }
  uint16_t peer_of(uint16_t rank) const override { return hosts_[rank]; }
  uint16_t group_peer() const override { return group_peer_first; }

 private:
  SimFabric& fabric_;
  std::vector<uint16_t> hosts_;
  uint16_t rank_;
};

Result<std::unique_ptr<GroupDevice>> open_sim_group(std::string_view rest,
                                                    const GroupPlace& place) {
  static auto& fabrics = *new std::map<std::string, SimFabric*, std::less<>>;
  auto found = fabrics.find(rest);
  if (found == fabrics.end()) {
    const size_t hosts = std::max<size_t>(place.members.size(), 2);
    found = fabrics.emplace(rest, new SimFabric(hosts)).first;
  }
  const size_t hosts_max = found->second->network.topology().host_count();
  std::vector<uint16_t> hosts;
  for (const std::string& text : place.members) {
    uint16_t host = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), host);
    const bool is_number = read.ec == std::errc() && read.ptr == text.data() + text.size();
    if (!is_number || host >= hosts_max) {
      return failure("sim:" + std::string(rest) + ": its hosts are 0 to " +
                     std::to_string(hosts_max - 1) + ", and \"" + text + "\" is none of them");
    }
    hosts.push_back(host);
  }
  return std::make_unique<SimMember>(*found->second, std::move(hosts), place.rank);
}

}  // namespace

const Platform& platform() {
#ifdef CW_HAVE_VERBS
  static constexpr DeviceKind devices[] = {{"sim", open_sim}, {"verbs", open_rnic}};
#else
  static constexpr DeviceKind devices[] = {{"sim", open_sim}};
#endif
  static const auto policies = policy::all();
  static const auto codecs = code::all();
  static constexpr GroupDeviceKind groups[] = {{"sim", open_sim_group}, {"udp", open_udp_group}};
  static const Platform table{.devices = devices,
                              .policies = policies,
                              .codecs = codecs,
                              .open_dpa = open_emulated_dpa,
                              .group_devices = groups};
  return table;
}

}  // namespace cw::sdk
