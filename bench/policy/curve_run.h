// One point of the curves: 1 MiB messages over 20 ms RTT and 500 Mbit/s, one in flight, under a
// policy with its defaults, and loss both ways as one of several models has it.
#pragma once

#include <array>
#include <cstdint>

#include "control/sim/report.h"

namespace cw {

/// How packets are lost.
struct LossModel {
  const char* name;   ///< of a file
  const char* title;  ///< for a person
  const char* table;  ///< of the scenario's network
  const char* keys;   ///< of that table
  const char* share;  ///< the key of the loss in the long run
};
inline constexpr std::array loss_models = {
    LossModel{"gilbert_3", "Gilbert-Elliott bursts, mean 3 packets", "gilbert_elliott",
              "mean_burst = 3", "mean_loss"},
    LossModel{"gilbert_10", "Gilbert-Elliott bursts, mean 10 packets", "gilbert_elliott",
              "mean_burst = 10", "mean_loss"},
    LossModel{"amazon", "Events of cloud paths, profile amazon", "bursts", "profile = 'amazon'",
              "loss"},
    LossModel{"google", "Events of cloud paths, profile google", "bursts", "profile = 'google'",
              "loss"},
    LossModel{"microsoft", "Events of cloud paths, profile microsoft", "bursts",
              "profile = 'microsoft'", "loss"},
};

inline constexpr std::array curve_policies = {"selective_repeat", "erasure", "hybrid",
                                              "layered_interleave", "go_back_n"};

struct CurveCell {
  const LossModel* model = nullptr;
  const char* policy = nullptr;
  double loss = 0;
  uint64_t messages = 1000;
  uint64_t seed = 1;
};

struct CurvePoint {
  CompletionTimes completion;
  double overhead = 0;  ///< resends and repair per data packet
};

CurvePoint run_curve_cell(const CurveCell& cell);

}  // namespace cw
