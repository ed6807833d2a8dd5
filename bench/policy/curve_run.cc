#include "bench/policy/curve_run.h"

#include <string>

#include "bench/policy/scenario_run.h"
#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr uint64_t warm_up = 8, slots = 256;

std::string text_of(const CurveCell& cell) {
  const LossModel& model = *cell.model;
  return std::string("[network]\ndelay = '10 ms'\n") + model.table + " = { " + model.keys + ", " +
         model.share + " = " + std::to_string(cell.loss) +
         " }\n[pacer]\nrate = '500 Mbit/s'\n[policy]\nname = '" + cell.policy +
         "'\n[workload]\nwarm_up = " + std::to_string(warm_up) +
         "\nin_flight = 1\nposted = 4\nsize_min = '1 MiB'\nsize_max = '1 MiB'\nmessages = " +
         std::to_string(cell.messages) +
         "\n[run]\nturn = '50 us'\nverify = false\nlimit = '240 h'\nseed = " +
         std::to_string(cell.seed) + "\n";
}

}  // namespace

CurvePoint run_curve_cell(const CurveCell& cell) {
  const Report report = run_scenario(text_of(cell));
  CW_ASSERT(report.completed == cell.messages);
  const double more = double(report.resent_packets) + double(report.repair_packets);
  return {.completion = report.completion,
          .overhead = more / double((cell.messages + warm_up) * slots)};
}

}  // namespace cw
