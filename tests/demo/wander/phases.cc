#include "tests/demo/wander/phases.h"

#include "control/config/quantity.h"
#include "control/units/text.h"

namespace cw::demo {

std::vector<Phase> phases_of(const Options& options) {
  return {{.name = "calm", .rtt = options.rtt, .loss = 1e-6},
          {.name = "bad", .rtt = options.rtt, .loss = 0.01, .burst = 3},
          {.name = "better", .rtt = options.rtt, .loss = 1e-4},
          // Last, since frames behind a shorter delay would overtake those under way.
          {.name = "far", .rtt = options.rtt * 2, .loss = 1e-3}};
}

std::string request_of(const Phase& phase) {
  const std::string share = text_of("%.6f%%", phase.loss * 100);
  const bool has_bursts = phase.burst > 1;
  return text_of("delay=%lldns loss=%s gilbert=%s", static_cast<long long>(phase.rtt.ns() / 2),
                 has_bursts ? "" : share.c_str(),
                 has_bursts ? text_of("%g,%s", phase.burst, share.c_str()).c_str() : "");
}

std::string sentence_of(const Phase& phase) {
  const auto rtt = static_cast<double>(phase.rtt.ns());
  return config::quantity_text(config::Quantity::Duration, rtt) +
         text_of(" round trip, loses %g %% of all packets", phase.loss * 100) +
         (phase.burst > 1 ? text_of(" in bursts of %g", phase.burst) : "");
}

}  // namespace cw::demo
