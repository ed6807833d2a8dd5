// Selective repeat by timeout over a code, in the published setting: 400 Gbit/s, 25 ms, chunks of
// 64 KiB, by the model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/model/predict.h"

namespace cw::which {

/// What is compared, and how losses are meant.
struct Reading {
  bool is_loss_of_packets = true;  ///< sixteen of a chunk, which is lost with any; else of chunks
  bool is_by_packet = false;       ///< packets are what is sent again and coded, as ours are
  model::FallbackLaw law = model::FallbackLaw::Paper;
  bool is_any_code = false;       ///< else MDS, 32 + 8
  double size_bytes = 0;          ///< the only one; 0: all
  double alpha = 2;               ///< of the timeout, RTT + alpha RTT
  bool is_over_lossless = false;  ///< over a message without a loss, not over a code
};

struct Times {
  double mean_ms = 0, tail_ms = 0;  ///< p99.9
  /// p99.9 moves by a tenth when a quarter fewer or more messages are late.
  bool is_at_step = false;
};

struct Slowdown {
  double size_bytes = 0, loss = 0;
  Times repeat, code;
  std::string code_name;
  double fallback = 0;  ///< share of messages

  double mean_ratio() const { return repeat.mean_ms / code.mean_ms; }
  double tail_ratio() const { return repeat.tail_ms / code.tail_ms; }
};

/// Selective repeat and, of those that `reading` allows, the code with the least mean or p99.9.
Slowdown slowdown_of(const Reading& reading, double size_bytes, double loss, bool is_tail);

/// The largest over 128 KiB to 1 GiB and losses of 1e-6 to 1e-2. In p99.9 that of points where
/// neither stands at a step, since there so little moves it.
Slowdown largest(const Reading& reading, bool is_tail);

/// Of a chunk, or of a packet where that is what is sent again.
double unit_loss(const Reading& reading, double loss);

}  // namespace cw::which
