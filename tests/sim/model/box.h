// The box of scenes in which the model of control/model is held against the simulator: drawn at
// random, run by real endpoints, compared.
#pragma once

#include <cstdint>
#include <string>

#include "control/model/predict.h"
#include "control/sim/report.h"
#include "dataplane/base/prng.h"

namespace cw {

/// Slots of 4 KiB, lost on the way there only; receives are posted before.
struct BoxPoint {
  std::string policy;  ///< as a plan has it
  uint64_t slots = 1;
  double gbps = 25, rtt_ms = 25;
  double loss = 0, burst = 0;  ///< burst 0: independent
  uint64_t in_flight = 1;      ///< messages
  double turn_us = 0;          ///< of the worker; 0: a 2,000th of the round trip

  std::string text() const;
};

enum class BoxPolicy : uint8_t { Timeout, Asking, GoBackN, Mds, Xor, Count };

/// 1 to 2,048 slots, 10 to 100 Gbit/s, 5 to 50 ms, losses of 1e-5 to 1e-2, each uniform as a
/// logarithm, in bursts of 2 to 8 packets where `is_bursty`; codes of 8 to 32 slots and an eighth
/// to a quarter of repair, in 1 to 8 rows.
BoxPoint draw_point(BoxPolicy policy, bool is_bursty, Prng& prng);

Result<model::Prediction> predict_point(const BoxPoint& point);
Report run_point(const BoxPoint& point, uint64_t messages, uint64_t seed);

}  // namespace cw
