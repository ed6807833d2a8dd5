#include "control/sim/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "control/json/json.h"

namespace cw {
namespace {

/// The smallest value that at least the share `q` of them does not exceed.
double quantile_ms(const std::vector<Duration>& sorted, double q) {
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1].ms();
}

// As text: 64 bits do not fit the numbers of every JSON reader.
std::string hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

CompletionTimes CompletionTimes::of(std::vector<Duration> times) {
  if (times.empty()) return {};
  std::ranges::sort(times);
  const double sum =
      std::accumulate(times.begin(), times.end(), 0.0,
                      [](double so_far, Duration time) { return so_far + time.ms(); });
  const auto count = static_cast<double>(times.size());
  const double mean = sum / count;
  const double squares = std::accumulate(
      times.begin(), times.end(), 0.0,
      [mean](double so_far, Duration time) { return so_far + std::pow(time.ms() - mean, 2); });
  // How many messages are slower than the true quantile is binomial, nearly normal.
  const double spread = 1.96 * std::sqrt(0.999 * 0.001 / count);
  return {.mean = mean,
          .p50 = quantile_ms(times, 0.5),
          .p99 = quantile_ms(times, 0.99),
          .p999 = quantile_ms(times, 0.999),
          .mean_error = std::sqrt(squares / std::max(1.0, count - 1) / count),
          .p999_low = quantile_ms(times, 0.999 - spread),
          .p999_high = quantile_ms(times, std::min(1.0, 0.999 + spread))};
}

std::string to_json(const Report& report) {
  Json json;
  json["policy"] = report.policy;
  json["seed"] = report.seed;
  json["messages"] = report.messages;
  json["completed"] = report.completed;
  json["completion_ms"] = {{"mean", report.completion.mean},
                           {"p50", report.completion.p50},
                           {"p99", report.completion.p99},
                           {"p999", report.completion.p999}};
  json["goodput_gbps"] = report.goodput_gbps;
  json["packets"] = report.packets;
  json["resent_packets"] = report.resent_packets;
  json["repair_packets"] = report.repair_packets;
  json["lost_packets"] = report.lost_packets;
  json["quarantined"] = report.quarantined;
  json["bytes_wrong"] = report.bytes_wrong;
  json["trace_hash"] = hexadecimal(report.trace_hash);
  json["virtual_seconds"] = report.virtual_seconds;
  json["wall_seconds"] = report.wall_seconds;
  return json.dump();
}

std::string to_table(const Report& report) {
  const auto count = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  char text[1024];
  std::snprintf(
      text, sizeof(text),
      "policy       %s, seed %llu\n"
      "messages     %llu of %llu completed\n"
      "completion   mean %.3f ms, p50 %.3f, p99 %.3f, p99.9 %.3f\n"
      "goodput      %.3f Gbit/s\n"
      "packets      %llu sent, %llu lost, %llu resent, %llu repair\n"
      "wrong bytes  %llu\n"
      "trace        %s\n"
      "time         %.3f s virtual, %.3f s of the clock\n",
      report.policy.c_str(), count(report.seed), count(report.completed), count(report.messages),
      report.completion.mean, report.completion.p50, report.completion.p99, report.completion.p999,
      report.goodput_gbps, count(report.packets), count(report.lost_packets),
      count(report.resent_packets), count(report.repair_packets), count(report.bytes_wrong),
      hexadecimal(report.trace_hash).c_str(), report.virtual_seconds, report.wall_seconds);
  if (report.quarantined == 0) return text;
  return text + ("quarantined  " + std::to_string(report.quarantined)) +
         " of the policy's instances, for too many decisions: passthrough took their seats\n";
}

}  // namespace cw
