#include "control/perf/fabric/fabric_runner.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "dataplane/wire/group/header.h"

namespace cw::group {
namespace {

constexpr uint8_t key[] = "a secret that all members share";

/// Hosts of a site follow each other.
Topology topology_of_sites(const FabricShape& shape, const CableOptions& cable) {
  Topology topology;
  const uint16_t middle = topology.add_switch();
  const CableOptions far{.rate = shape.rate, .delay = shape.far_delay / 2};
  for (uint16_t site = 0; site <= std::ranges::max(shape.sites); ++site) {
    const uint16_t leaf = topology.add_switch();
    topology.join(FabricNode::at_switch(leaf), FabricNode::at_switch(middle), far);
    for (auto count = std::ranges::count(shape.sites, site); count > 0; --count) {
      topology.join(FabricNode::host(topology.add_host()), FabricNode::at_switch(leaf), cable);
    }
  }
  return topology;
}

/// Two levels, as is wished; else sixteen hosts at a leaf or less and half as many spines as
/// leaves: with 188 hosts the twelve and six of the paper's machine. More than 512 are a fat tree
/// of radix 32.
Topology topology_of(const FabricShape& shape) {
  const CableOptions cable{.rate = shape.rate, .delay = shape.delay};
  if (!shape.sites.empty()) return topology_of_sites(shape, cable);
  if (shape.hosts > 512 && shape.spines == 0) {
    return *make_fat_tree({.hosts = shape.hosts, .cable = cable, .each = shape.switches});
  }
  const size_t at_leaf = shape.leaf_hosts == 0 ? 16 : shape.leaf_hosts;
  const size_t leaves = std::max<size_t>((shape.hosts + at_leaf - 1) / at_leaf, 2);
  return *make_leaf_spine(
      {.hosts = shape.hosts,
       .leaves = leaves,
       .spines = shape.spines == 0 ? std::max<size_t>(leaves / 2, 1) : shape.spines,
       .host_cable = cable,
       .spine_cable = cable,
       .leaf = shape.switches,
       .spine = shape.switches});
}

}  // namespace

FabricRunner::FabricRunner(const FabricShape& shape, Prng& prng)
    : shape_(shape), seats_(shape.hosts) {
  FabricOptions fabric;
  fabric.seed = prng.next();
  fabric.payload_max = shape.payload_bytes + static_cast<uint32_t>(header_bytes) + 64;
  fabric.carry_bytes = false;
  fabric.overhead_bytes = shape.overhead_bytes;
  fabric.rx_packets = 4096;
  fabric.frames = size_t{1} << 17;
  fabric.paths = shape.paths;
  network_ = std::make_unique<FabricNetwork>(topology_of(shape), fabric);
  place_ranks(prng);
}

void FabricRunner::place_ranks(Prng& prng) {
  hosts_.resize(shape_.hosts);
  ranks_.resize(shape_.hosts);
  std::vector<uint16_t> order(shape_.hosts);
  std::iota(order.begin(), order.end(), uint16_t{0});
  const auto site_first = [&](uint16_t rank) { return std::pair(shape_.sites[rank], rank); };
  if (!shape_.sites.empty()) std::ranges::sort(order, {}, site_first);
  for (uint16_t host = 0; host < shape_.hosts; ++host) hosts_[order[host]] = host;
  for (uint16_t rank = shape_.hosts; shape_.is_shuffled && rank > 1; --rank) {
    std::swap(hosts_[rank - 1], hosts_[prng.below(rank)]);
  }
  for (uint16_t rank = 0; rank < shape_.hosts; ++rank) ranks_[hosts_[rank]] = rank;
}

MemberOptions FabricRunner::member(uint16_t rank, Prng& prng) const {
  MemberOptions member;
  member.rank = rank;
  member.peers = hosts_;
  member.sites = shape_.sites;
  member.key = key;
  member.random = RandomSource::of(prng);
  member.rate = shape_.rate.scaled(shape_.share);
  member.payload_bytes = shape_.payload_bytes;
  member.rtt = shape_.delay * 8 + Duration::from_us(5);
  member.rtt_far = member.rtt + shape_.far_delay * 2;
  member.reorder = Duration::from_us(20);
  member.horizon = Duration::from_us(1);
  member.lag = {};  // turns come when they are due
  member.overhead_bytes = shape_.overhead_bytes;
  return member;
}

void FabricRunner::set_worker(uint16_t rank, Worker* worker) {
  seats_[rank].worker = worker;
  seats_[rank].is_stopped = false;
  if (worker != nullptr) wake(rank, now());
}

void FabricRunner::wake(uint16_t rank, Instant at) {
  Seat& seat = seats_[rank];
  if (at >= seat.due) return;
  seat.due = at;
  wakes_.push({at, rank});
}

void FabricRunner::turn(uint16_t rank) {
  Seat& seat = seats_[rank];
  seat.due = Instant::never();
  if (seat.is_stopped || seat.worker == nullptr) return;
  seat.worker->sleeps_until(now());
  (void)seat.worker->turn(now());
  const FabricPort& port = network_->port(hosts_[rank]);
  const bool has_more = port.waiting_count() > 0;  // of which it is not told again
  const Instant next =
      has_more ? now() : earliest(seat.worker->next_wakeup(), port.next_due(), Instant::never());
  if (next != Instant::never()) wake(rank, std::max(next, now() + Duration::from_ns(1)));
}

bool FabricRunner::run(Duration limit, const std::function<bool()>& is_over) {
  const Instant end = now() + limit;
  std::array<uint16_t, 256> ready;
  while (!is_over()) {
    if (now() >= end) return false;
    while (!wakes_.empty() && wakes_.top().at > seats_[wakes_.top().rank].due) wakes_.pop();
    const Instant due = wakes_.empty() ? end : std::min(end, wakes_.top().at);
    network_->run_until(std::max(due, now()));
    const size_t count = network_->take_ready(ready);
    for (const uint16_t host : std::span(ready).first(count)) turn(ranks_[host]);
    while (!wakes_.empty() && wakes_.top().at <= now()) {
      const Wake first = wakes_.top();
      wakes_.pop();
      if (first.at == seats_[first.rank].due) turn(first.rank);
    }
  }
  return true;
}

}  // namespace cw::group
