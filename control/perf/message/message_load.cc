#include "control/perf/message/message_load.h"

#include <algorithm>
#include <cstdio>

#include "control/perf/message/loads.h"
#include "control/perf/message/udp/over_udp.h"
#include "control/perf/shared/exits.h"

namespace cw::perf {
namespace {

using group::MessageWorld;
using group::MessageWorldOptions;

constexpr Duration patience = Duration::from_s(60);

MessageWorldOptions world_of(const MessageOptions& options, const Recovery& recovery) {
  MessageWorldOptions world;
  world.shape.seed = options.seed;
  world.shape.hosts = static_cast<uint16_t>(options.hosts);
  world.shape.rate = options.rate;
  world.shape.delay = options.delay;
  world.shape.payload_bytes = options.payload_bytes;
  world.shape.overhead_bytes = group::MemberOptions().overhead_bytes;
  world.shape.paths = static_cast<uint16_t>(options.paths);
  world.shape.leaf_hosts = world.shape.spines = options.hosts > 512 ? 32 : 16;
  world.shape.switches.buffer = options.buffer;
  world.shape.share = 1;
  world.bytes_max = std::max<uint64_t>(options.size.count(), 64 << 10);
  world.sends_max = world.receives_max = options.hosts > 512 ? 1024 : 2048;
  world.policy = recovery.choice;
  world.fallback = recovery.fallback;
  world.reorder = options.reorder;
  return world;
}

LoadCounts counts_of(MessageWorld& world) {
  LoadCounts counts;
  for (size_t rank = 0; rank < world.members(); ++rank) {
    counts.add(world.messages(rank), world.counters(rank), world.drops(rank));
  }
  const FabricCounters fabric = world.network().counters();
  counts.dropped = fabric.dropped;
  counts.lost = fabric.lost;
  counts.no_frame = fabric.no_frame;
  return counts;
}

LoadTally run(MessageWorld& world, const MessageOptions& options, const StopFlag& stop) {
  if (!world.join(patience)) return {.why = "the hosts did not come together"};
  world.network().set_all_impairments({.loss = options.loss});
  if (options.kind == MessageKind::AllReduce) return run_allreduce(world, options, stop);
  return options.load > 0 ? run_by_chance(world, options, stop)
                          : run_in_steps(world, options, stop);
}

}  // namespace

Result<LoadReport> measure_message_load(const MessageOptions& options, const StopFlag& stop) {
  Recovery recovery;
  if (const auto chosen = choose(options, recovery); !chosen) {
    return std::unexpected(chosen.error());
  }
  if (options.is_udp) return run_over_udp(options, recovery, stop);
  auto world = MessageWorld::make(world_of(options, recovery));
  if (!world) return failure("--policy: " + world.error().sentence);
  const LoadTally tally = run(**world, options, stop);
  return report_of(options, recovery.choice.ops->name, counts_of(**world), tally);
}

int run_message_load(std::span<char* const> arguments, const StopFlag& stop) {
  const auto options = parse_message_load(arguments);
  if (!options) return say(options.error().sentence), exit_refused;
  if (!options->help.empty()) return std::printf("%s", options->help.c_str()), 0;
  const auto measured = measure_message_load(*options, stop);
  if (!measured) return say(measured.error().sentence), exit_refused;
  const auto& [figures, why] = *measured;
  const bool is_told = !options->is_udp || options->place.rank == 0;
  if (is_told && options->is_json) std::printf("%s\n", figures.dump().c_str());
  if (is_told && !options->is_json) print_load(figures);
  if (figures.at("bytes_wrong").get<uint64_t>() > 0) return exit_wrong;
  if (stop) return exit_interrupted;
  if (why.empty()) return 0;
  say(why);
  return exit_failed;
}

}  // namespace cw::perf
