// One cell of the paper's table as a simulation: real endpoints, 25 Gbit/s, RTT 25 ms, slot = chunk
// = 4 KiB, loss on the way there only, one message in flight, receives posted before.
#pragma once

#include <cstdint>

#include "control/model/law/law.h"
#include "control/sim/report.h"

namespace cw {

enum class PaperPolicy : uint8_t { Sr3, Sr1, GoBackN };

struct PaperCell {
  PaperPolicy policy = PaperPolicy::Sr3;
  uint32_t chunks = 512;
  double loss = 1e-3;
  uint64_t messages = 400;
  uint64_t seed = 1;
};

Report run_paper_cell(const PaperCell& cell);

/// The paper's law for selective repeat at this point, acknowledged without a loss.
model::Law paper_law_of(const PaperCell& cell);

}  // namespace cw
