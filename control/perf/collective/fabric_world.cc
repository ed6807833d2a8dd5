#include "control/perf/collective/fabric_world.h"

#include <algorithm>
#include <array>

namespace cw::group {
namespace {

constexpr uint16_t group_peer = fabric_group_first;

/// Two levels, sixteen hosts at a leaf or less and half as many spines as leaves: with 188 hosts
/// the twelve and six of the paper's machine. More than 512 hosts are a fat tree of radix 32.
Topology topology_of(const WorldOptions& options) {
  const CableOptions cable{.rate = options.rate, .delay = options.delay};
  if (options.hosts > 512) return *make_fat_tree({.hosts = options.hosts, .cable = cable});
  const size_t leaves = std::max<size_t>((options.hosts + 15) / 16, 2);
  return *make_leaf_spine({.hosts = options.hosts,
                           .leaves = leaves,
                           .spines = std::max<size_t>(leaves / 2, 1),
                           .host_cable = cable,
                           .spine_cable = cable});
}

GroupOptions options_of(const WorldOptions& world, uint16_t rank, const cw_mac& secret,
                        Prng& prng) {
  GroupOptions options;
  MembershipOptions& member = options.datagrams.membership;
  member.rank = rank;
  for (uint16_t each = 0; each < world.hosts; ++each) member.peers.push_back(each);
  member.sites = world.sites;
  member.secret = {.state = &secret, .compute = cw_mac_compute, .number = 0};
  member.mac.prepare = [](MacMaker::State& state, const void* key, size_t bytes) {
    static_assert(sizeof(state) == sizeof(cw_mac));
    cw_mac_init(reinterpret_cast<cw_mac*>(&state), key, bytes);
  };
  member.random = RandomSource::of(prng);
  member.rate = world.rate.scaled(world.share);
  member.payload_bytes = world.payload_bytes;
  member.digest = 7;
  options.datagrams.group_peer = group_peer;
  options.datagrams.rtt = world.delay * 8 + Duration::from_us(5);
  options.datagrams.horizon = Duration::from_us(1);
  options.datagrams.overhead_bytes = world.overhead_bytes;
  options.bytes_max = world.bytes_max;
  options.chains = world.chains;
  options.reorder = Duration::from_us(20);
  options.deadline = world.deadline;
  return options;
}

}  // namespace

FabricWorld::FabricWorld(const WorldOptions& options) : options_(options), prng_(options.seed) {
  static constexpr char key[] = "a secret that all members share";
  cw_mac_init(&secret_, key, sizeof(key));
  FabricOptions fabric;
  fabric.seed = prng_.next();
  fabric.payload_max = options.payload_bytes + static_cast<uint32_t>(header_bytes) + 64;
  fabric.carry_bytes = false;
  fabric.overhead_bytes = options.overhead_bytes;
  fabric.rx_packets = 4096;
  fabric.frames = size_t{1} << 17;
  network_ = std::make_unique<FabricNetwork>(topology_of(options), fabric);
  for (uint16_t rank = 0; rank < options.hosts; ++rank) {
    (void)network_->join(rank, group_peer);
    members_.push_back(
        std::make_unique<Member>(network_->port(rank), options_of(options, rank, secret_, prng_)));
    wake(rank, now());
  }
}

FabricWorld::~FabricWorld() = default;

void FabricWorld::restart(uint16_t rank) {
  members_[rank].reset();
  members_[rank] =
      std::make_unique<Member>(network_->port(rank), options_of(options_, rank, secret_, prng_));
  wake(rank, now());
}

void FabricWorld::wake(uint16_t host, Instant at) {
  Member& member = *members_[host];
  if (at >= member.due) return;
  member.due = at;
  wakes_.push({at, host});
}

void FabricWorld::turn(uint16_t host) {
  Member& member = *members_[host];
  member.due = Instant::never();
  if (member.is_stopped) return;
  member.worker.sleeps_until(now());
  (void)member.worker.turn(now());
  const FabricPort& port = network_->port(host);
  const bool has_more = port.waiting_count() > 0;  // of which it is not told again
  const Instant next =
      has_more ? now() : earliest(member.worker.next_wakeup(), port.next_due(), Instant::never());
  if (next != Instant::never()) wake(host, std::max(next, now() + Duration::from_ns(1)));
}

bool FabricWorld::run(Duration limit, const std::function<bool()>& is_over) {
  const Instant end = now() + limit;
  std::array<uint16_t, 256> ready;
  while (!is_over()) {
    if (now() >= end) return false;
    while (!wakes_.empty() && wakes_.top().at > members_[wakes_.top().host]->due) wakes_.pop();
    const Instant due = wakes_.empty() ? end : std::min(end, wakes_.top().at);
    network_->run_until(std::max(due, now()));
    const size_t count = network_->take_ready(ready);
    for (const uint16_t host : std::span(ready).first(count)) turn(host);
    while (!wakes_.empty() && wakes_.top().at <= now()) {
      const Wake first = wakes_.top();
      wakes_.pop();
      if (first.at == members_[first.host]->due) turn(first.host);
    }
  }
  return true;
}

bool FabricWorld::join(Duration limit) {
  return run(limit, [&] {
    return std::ranges::all_of(members_, [](const auto& each) { return each->group.is_up(); });
  });
}

}  // namespace cw::group
