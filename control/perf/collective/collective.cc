#include "control/perf/collective/collective.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/json/json.h"
#include "control/perf/collective/operation_memory.h"
#include "control/perf/collective/options.h"
#include "control/perf/collective/over_udp.h"
#include "control/perf/collective/tally.h"
#include "control/perf/fabric/fabric_world.h"
#include "control/perf/shared/exits.h"

namespace cw::perf {
namespace {

using group::FabricWorld;
using group::Operation;
using group::OperationView;
using group::Posting;
using group::Stage;
using group::Step;

/// Above, members share theirs.
constexpr uint64_t own_memory_max = uint64_t{1} << 30;
// Ethernet with preamble and gap, IPv4, UDP, ICRC.
constexpr uint32_t overhead_bytes = 8 + 14 + 4 + 12 + 20 + 8 + 4;
constexpr Duration patience = Duration::from_s(60);

class Measurement {
 public:
  explicit Measurement(const CollectiveOptions& options)
      : options_(options),
        posting_{.operation = options.operation,
                 .element = options.element,
                 .bytes = options.size.count()},
        world_({.seed = options.seed,
                .hosts = options.hosts,
                .rate = options.rate,
                .delay = options.delay,
                .payload_bytes = options.payload_bytes,
                .overhead_bytes = overhead_bytes,
                .bytes_max = options.size.count() *
                             (options.operation == Operation::Broadcast ? 1 : options.hosts),
                .sum_bytes_max = posting_.is_added_up() ? options.size.count() : 0,
                .algorithm = options.algorithm,
                .chains = options.chains,
                .sites = sites_of(options),
                .far_delay = options.far_delay,
                .is_shuffled = options.is_shuffled}),
        is_shared_(OperationMemory::bytes_of(posting_, options.hosts) > own_memory_max),
        memory_(posting_, options.hosts, is_shared_, options.seed) {}

  /// What hindered it; empty: nothing.
  std::string run(const StopFlag& stop) {
    if (!world_.join(patience)) return "the members did not come together: " + obstacle();
    world_.network().set_all_impairments({.loss = options_.loss});
    for (uint16_t site = 0; options_.sites > 1 && site < options_.sites; ++site) {
      world_.network().set_impairment(world_.long_line_from(site), {.loss = options_.far_loss});
    }
    for (uint32_t round = 0; round < options_.rounds && !stop; ++round) {
      if (const std::string why = run_round(); !why.empty()) return why;
    }
    return {};
  }

  Json report() const {
    Json report = report_of(options_, tally_);
    if (options_.sites > 1) {
      report["sites"] = options_.sites;
      report["far_bytes"] = tally_.each_round(far_bytes_);
      report["far_bytes_once"] = far_bytes_once();
    }
    report["placement"] = options_.is_shuffled ? "shuffled" : "in order";
    report["bytes_hops"] = tally_.each_round(bytes_hops_);
    report["ring_bytes_hops"] = ring_bytes_hops();
    report["memory"] = is_shared_ ? "shared by all members" : "of each member";
    return report;
  }

 private:
  std::string obstacle() const {
    for (size_t rank = 0; rank < world_.members(); ++rank) {
      const auto& membership = world_.group(rank).membership();
      if (!membership.obstacle().empty()) return membership.obstacle();
    }
    return "too much is lost";
  }

  std::string run_round() {
    memory_.prepare();
    const Instant begin = world_.now();
    const uint64_t hops = bytes_at_cables(), injected = bytes_injected(), far = bytes_far();
    Step step;
    for (size_t rank = 0; rank < world_.members(); ++rank) {
      const auto posted =
          world_.group(rank).post(memory_.posting_of(static_cast<uint16_t>(rank)), begin);
      if (!posted) return posted.error().why;
      step = *posted;
      world_.touch(rank);
    }
    // Operations end at all members, then it is over: members that are done are asked no more.
    size_t next = 0;
    const bool is_over = world_.run(patience, [&] {
      while (next < world_.members() && is_at_end(next, step)) ++next;
      return next == world_.members();
    });
    if (!is_over) return "an operation did not end within a minute";
    tally_.times_us.push_back((world_.now() - begin).us());
    bytes_hops_ += bytes_at_cables() - hops;
    far_bytes_ += bytes_far() - far;
    tally_.injected_bytes += bytes_injected() - injected;
    return finish(step);
  }

  bool is_at_end(size_t rank, Step step) const {
    const Stage stage = world_.group(rank).stage(step);
    return stage == Stage::Done || stage == Stage::Failed;
  }

