#include "bench/policy/paper_run.h"

#include <string>

#include "bench/policy/scenario_run.h"
#include "control/model/policy/repeat.h"
#include "dataplane/base/assert.h"

namespace cw {
namespace {

std::string policy_text(PaperPolicy policy) {
  switch (policy) {
    case PaperPolicy::Sr3:
      return "name = 'selective_repeat'\ndetect = 'rto'\nalpha = 2\n";
    case PaperPolicy::Sr1:
      return "name = 'selective_repeat'\ndetect = 'nack'\nreorder_budget = '0 ns'\n";
    case PaperPolicy::GoBackN:
      return "name = 'go_back_n'\n";
  }
  return {};
}

std::string text_of(const PaperCell& cell) {
  const std::string size = "'" + std::to_string(uint64_t{cell.chunks} * 4) + " KiB'\n";
  return "[network]\ndelay = '12.5 ms'\nthere = { loss = " + std::to_string(cell.loss) +
         " }\n[pacer]\nrate = '25 Gbit/s'\n[policy]\n" + policy_text(cell.policy) +
         "[workload]\nwarm_up = 8\nin_flight = 1\nposted = 4\nmessages = " +
         std::to_string(cell.messages) + "\nsize_min = " + size + "size_max = " + size +
         "[run]\nverify = false\nlimit = '240 h'\nseed = " + std::to_string(cell.seed) + "\n";
}

}  // namespace

Report run_paper_cell(const PaperCell& cell) { return run_scenario(text_of(cell)); }

model::Law paper_law_of(const PaperCell& cell) {
  CW_ASSERT(cell.policy != PaperPolicy::GoBackN);
  constexpr double rtt_ms = 25, slot_ms = 4096 * 8 / 25e6;
  const double rto_ms = cell.policy == PaperPolicy::Sr3 ? 3 * rtt_ms : rtt_ms;
  return model::repeat_law({.slots = cell.chunks,
                            .slot_ms = slot_ms,
                            .rtt_ms = rtt_ms,
                            .found_ms = rto_ms,
                            .again_ms = rto_ms},
                           model::LossChain::independent(cell.loss));
}

}  // namespace cw
