#include "control/perf/collective/collective.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "control/json/json.h"
#include "control/perf/collective/fabric_world.h"
#include "control/perf/collective/operation_memory.h"
#include "control/perf/collective/options.h"

namespace cw::perf {
namespace {

using group::FabricWorld;
using group::Operation;
using group::OperationView;
using group::Posting;
using group::Stage;
using group::Step;

constexpr int exit_wrong = 1, exit_refused = 2, exit_failed = 3, exit_interrupted = 130;
/// Above, members share theirs.
constexpr uint64_t own_memory_max = uint64_t{1} << 30;
// Ethernet with preamble and gap, IPv4, UDP, ICRC.
constexpr uint32_t overhead_bytes = 8 + 14 + 4 + 12 + 20 + 8 + 4;
constexpr Duration patience = Duration::from_s(60);

void say(const std::string& sentence) {
  std::fprintf(stderr, "causeway-perf: %s\n", sentence.c_str());
}

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::Broadcast:
      return "broadcast";
    case Operation::Allgather:
      return "allgather";
    case Operation::ReduceScatter:
      return "reduce-scatter";
    default:
      return "fsdp";
  }
}

const char* name_of(group::Algorithm algorithm) {
  switch (algorithm) {
    case group::Algorithm::Multicast:
      return "multicast";
    case group::Algorithm::Unicast:
      return "unicast";
    case group::Algorithm::Ring:
      return "ring";
    default:
      return "tree";
  }
}

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
                .is_shuffled = options.is_shuffled}),
        is_shared_(OperationMemory::bytes_of(posting_, options.hosts) > own_memory_max),
        memory_(posting_, options.hosts, is_shared_, options.seed) {}

  /// What hindered it; empty: nothing.
  std::string run(const StopFlag& stop) {
    if (!world_.join(patience)) return "the members did not come together: " + obstacle();
    world_.network().set_all_impairments({.loss = options_.loss});
    for (uint32_t round = 0; round < options_.rounds && !stop; ++round) {
      if (const std::string why = run_round(); !why.empty()) return why;
    }
    return {};
  }

  Json report() const {
    std::vector<double> sorted = times_us_;
    std::ranges::sort(sorted);
    const auto at = [&](double share) {
      return sorted.empty()
                 ? 0.0
                 : sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
    };
    const auto rounds = static_cast<double>(std::max<size_t>(sorted.size(), 1));
    double sum = 0;
    for (const double each : sorted) sum += each;
    const auto each_round = [rounds](uint64_t count) {
      return static_cast<double>(count) / rounds;
    };
    return {{"operation", name_of(options_.operation)},
            {"algorithm", name_of(options_.algorithm)},
            {"hosts", options_.hosts},
            {"bytes", options_.size.count()},
            {"rounds", sorted.size()},
            {"placement", options_.is_shuffled ? "shuffled" : "in order"},
            {"loss", options_.loss},
            {"completion_us",
             {{"mean", sum / rounds}, {"p50", at(0.5)}, {"p99", at(0.99)}, {"max", at(1)}}},
            {"injected_bytes", each_round(injected_bytes_)},
            {"fetched_slots", each_round(fetched_)},
            {"bytes_hops", each_round(bytes_hops_)},
            {"ring_bytes_hops", ring_bytes_hops()},
            {"bytes_wrong", wrong_},
            {"memory", is_shared_ ? "shared by all members" : "of each member"}};
  }
  uint64_t wrong() const { return wrong_; }

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
    const uint64_t hops = bytes_at_cables(), injected = bytes_injected();
    Step step;
    for (uint16_t rank = 0; rank < world_.members(); ++rank) {
      const auto posted = world_.group(rank).post(memory_.posting_of(rank), begin);
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
    times_us_.push_back((world_.now() - begin).us());
    bytes_hops_ += bytes_at_cables() - hops;
    injected_bytes_ += bytes_injected() - injected;
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
      fetched_ += view.fetched;
      if (!world_.run(patience, [&] { return world_.group(rank).try_release(step); })) {
        return "rank " + std::to_string(rank) + " does not get its memory back";
      }
    }
    wrong_ += memory_.wrong();
    return {};
  }

  uint64_t bytes_at_cables() const {
    uint64_t bytes = 0;
    for (uint32_t link = 0; link < world_.network().topology().links().size(); ++link) {
      bytes += world_.network().counters_of(link).bytes;
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

  /// Of the same by a ring in the order of ranks, or a chain, in packets as long as ours.
  double ring_bytes_hops() const {
    const group::Slots slots({.part_bytes = options_.size.count(),
                              .payload_bytes = options_.payload_bytes,
                              .sources = options_.hosts});
    const double part = static_cast<double>(slots.part_slots()) * (24 + 32 + overhead_bytes) +
                        static_cast<double>(options_.size.count());
    double hops = 0;
    const bool is_broadcast = options_.operation == Operation::Broadcast;
    for (uint16_t rank = 0; rank + (is_broadcast ? 1 : 0) < options_.hosts; ++rank) {
      const uint16_t host = world_.host_of(rank);
      const uint16_t next = world_.host_of((rank + 1u) % options_.hosts);
      hops += static_cast<double>(
          world_.network().routes().way(host, next, fabric_flow(host, next, 0)).size());
    }
    if (is_broadcast) return hops * part;
    const double operations = options_.operation == Operation::Pair ? 2 : 1;
    return hops * part * static_cast<double>(options_.hosts - 1) * operations;
  }

  CollectiveOptions options_;
  Posting posting_;
  FabricWorld world_;
  bool is_shared_;
  OperationMemory memory_;
  std::vector<double> times_us_;
  uint64_t injected_bytes_ = 0, bytes_hops_ = 0, fetched_ = 0, wrong_ = 0;
};

void print(const Json& report) {
  const Json& time = report.at("completion_us");
  std::printf(
      "# Causeway %s, %s, %u hosts, simulated\n", report.at("operation").get<std::string>().c_str(),
      report.at("algorithm").get<std::string>().c_str(), report.at("hosts").get<unsigned>());
  std::printf("# %-12s %14s %14s %14s %10s %14s %14s\n", "Size", "Avg Latency(us)", "Min..p50(us)",
              "Max Latency(us)", "Iterations", "injected", "fetched slots");
  std::printf("%-14llu %14.2f %14.2f %14.2f %10llu %14.0f %14.1f\n",
              static_cast<unsigned long long>(report.at("bytes").get<uint64_t>()),
              time.at("mean").get<double>(), time.at("p50").get<double>(),
              time.at("max").get<double>(),
              static_cast<unsigned long long>(report.at("rounds").get<uint64_t>()),
              report.at("injected_bytes").get<double>(), report.at("fetched_slots").get<double>());
  const double hops = report.at("bytes_hops").get<double>();
  std::printf(
      "bytes x hops: %.4g, of a ring %.4g (computed): %.3f times fewer; bytes wrong: %llu\n", hops,
      report.at("ring_bytes_hops").get<double>(),
      hops > 0 ? report.at("ring_bytes_hops").get<double>() / hops : 0,
      static_cast<unsigned long long>(report.at("bytes_wrong").get<uint64_t>()));
}

}  // namespace

int run_collective(std::span<char* const> arguments, const StopFlag& stop) {
  const auto options = parse_collective(arguments);
  if (!options) return say(options.error().sentence), exit_refused;
  if (!options->help.empty()) return std::printf("%s", options->help.c_str()), 0;
  Measurement measurement(*options);
  const std::string why = measurement.run(stop);
  const Json report = measurement.report();
  if (options->is_json) {
    std::printf("%s\n", report.dump().c_str());
  } else {
    print(report);
  }
  if (measurement.wrong() > 0) return exit_wrong;
  if (stop) return exit_interrupted;
  if (why.empty()) return 0;
  say(why);
  return exit_failed;
}

}  // namespace cw::perf
