// One point of the model of coding (control/model) as a simulation: real endpoints under `erasure`,
// RTT 25 ms, loss on the way there only, one message in flight, receives posted before.
#pragma once

#include <cstdint>

#include "control/model/predict.h"
#include "control/sim/report.h"

namespace cw {

enum class PaperCode : uint8_t {
  Mds,  ///< any k of k + m chunks rebuild the block
  Xor,  ///< m groups; in each, one chunk of data and repair together may be lost
};

struct CodingCell {
  PaperCode code = PaperCode::Mds;
  uint32_t k = 32, m = 8;
  uint32_t slots = 2048;  ///< of 4 KiB, in a message
  uint32_t rows = 1;   ///< slots per chunk, each in a row of its own; 1: the model's slot = chunk
  double gbps = 25;    ///< of the line; 16 times that with 16 rows is the model's time per chunk
  double loss = 1e-3;  ///< of a slot
  uint64_t messages = 400;
  uint64_t seed = 1;
};

struct CodingReport {
  Report report;
  uint64_t settled = 0;    ///< messages that were
  uint64_t fell_back = 0;  ///< of them, those that the code alone did not rebuild
  double fallback() const { return double(fell_back) / double(settled); }
};

/// The cell has to leave the wire within half a round trip: then nothing but a fallback takes two.
CodingReport run_coding_cell(const CodingCell& cell);

/// The same point by the formulas, of which `law` is one.
model::Prediction predict_coding(const CodingCell& cell,
                                 model::FallbackLaw law = model::FallbackLaw::Keeping);

/// Where the true share lies when `hits` of `tries` were hit, by Wilson's interval: z = 1.96 for
/// 95 % confidence.
struct Interval {
  double low = 0, high = 1;
};
Interval share_interval(uint64_t hits, uint64_t tries, double z = 1.96);

}  // namespace cw
