#include "bench/policy/coding_run.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "bench/policy/scenario_run.h"
#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr int rtt_ms = 25;
constexpr double slot_bits = 4096 * 8;

std::string policy_text(const CodingCell& cell) {
  const std::string m = std::to_string(cell.m);
  return "[policy]\nname = 'erasure'\nk = " + std::to_string(cell.k) + "\nm = " + m +
         "\nm_max = " + m + "\nrows = " + std::to_string(cell.rows) +
         "\ncodec = " + (cell.code == PaperCode::Mds ? "'rs'" : "'xor'") + "\n";
}

std::string text_of(const CodingCell& cell) {
  const auto kib = [](uint64_t slots) { return "'" + std::to_string(slots * 4) + " KiB'\n"; };
  return "[network]\ndelay = '12.5 ms'\nthere = { loss = " + std::to_string(cell.loss) +
         " }\n[stream]\nchunk = " + kib(cell.rows) + "[pacer]\nrate = '" +
         std::to_string(cell.gbps) + " Gbit/s'\n" + policy_text(cell) +
         "[workload]\nwarm_up = 8\nin_flight = 1\nposted = 4\nmessages = " +
         std::to_string(cell.messages) + "\nsize_min = " + kib(cell.slots) +
         "size_max = " + kib(cell.slots) + "[run]\nturn = '" + std::to_string(500 / cell.gbps) +
         " us'\nverify = false\nlimit = '240 h'\nseed = " + std::to_string(cell.seed) + "\n";
}

}  // namespace

model::Prediction predict_coding(const CodingCell& cell, model::FallbackLaw law) {
  model::Link link{.bandwidth = Rate::from_bps(static_cast<uint64_t>(cell.gbps * 1e9)),
                   .rtt = Duration::from_ms(int64_t{rtt_ms})};
  link.loss.independent = cell.loss;
  const auto scene = model::make_scene(link, {.size = Bytes(uint64_t{cell.slots} * 4096)});
  const std::string m = std::to_string(cell.m);
  const auto plan = model::parse_plan("erasure:k=" + std::to_string(cell.k) + ",m=" + m +
                                      ",m_max=" + m + ",rows=" + std::to_string(cell.rows) +
                                      ",codec=" + (cell.code == PaperCode::Mds ? "rs" : "xor"));
  CW_ASSERT(scene && plan);
  auto prediction = model::predict(*scene, *plan, law);
  CW_ASSERT(prediction);
  return std::move(*prediction);
}

CodingReport run_coding_cell(const CodingCell& cell) {
  const double slot_ms = slot_bits / (cell.gbps * 1e6);
  CW_ASSERT(slot_ms * cell.slots * (cell.k + cell.m) / cell.k < rtt_ms / 2);
  CodingReport result{.report = run_scenario(text_of(cell))};
  const auto& times = result.report.completion_times;
  result.settled = times.size();
  result.fell_back = static_cast<uint64_t>(
      std::ranges::count_if(times, [](Duration time) { return time.ms() > 2 * rtt_ms; }));
  return result;
}

Interval share_interval(uint64_t hits, uint64_t tries, double z) {
  const auto n = static_cast<double>(tries), share = static_cast<double>(hits) / n;
  const double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half =
      z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n);
  // At its ends exact, which sums of rounded terms are not.
  return {hits == 0 ? 0 : middle - half, hits == tries ? 1 : middle + half};
}

}  // namespace cw
