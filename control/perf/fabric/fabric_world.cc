#include "control/perf/fabric/fabric_world.h"

#include <algorithm>

namespace cw::group {
namespace {

constexpr uint16_t group_peer = group_peer_first;

FabricShape shape_of(const WorldOptions& world) {
  return {.seed = world.seed,
          .hosts = world.hosts,
          .rate = world.rate,
          .share = world.share,
          .delay = world.delay,
          .payload_bytes = world.payload_bytes,
          .overhead_bytes = world.overhead_bytes,
          .sites = world.sites,
          .far_delay = world.far_delay,
          .is_shuffled = world.is_shuffled};
}

uint16_t site_peer_of(const WorldOptions& world, uint16_t rank) {
  return world.sites.empty() ? group_peer
                             : static_cast<uint16_t>(group_peer + 1 + world.sites[rank]);
}

GroupEndOptions options_of(const WorldOptions& world, const MemberOptions& member) {
  GroupEndOptions options{member};
  options.group_peer = group_peer;
  options.site_peer = site_peer_of(world, member.rank);
  options.bytes_max = world.bytes_max;
  options.sum_bytes_max = world.sum_bytes_max;
  options.algorithm = world.algorithm;
  options.chains = world.chains;
  options.deadline = world.deadline;
  options.recovery_worst = world.recovery_worst;
  if (world.alter) world.alter(member.rank, options);
  return options;
}

}  // namespace

FabricWorld::FabricWorld(const WorldOptions& options)
    : options_(options), prng_(options.seed), runner_(shape_of(options), prng_) {
  for (uint16_t rank = 0; rank < options.hosts; ++rank) {
    if (options.deaf != rank) {
      (void)network().join(host_of(rank), group_peer);
      (void)network().join(host_of(rank), site_peer_of(options, rank));
    }
    members_.emplace_back();
    restart(rank);
  }
}

FabricWorld::~FabricWorld() = default;

uint32_t FabricWorld::long_line_from(uint16_t site) const {
  const auto leaf = FabricNode::at_switch(static_cast<uint16_t>(1 + site));
  return *network().topology().find_link(leaf, FabricNode::at_switch(0));
}

void FabricWorld::restart(uint16_t rank) {
  runner_.set_worker(rank, nullptr);
  members_[rank].reset();
  members_[rank] = std::make_unique<GroupEnd>(runner_.port(rank),
                                              options_of(options_, runner_.member(rank, prng_)));
  runner_.set_worker(rank, &members_[rank]->worker());
}

bool FabricWorld::join(Duration limit) {
  return run(limit, [&] {
    return std::ranges::all_of(members_, [](const auto& each) { return each->group().is_up(); });
  });
}

}  // namespace cw::group
