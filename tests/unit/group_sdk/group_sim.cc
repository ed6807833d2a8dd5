#include "tests/unit/group_sdk/group_sim.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/library/udp_group.h"
#include "dataplane/port/sim/fabric/network.h"
#include "dataplane/sdr/sdk/platform.h"
#include "policies/policies.h"

namespace cw::sdk {
namespace {
using namespace literals;

constexpr Duration step_min = Duration::from_ns(100);

std::unique_ptr<FabricNetwork> fabric;

class SimMember final : public GroupDevice {
 public:
  SimMember(std::vector<uint16_t> hosts, uint16_t rank) : hosts_(std::move(hosts)), rank_(rank) {
    (void)fabric->join(hosts_[rank], group_peer_first);
  }
  AnyWanPort port() override { return fabric->port(hosts_[rank_]); }
  Rate rate() const override { return 10_Gbps; }
  Instant now() override { return fabric->now(); }
  uint64_t fresh_bits() override { return ++bits_ * 0x9e3779b97f4a7c15; }
  uint16_t peer_of(uint16_t rank) const override { return hosts_[rank]; }
  uint16_t group_peer() const override { return group_peer_first; }

 private:
  std::vector<uint16_t> hosts_;
  uint16_t rank_;
  static inline uint64_t bits_ = 0;
};

Result<std::unique_ptr<GroupDevice>> open_sim(std::string_view, const GroupPlace& place) {
  std::vector<uint16_t> hosts;
  for (const std::string& text : place.members) {
    uint16_t host = UINT16_MAX;
    std::from_chars(text.data(), text.data() + text.size(), host);
    if (fabric == nullptr || host >= fabric->topology().host_count()) {
      return failure("sim: \"" + text + "\" is no host");
    }
    hosts.push_back(host);
  }
  return std::make_unique<SimMember>(std::move(hosts), place.rank);
}

Instant wake_of(int64_t idle_ns, Instant now) {
  return idle_ns == INT64_MAX ? Instant::never() : now + Duration::from_ns(idle_ns);
}

/// `turn` gives one its turn and returns how long it may wait.
template <class Member>
void run(std::span<Member* const> members, Duration time, int64_t (*turn)(Member*)) {
  const Instant end = fabric->now() + time;
  std::array<uint16_t, 64> ready;
  while (true) {
    Instant next = end;
    while (fabric->take_ready(ready) > 0) continue;
    const Instant now = fabric->now();
    for (Member* const member : members) {
      if (member != nullptr) next = std::min(next, wake_of(turn(member), now));
    }
    if (now >= end) return;
    fabric->run_until(std::min(end, std::max(next, now + step_min)));
  }
}

}  // namespace

const Platform& platform() {
  static constexpr GroupDeviceKind groups[] = {{"sim", open_sim}, {"udp", open_udp_group}};
  static const auto policies = policy::all();
  static const Platform table{.devices = {}, .policies = policies, .group_devices = groups};
  return table;
}

}  // namespace cw::sdk

using namespace cw;
using cw::sdk::fabric;

void group_sim_begin(size_t hosts, uint64_t seed) {
  const CableOptions cable{.rate = Rate::from_gbps(10), .delay = Duration::from_us(1)};
  fabric = std::make_unique<FabricNetwork>(
      *make_leaf_spine(
          {.hosts = hosts, .leaves = 2, .spines = 1, .host_cable = cable, .spine_cable = cable}),
      FabricOptions{.seed = seed});
}

void group_sim_end() { fabric.reset(); }

void group_sim_lose(double share) { fabric->set_all_impairments({.loss = share}); }

void group_sim_run(cw_group* const* groups, size_t count, int64_t ns) {
  sdk::run<cw_group>({groups, count}, Duration::from_ns(ns), [](cw_group* group) {
    cw_group_turn(group);
    return cw_group_idle_ns(group);
  });
}

void mesh_sim_run(cw_mesh* const* meshes, size_t count, int64_t ns) {
  sdk::run<cw_mesh>({meshes, count}, Duration::from_ns(ns), [](cw_mesh* mesh) {
    cw_mesh_turn(mesh);
    return cw_mesh_idle_ns(mesh);
  });
}