  std::string finish(Step step) {
    for (size_t rank = 0; rank < world_.members(); ++rank) {
      const OperationView view = world_.group(rank).view(step);
      if (view.stage != Stage::Done) return "rank " + std::to_string(rank) + ": " + view.failure;
      tally_.fetched_slots += view.fetched;
      if (!world_.run(patience, [&] { return world_.group(rank).try_release(step); })) {
        return "rank " + std::to_string(rank) + " does not get its memory back";
      }
    }
    tally_.bytes_wrong += memory_.wrong();
    return {};
  }

  uint64_t bytes_at_cables() const {
    uint64_t bytes = 0;
    for (uint32_t link = 0; link < world_.network().topology().links().size(); ++link) {
      bytes += world_.network().counters_of(link).bytes;
    }
    return bytes;
  }
  /// Out of all sites.
  uint64_t bytes_far() const {
    uint64_t bytes = 0;
    for (uint16_t site = 0; options_.sites > 1 && site < options_.sites; ++site) {
      bytes += world_.network().counters_of(world_.long_line_from(site)).bytes;
    }
    return bytes;
  }
  uint64_t bytes_injected() const {
    uint64_t bytes = 0;
    for (uint16_t host = 0; host < options_.hosts; ++host) {
      bytes += world_.network().counters_of(world_.network().routes().link_from(host)).bytes;
    }
    return bytes;
  }

  /// Of the slots of a part, with what stands around them.
  double part_bytes() const {
    const group::Slots slots({.part_bytes = options_.size.count(),
                              .payload_bytes = options_.payload_bytes,
                              .sources = options_.hosts});
    return static_cast<double>(slots.part_slots()) * (24 + 32 + overhead_bytes) +
           static_cast<double>(options_.size.count());
  }

  /// Were each part to leave its site once.
  double far_bytes_once() const {
    const bool is_broadcast = options_.operation == Operation::Broadcast;
    return part_bytes() * (is_broadcast ? 1.0 : options_.hosts);
  }

  /// Of the same by a ring in the order of ranks, or a chain, in packets as long as ours.
  double ring_bytes_hops() const {
    double hops = 0;
    const bool is_broadcast = options_.operation == Operation::Broadcast;
    for (uint16_t rank = 0; rank + (is_broadcast ? 1 : 0) < options_.hosts; ++rank) {
      const uint16_t host = world_.host_of(rank);
      const uint16_t next = world_.host_of((rank + 1u) % options_.hosts);
      hops += static_cast<double>(
          world_.network().routes().way(host, next, fabric_flow(host, next, 0)).size());
    }
    if (is_broadcast) return hops * part_bytes();
    const double operations = options_.operation == Operation::Pair ? 2 : 1;
    return hops * part_bytes() * static_cast<double>(options_.hosts - 1) * operations;
  }

  CollectiveOptions options_;
  Posting posting_;
  FabricWorld world_;
  bool is_shared_;
  OperationMemory memory_;
  Tally tally_;
  uint64_t bytes_hops_ = 0, far_bytes_ = 0;
};

/// What there is to tell, and what hindered it; empty: nothing.
struct Ending {
  std::optional<Json> report;
  std::string why;
};

Ending simulate(const CollectiveOptions& options, const StopFlag& stop) {
  Measurement measurement(options);
  std::string why = measurement.run(stop);
  return {measurement.report(), std::move(why)};
}

Ending measure(const CollectiveOptions& options, const StopFlag& stop) {
  if (!options.is_udp) return simulate(options, stop);
  auto report = run_over_udp(options, stop);
  if (!report) return {std::nullopt, report.error().sentence};
  return {std::move(*report), {}};
}

}  // namespace

int run_collective(std::span<char* const> arguments, const StopFlag& stop) {
  const auto options = parse_collective(arguments);
  if (!options) return say(options.error().sentence), exit_refused;
  if (!options->help.empty()) return std::printf("%s", options->help.c_str()), 0;
  const Ending outcome = measure(*options, stop);
  const bool is_told = outcome.report && (!options->is_udp || options->place.rank == 0);
  if (is_told && options->is_json) std::printf("%s\n", outcome.report->dump().c_str());
  if (is_told && !options->is_json) print(*outcome.report);
  if (outcome.report && outcome.report->at("bytes_wrong") != 0) return exit_wrong;
  if (stop) return exit_interrupted;
  if (outcome.why.empty()) return 0;
  say(outcome.why);
  return exit_failed;
}

}  // namespace cw::perf
