#include "control/perf/message/message_load.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "control/json/json.h"
#include "control/perf/message/loads.h"
#include "control/perf/message/options.h"
#include "control/perf/shared/exits.h"
#include "control/perf/shared/policies.h"
#include "control/perf/shared/times.h"

namespace cw::perf {
namespace {

using group::MessageWorld;
using group::MessageWorldOptions;

constexpr Duration patience = Duration::from_s(60);

/// The policies, and the parameters of the one that is used.
struct Recovery {
  plugins::Registry registry;
  std::vector<double> params;
  sdr::PolicyChoice choice, fallback;
};

Result<void> choose(const MessageOptions& options, Recovery& recovery) {
  const auto own = gather(recovery.registry, options.plugin, "csa_ud");
  if (!own) return std::unexpected(own.error());
  const auto found = recovery.registry.find(options.policy.empty() ? *own : options.policy);
  if (!found) return failure("--policy: " + found.error().sentence);
  auto params = plugins::parse_params(found->table(), options.settings);
  if (!params) return failure("--policy-param: " + params.error().sentence);
  recovery.params = std::move(*params);
  recovery.choice = {&found->table(), recovery.params};
  recovery.fallback = {&recovery.registry.find("passthrough")->table(), {}};
  return {};
}

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

Json times_of(const std::vector<double>& unsorted) {
  const SortedTimes times(unsorted);
  return {{"count", times.count()}, {"mean", times.mean()},    {"p50", times.at(0.5)},
          {"p99", times.at(0.99)},  {"p999", times.at(0.999)}, {"max", times.at(1)}};
}

Json report_of(const MessageOptions& options, const Recovery& recovery, MessageWorld& world,
               const LoadTally& tally) {
  uint64_t sent = 0, again = 0, asked = 0, doubled = 0, late = 0;
  bool is_quarantined = false;
  for (size_t rank = 0; rank < world.members(); ++rank) {
    sent += world.counters(rank).read_any_thread(Counter::data_sent);
    again += world.counters(rank).read_any_thread(Counter::resends_sent);
    doubled += world.drops(rank).read_any_thread(DropReason::packet_duplicate);
    late += world.drops(rank).read_any_thread(DropReason::group_closed);
    asked += world.messages(rank).asked_slots();
    is_quarantined |= world.messages(rank).policy().is_quarantined();
  }
  const FabricCounters fabric = world.network().counters();
  return {{"operation", name_of(options.kind)},
          {"policy", recovery.choice.ops->name},
          {"port", "sim"},
          {"hosts", options.hosts},
          {"bytes", options.size.count()},
          {"load", options.load},
          {"background", options.background},
          {"paths", options.paths},
          {"loss", options.loss},
          {"seed", options.seed},
          {"fct_us", times_of(tally.message_us)},
          {"step_us", times_of(tally.step_us)},
          {"slots_sent", sent},
          {"slots_sent_again", again},
          {"slots_asked", asked},
          {"slots_doubled", doubled},
          {"slots_closed", late},
          {"packets_dropped", fabric.dropped},
          {"packets_lost", fabric.lost},
          {"frames_missing", fabric.no_frame},
          {"quarantined", is_quarantined},
          {"bytes_wrong", tally.bytes_wrong}};
}

void print_times(const char* what, const Json& times) {
  if (times.at("count").get<uint64_t>() == 0) return;
  std::printf("%-10s %10llu %12.2f %12.2f %12.2f %12.2f %12.2f\n", what,
              static_cast<unsigned long long>(times.at("count").get<uint64_t>()),
              times.at("mean").get<double>(), times.at("p50").get<double>(),
              times.at("p99").get<double>(), times.at("p999").get<double>(),
              times.at("max").get<double>());
}

void print(const Json& report) {
  std::printf("# Causeway %s, %s, %u hosts, simulated\n",
              report.at("operation").get<std::string>().c_str(),
              report.at("policy").get<std::string>().c_str(), report.at("hosts").get<unsigned>());
  std::printf("# %-8s %10s %12s %12s %12s %12s %12s\n", "us", "count", "mean", "p50", "p99",
              "p99.9", "max");
  print_times("messages", report.at("fct_us"));
  print_times("steps", report.at("step_us"));
  const auto count = [&](const char* key) {
    return static_cast<unsigned long long>(report.at(key).get<uint64_t>());
  };
  std::printf(
      "slots sent: %llu, again: %llu, come twice: %llu, to what was over: %llu; packets dropped: "
      "%llu, lost: %llu; bytes wrong: %llu\n",
      count("slots_sent"), count("slots_sent_again"), count("slots_doubled"), count("slots_closed"),
      count("packets_dropped"), count("packets_lost"), count("bytes_wrong"));
}

LoadTally run(MessageWorld& world, const MessageOptions& options, const StopFlag& stop) {
  if (!world.join(patience)) return {.why = "the hosts did not come together"};
  world.network().set_all_impairments({.loss = options.loss});
  if (options.kind == MessageKind::AllReduce) return run_allreduce(world, options, stop);
  return options.load > 0 ? run_by_chance(world, options, stop)
                          : run_in_steps(world, options, stop);
}

}  // namespace

int run_message_load(std::span<char* const> arguments, const StopFlag& stop) {
  const auto options = parse_message_load(arguments);
  if (!options) return say(options.error().sentence), exit_refused;
  if (!options->help.empty()) return std::printf("%s", options->help.c_str()), 0;
  Recovery recovery;
  if (const auto chosen = choose(*options, recovery); !chosen) {
    return say(chosen.error().sentence), exit_refused;
  }
  auto world = MessageWorld::make(world_of(*options, recovery));
  if (!world) return say("--policy: " + world.error().sentence), exit_refused;
  const LoadTally tally = run(**world, *options, stop);
  const Json report = report_of(*options, recovery, **world, tally);
  if (options->is_json) {
    std::printf("%s\n", report.dump().c_str());
  } else {
    print(report);
  }
  if (tally.bytes_wrong > 0) return exit_wrong;
  if (stop) return exit_interrupted;
  if (tally.why.empty()) return 0;
  say(tally.why);
  return exit_failed;
}

}  // namespace cw::perf
