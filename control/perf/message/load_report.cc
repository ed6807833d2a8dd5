#include "control/perf/message/load_report.h"

#include <cstdio>

#include "control/perf/shared/policies.h"
#include "control/perf/shared/times.h"

namespace cw::perf {
namespace {

Json times_of(const std::vector<double>& unsorted) {
  const SortedTimes times(unsorted);
  return {{"count", times.count()}, {"mean", times.mean()},    {"p50", times.at(0.5)},
          {"p99", times.at(0.99)},  {"p999", times.at(0.999)}, {"max", times.at(1)}};
}

void print_times(const char* what, const Json& times) {
  if (times.at("count").get<uint64_t>() == 0) return;
  std::printf("%-10s %10llu %12.2f %12.2f %12.2f %12.2f %12.2f\n", what,
              static_cast<unsigned long long>(times.at("count").get<uint64_t>()),
              times.at("mean").get<double>(), times.at("p50").get<double>(),
              times.at("p99").get<double>(), times.at("p999").get<double>(),
              times.at("max").get<double>());
}

}  // namespace

void LoadCounts::add(const group::Messages& messages, const Counters& counters,
                     const Drops& drops) {
  sent += counters.read_any_thread(Counter::data_sent);
  again += counters.read_any_thread(Counter::resends_sent);
  doubled += drops.read_any_thread(DropReason::packet_duplicate);
  closed += drops.read_any_thread(DropReason::group_closed);
  asked += messages.asked_slots();
  quarantined += messages.policy().is_quarantined() ? 1 : 0;
}

void LoadCounts::add(const LoadCounts& other) {
  sent += other.sent, again += other.again, asked += other.asked;
  doubled += other.doubled, closed += other.closed;
  dropped += other.dropped, lost += other.lost, no_frame += other.no_frame;
  quarantined += other.quarantined;
}

LoadReport report_of(const MessageOptions& options, const char* policy, const LoadCounts& counts,
                     const LoadTally& tally) {
  return {{{"operation", name_of(options.kind)},
           {"policy", policy},
           {"port", options.is_udp ? "udp" : "sim"},
           {"hosts", options.hosts},
           {"bytes", options.size.count()},
           {"load", options.load},
           {"background", options.background},
           {"paths", options.paths},
           {"loss", options.loss},
           {"seed", options.seed},
           {"fct_us", times_of(tally.message_us)},
           {"step_us", times_of(tally.step_us)},
           {"slots_sent", counts.sent},
           {"slots_sent_again", counts.again},
           {"slots_asked", counts.asked},
           {"slots_doubled", counts.doubled},
           {"slots_closed", counts.closed},
           {"packets_dropped", counts.dropped},
           {"packets_lost", counts.lost},
           {"frames_missing", counts.no_frame},
           {"quarantined", counts.quarantined > 0},
           {"bytes_wrong", tally.bytes_wrong}},
          tally.why};
}

void print_load(const Json& figures) {
  std::printf("# Causeway %s, %s, %u hosts, %s\n",
              figures.at("operation").get<std::string>().c_str(),
              figures.at("policy").get<std::string>().c_str(), figures.at("hosts").get<unsigned>(),
              figures.at("port") == "udp" ? "over sockets" : "simulated");
  std::printf("# %-8s %10s %12s %12s %12s %12s %12s\n", "us", "count", "mean", "p50", "p99",
              "p99.9", "max");
  print_times("messages", figures.at("fct_us"));
  print_times("steps", figures.at("step_us"));
  const auto count = [&](const char* key) {
    return static_cast<unsigned long long>(figures.at(key).get<uint64_t>());
  };
  std::printf(
      "slots sent: %llu, again: %llu, come twice: %llu, to what was over: %llu; packets dropped: "
      "%llu, lost: %llu; bytes wrong: %llu\n",
      count("slots_sent"), count("slots_sent_again"), count("slots_doubled"), count("slots_closed"),
      count("packets_dropped"), count("packets_lost"), count("bytes_wrong"));
}

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

}  // namespace cw::perf
