#include "control/perf/collective/fabric_world.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace cw::group {
namespace {

constexpr uint16_t group_peer = group_peer_first;

/// Hosts of a site follow each other.
Topology topology_of_sites(const WorldOptions& options, const CableOptions& cable) {
  Topology topology;
  const uint16_t middle = topology.add_switch();
  const CableOptions far{.rate = options.rate, .delay = options.far_delay / 2};
  for (uint16_t site = 0; site <= std::ranges::max(options.sites); ++site) {
    const uint16_t leaf = topology.add_switch();
    topology.join(FabricNode::at_switch(leaf), FabricNode::at_switch(middle), far);
    for (auto count = std::ranges::count(options.sites, site); count > 0; --count) {
      topology.join(FabricNode::host(topology.add_host()), FabricNode::at_switch(leaf), cable);
    }
  }
  return topology;
}

/// Two levels, sixteen hosts at a leaf or less and half as many spines as leaves: with 188 hosts
/// the twelve and six of the paper's machine. More than 512 hosts are a fat tree of radix 32.
Topology topology_of(const WorldOptions& options) {
  const CableOptions cable{.rate = options.rate, .delay = options.delay};
  if (!options.sites.empty()) return topology_of_sites(options, cable);
  if (options.hosts > 512) return *make_fat_tree({.hosts = options.hosts, .cable = cable});
  const size_t leaves = std::max<size_t>((options.hosts + 15) / 16, 2);
  return *make_leaf_spine({.hosts = options.hosts,
                           .leaves = leaves,
                           .spines = std::max<size_t>(leaves / 2, 1),
                           .host_cable = cable,
                           .spine_cable = cable});
}

uint16_t site_peer_of(const WorldOptions& world, uint16_t rank) {
  return world.sites.empty() ? group_peer
                             : static_cast<uint16_t>(group_peer + 1 + world.sites[rank]);
}

constexpr uint8_t key[] = "a secret that all members share";

GroupEndOptions options_of(const WorldOptions& world, uint16_t rank,
                           const std::vector<uint16_t>& hosts, Prng& prng) {
  GroupEndOptions options;
  options.rank = rank;
  options.peers = hosts;
  options.sites = world.sites;
  options.group_peer = group_peer;
  options.site_peer = site_peer_of(world, rank);
  options.key = key;
  options.random = RandomSource::of(prng);
  options.rate = world.rate.scaled(world.share);
  options.payload_bytes = world.payload_bytes;
  options.bytes_max = world.bytes_max;
  options.sum_bytes_max = world.sum_bytes_max;
  options.algorithm = world.algorithm;
  options.chains = world.chains;
  options.deadline = world.deadline;
  options.rtt = world.delay * 8 + Duration::from_us(5);
  options.rtt_far = options.rtt + world.far_delay * 2;
  options.recovery_worst = world.recovery_worst;
  options.reorder = Duration::from_us(20);
  options.horizon = Duration::from_us(1);
  options.lag = {};  // turns come when they are due
  options.overhead_bytes = world.overhead_bytes;
  if (world.alter) world.alter(rank, options);
  return options;
}

}  // namespace

FabricWorld::FabricWorld(const WorldOptions& options) : options_(options), prng_(options.seed) {
  FabricOptions fabric;
  fabric.seed = prng_.next();
  fabric.payload_max = options.payload_bytes + static_cast<uint32_t>(header_bytes) + 64;
  fabric.carry_bytes = false;
  fabric.overhead_bytes = options.overhead_bytes;
  fabric.rx_packets = 4096;
  fabric.frames = size_t{1} << 17;
  network_ = std::make_unique<FabricNetwork>(topology_of(options), fabric);
  place_ranks();
  for (uint16_t rank = 0; rank < options.hosts; ++rank) {
    if (options.deaf != rank) {
      (void)network_->join(hosts_[rank], group_peer);
      (void)network_->join(hosts_[rank], site_peer_of(options, rank));
    }
    members_.push_back(std::make_unique<Member>(network_->port(hosts_[rank]),
                                                options_of(options, rank, hosts_, prng_)));
    wake(rank, now());
  }
}

FabricWorld::~FabricWorld() = default;

uint32_t FabricWorld::long_line_from(uint16_t site) const {
  const auto leaf = FabricNode::at_switch(static_cast<uint16_t>(1 + site));
  return *network_->topology().find_link(leaf, FabricNode::at_switch(0));
}

void FabricWorld::place_ranks() {
  hosts_.resize(options_.hosts);
  ranks_.resize(options_.hosts);
  std::vector<uint16_t> order(options_.hosts);
  std::iota(order.begin(), order.end(), uint16_t{0});
  const auto site_first = [&](uint16_t rank) { return std::pair(options_.sites[rank], rank); };
  if (!options_.sites.empty()) std::ranges::sort(order, {}, site_first);
  for (uint16_t host = 0; host < options_.hosts; ++host) hosts_[order[host]] = host;
  for (uint16_t rank = options_.hosts; options_.is_shuffled && rank > 1; --rank) {
    std::swap(hosts_[rank - 1], hosts_[prng_.below(rank)]);
  }
  for (uint16_t rank = 0; rank < options_.hosts; ++rank) ranks_[hosts_[rank]] = rank;
}

void FabricWorld::restart(uint16_t rank) {
  members_[rank].reset();
  members_[rank] = std::make_unique<Member>(network_->port(hosts_[rank]),
                                            options_of(options_, rank, hosts_, prng_));
  wake(rank, now());
}

void FabricWorld::wake(uint16_t rank, Instant at) {
  Member& member = *members_[rank];
  if (at >= member.due) return;
  member.due = at;
  wakes_.push({at, rank});
}

void FabricWorld::turn(uint16_t rank) {
  Member& member = *members_[rank];
  member.due = Instant::never();
  if (member.is_stopped) return;
  member.end.worker().sleeps_until(now());
  (void)member.end.worker().turn(now());
  const FabricPort& port = network_->port(hosts_[rank]);
  const bool has_more = port.waiting_count() > 0;  // of which it is not told again
  const Instant next =
      has_more ? now()
               : earliest(member.end.worker().next_wakeup(), port.next_due(), Instant::never());
  if (next != Instant::never()) wake(rank, std::max(next, now() + Duration::from_ns(1)));
}

bool FabricWorld::run(Duration limit, const std::function<bool()>& is_over) {
  const Instant end = now() + limit;
  std::array<uint16_t, 256> ready;
  while (!is_over()) {
    if (now() >= end) return false;
    while (!wakes_.empty() && wakes_.top().at > members_[wakes_.top().rank]->due) wakes_.pop();
    const Instant due = wakes_.empty() ? end : std::min(end, wakes_.top().at);
    network_->run_until(std::max(due, now()));
    const size_t count = network_->take_ready(ready);
    for (const uint16_t host : std::span(ready).first(count)) turn(ranks_[host]);
    while (!wakes_.empty() && wakes_.top().at <= now()) {
      const Wake first = wakes_.top();
      wakes_.pop();
      if (first.at == members_[first.rank]->due) turn(first.rank);
    }
  }
  return true;
}

bool FabricWorld::join(Duration limit) {
  return run(limit, [&] {
    return std::ranges::all_of(members_,
                               [](const auto& each) { return each->end.group().is_up(); });
  });
}

}  // namespace cw::group
