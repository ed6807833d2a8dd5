#include <algorithm>
#include <cmath>

#include "control/config/quantity.h"
#include "control/json/json.h"
#include "control/units/text.h"
#include "tests/demo/wander/wander.h"

namespace cw::demo {
namespace {

// Fewer tell nothing of one in a thousand.
constexpr uint64_t enough_for_p999 = 1000;
// By how much a percentile may exceed the smallest and still count as near it.
constexpr double nearness = 1.1;

std::string ms_text(double ms) { return std::isfinite(ms) ? text_of("%.1f", ms) : "never"; }

std::string time_text(double ms) { return ms_text(ms) + (std::isfinite(ms) ? " ms" : ""); }

/// Null: never.
Json ms_json(double ms) { return std::isfinite(ms) ? Json(ms) : Json(); }

Json stretch_json(const Stretch& it) {
  const TransferTimes& times = it.times;
  Json json = {{"transfers", times.sent()},
               {"whole", times.whole()},
               {"p50_ms", ms_json(times.quantile_ms(0.5))},
               {"p99_ms", ms_json(times.quantile_ms(0.99))}};
  if (times.sent() >= enough_for_p999) json["p999_ms"] = ms_json(times.quantile_ms(0.999));
  json["worst_ms"] = ms_json(times.quantile_ms(1));
  json["host_bytes"] = it.carried.host_bytes;
  json["wan_bytes"] = it.carried.wan_bytes;
  json["wan_per_host_byte"] = it.wan_per_host_byte();
  json["resends"] = it.carried.resends;
  json["repairs"] = it.carried.repairs;
  return json;
}

Json phase_json(const PhaseResult& it) {
  Json json = {{"phase", it.phase.name},
               {"rtt_ms", it.phase.rtt.ms()},
               {"loss", it.phase.loss},
               {"burst", it.phase.burst}};
  json.update(stretch_json(it.rest));
  json["settling"] = stretch_json(it.settling);
  return json;
}

Json run_json(const PolicyRun& run) {
  Json json = {{"policy", run.policy}, {"phases", Json::array()}, {"decisions", Json::array()}};
  for (const PhaseResult& each : run.phases) json["phases"].push_back(phase_json(each));
  for (const Decision& each : run.decisions) {
    json["decisions"].push_back({{"second", each.second}, {"what", each.what}});
  }
  json["given_up"] = run.counts.given_up;
  json["drops"] = run.counts.drops;
  json["lost_at_sockets"] = run.lost_at_sockets;
  json["lost_at_interfaces"] = run.lost_at_interfaces;
  json["datagrams_wrong"] = run.datagrams_wrong;
  json["void"] = run.is_void;
  json["void_because"] = run.void_because;
  return json;
}

std::string row_text(const char* phase, const std::string& policy, const PhaseResult& it) {
  const TransferTimes &rest = it.rest.times, &settling = it.settling.times;
  const auto at = [](const TransferTimes& times, double share) {
    return ms_text(times.quantile_ms(share));
  };
  const bool is_enough = rest.sent() >= enough_for_p999;
  return text_of("  %-7s %-16s %6llu %5llu %7s %7s %7s %7s %6.2f %7llu %7s %7s\n", phase,
                 policy.c_str(), static_cast<unsigned long long>(rest.sent()),
                 static_cast<unsigned long long>(rest.sent() - rest.whole()), at(rest, 0.5).c_str(),
                 at(rest, 0.99).c_str(), is_enough ? at(rest, 0.999).c_str() : "-",
                 at(rest, 1).c_str(), it.rest.wan_per_host_byte(),
                 static_cast<unsigned long long>(settling.sent() - settling.whole()),
                 at(settling, 0.99).c_str(), at(settling, 1).c_str());
}

const char* phase_at(const WanderReport& report, const PolicyRun& run, double second) {
  const auto index = static_cast<size_t>(std::max(second, 0.0) / report.options.seconds);
  return run.phases[std::min(index, run.phases.size() - 1)].phase.name;
}

std::string decisions_text(const WanderReport& report, const PolicyRun& run) {
  std::string text = "\n  What " + run.policy + " decided at site A:";
  if (run.decisions.empty()) return text + " nothing\n";
  text += "\n";
  for (const Decision& each : run.decisions) {
    text += text_of("  %6.1f s, %-7s ", each.second, phase_at(report, run, each.second)) +
            each.what + "\n";
  }
  return text;
}

std::string trouble_text(const PolicyRun& run) {
  std::string text;
  if (run.lost_at_sockets + run.lost_at_interfaces > 0) {
    text +=
        text_of("  %s: kernels of this machine lost %llu packets at sockets, %llu at interfaces\n",
                run.policy.c_str(), static_cast<unsigned long long>(run.lost_at_sockets),
                static_cast<unsigned long long>(run.lost_at_interfaces));
  }
  if (run.is_void) text += "  VOID: " + run.policy + ": " + run.void_because + "\n";
  return text;
}

double p99_of(const PolicyRun& run, size_t phase) {
  return run.phases[phase].rest.times.quantile_ms(0.99);
}

const PolicyRun& best_in(const WanderReport& report, size_t phase) {
  return *std::ranges::min_element(report.runs, {},
                                   [phase](const PolicyRun& run) { return p99_of(run, phase); });
}

double wan_per_host_byte(const PolicyRun& run) {
  Stretch all;
  for (const PhaseResult& each : run.phases) {
    for (const Stretch* it : {&each.settling, &each.rest}) {
      all.carried.host_bytes += it->carried.host_bytes;
      all.carried.wan_bytes += it->carried.wan_bytes;
    }
  }
  return all.wan_per_host_byte();
}

void add(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

}  // namespace

std::vector<std::string> verdict_of(const WanderReport& report) {
  std::string best, near, far, bytes;
  const PolicyRun& asked =
      *std::ranges::find(report.runs, report.options.policy, &PolicyRun::policy);
  for (size_t i = 0; i < asked.phases.size(); ++i) {
    const std::string phase = asked.phases[i].phase.name;
    const PolicyRun& winner = best_in(report, i);
    add(best, phase + " " + winner.policy + " (" + time_text(p99_of(winner, i)) + ")");
    const double p99 = p99_of(asked, i);
    const bool is_near = std::isfinite(p99) && p99 <= p99_of(winner, i) * nearness;
    add(is_near ? near : far, phase);
  }
  for (const PolicyRun& each : report.runs) {
    add(bytes, each.policy + text_of(" %.2f", wan_per_host_byte(each)));
  }
  return {"Smallest p99: " + best + ".",
          asked.policy + " is within a tenth of it in " + (near.empty() ? "no phase" : near) +
              (far.empty() ? "" : ", not in " + far) + ".",
          "Bytes on the line for each byte of the hosts: " + bytes + "."};
}

std::string to_json(const WanderReport& report) {
  const Options& options = report.options;
  Json json;
  json["rate_mbps"] = static_cast<double>(options.rate.bps()) * 1e-6;
  json["mtu"] = options.mtu;
  json["seed"] = options.seed;
  json["wan"] = name_of(options.wan);
  json["lan"] = name_of(options.lan);
  json["seconds_per_phase"] = options.seconds;
  json["transfer_bytes"] = Transfers::bytes;
  json["runs"] = Json::array();
  for (const PolicyRun& each : report.runs) json["runs"].push_back(run_json(each));
  json["datagrams_wrong"] = report.datagrams_wrong();
  json["verdict"] = verdict_of(report);
  json["seconds"] = report.seconds;
  return json.dump();
}

std::string to_table(const WanderReport& report) {
  const Options& options = report.options;
  std::string text =
      "\nA line of " +
      config::quantity_text(config::Quantity::Rate, static_cast<double>(options.rate.bps())) +
      text_of(" that changes every %u s while host A sends 64 KiB again and again:\n",
              options.seconds);
  const std::vector<PhaseResult>& phases = report.runs.front().phases;
  for (const PhaseResult& each : phases) {
    text += text_of("  %-7s ", each.phase.name) + sentence_of(each.phase) + "\n";
  }
  text += text_of("\n  %-24s %6s %5s %7s %7s %7s %7s %6s %7s %7s %7s\n", "", "sent", "lost", "p50",
                  "p99", "p99.9", "worst", "bytes", "1 lost", "1 p99", "1 worst");
  for (size_t i = 0; i < phases.size(); ++i) {
    for (const PolicyRun& run : report.runs) {
      const bool is_first = &run == &report.runs.front();
      text += row_text(is_first ? phases[i].phase.name : "", run.policy, run.phases[i]);
    }
  }
  text +=
      "\n  times in ms; lost: not whole; bytes: on the line, both ways, for each byte that hosts "
      "sent;\n"
      "  behind 1: transfers of a phase's first second, which are in no other column\n";
  for (const PolicyRun& run : report.runs) {
    if (run.policy == adaptive_policy) text += decisions_text(report, run);
  }
  for (const PolicyRun& run : report.runs) text += trouble_text(run);
  text += "\n";
  for (const std::string& each : verdict_of(report)) text += each + "\n";
  const uint64_t wrong = report.datagrams_wrong();
  text += (wrong == 0 ? "Every datagram that arrived was right"
                      : std::to_string(wrong) + " DATAGRAMS WERE WRONG") +
          text_of(", %.0f s in all\n", report.seconds);
  return text;
}

}  // namespace cw::demo
