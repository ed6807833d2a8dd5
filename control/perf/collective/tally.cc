#include "control/perf/collective/tally.h"

#include <cstdio>
#include <string>

#include "control/perf/shared/times.h"

namespace cw::perf {

Json report_of(const CollectiveOptions& options, const Tally& tally) {
  const SortedTimes times(tally.times_us);
  return {{"operation", name_of_collective(options.operation)},
          {"algorithm", group::name_of(options.algorithm)},
          {"port", options.is_udp ? "udp" : "sim"},
          {"hosts", options.hosts},
          {"bytes", options.size.count()},
          {"rounds", times.count()},
          {"loss", options.loss},
          {"completion_us",
           {{"mean", times.mean()},
            {"p50", times.at(0.5)},
            {"p99", times.at(0.99)},
            {"max", times.at(1)}}},
          {"injected_bytes", tally.each_round(tally.injected_bytes)},
          {"fetched_slots", tally.each_round(tally.fetched_slots)},
          {"bytes_wrong", tally.bytes_wrong}};
}

void print(const Json& report) {
  const Json& time = report.at("completion_us");
  std::printf("# Causeway %s, %s, %u hosts, %s\n",
              report.at("operation").get<std::string>().c_str(),
              report.at("algorithm").get<std::string>().c_str(), report.at("hosts").get<unsigned>(),
              report.at("port") == "sim" ? "simulated" : "over UDP sockets");
  std::printf("# %-12s %14s %14s %14s %10s %14s %14s\n", "Size", "Avg Latency(us)", "Min..p50(us)",
              "Max Latency(us)", "Iterations", "injected", "fetched slots");
  std::printf("%-14llu %14.2f %14.2f %14.2f %10llu %14.0f %14.1f\n",
              static_cast<unsigned long long>(report.at("bytes").get<uint64_t>()),
              time.at("mean").get<double>(), time.at("p50").get<double>(),
              time.at("max").get<double>(),
              static_cast<unsigned long long>(report.at("rounds").get<uint64_t>()),
              report.at("injected_bytes").get<double>(), report.at("fetched_slots").get<double>());
  const auto wrong = static_cast<unsigned long long>(report.at("bytes_wrong").get<uint64_t>());
  if (!report.contains("bytes_hops")) return (void)std::printf("bytes wrong: %llu\n", wrong);
  const double hops = report.at("bytes_hops").get<double>();
  std::printf(
      "bytes x hops: %.4g, of a ring %.4g (computed): %.3f times fewer; bytes wrong: %llu\n", hops,
      report.at("ring_bytes_hops").get<double>(),
      hops > 0 ? report.at("ring_bytes_hops").get<double>() / hops : 0, wrong);
}

}  // namespace cw::perf
