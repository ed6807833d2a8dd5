// How near a class that adapts comes to the best fixed choice of each phase of a line that wanders.
#pragma once

#include <cstdio>
#include <map>
#include <string>

#include "tests/sim/gateway/adapt_world.h"

namespace cw::sim {

inline constexpr Weather wander_phases[] = {{"calm", 1e-6},
                                            {"bad", 0.01, 3},
                                            {"better", 1e-4},
                                            {"bursts", 1e-3, 8},
                                            {"far", 1e-3, 8, Duration::from_ms(50)},
                                            {"calm again"}};

using TimesByPhase = std::map<std::string, TransferTimes>;

/// Of each phase all but its first three drains: hold and two round trips, each.
inline TimesByPhase wander(const std::string& classes, const AdaptSites::Setup& setup,
                           Duration time, std::string* story = nullptr) {
  constexpr Duration left_out = Duration::from_ms(1500);
  AdaptSites world(classes, setup);
  world.begin_transfers();
  TimesByPhase all;
  for (const Weather& phase : wander_phases) all[phase.name] = world.run(phase, time, left_out);
  if (story != nullptr) *story = world.story();
  return all;
}

/// Of all that adaptive may choose, within the limit that it keeps to, what is chosen there.
inline std::map<std::string, TimesByPhase> wander_by_fixed(const AdaptSites::Setup& setup,
                                                           Duration time) {
  std::map<std::string, TimesByPhase> all;
  all["selective_repeat"] = wander(fixed_class("\"selective_repeat\""), setup, time);
  for (const int m : {1, 2, 4, 8, 12}) {
    all["erasure (32," + std::to_string(m) + ")"] = wander(erasure_class(32, m), setup, time);
  }
  return all;
}

/// Within a tenth of the best in p99, and in p99.9 of what that is as far as can be told.
inline void expect_near_best(const AdaptSites::Setup& setup, Duration time) {
  constexpr double near = 1.10, tail = 0.999;
  std::string story;
  const TimesByPhase adaptive = wander(adaptive_class(), setup, time, &story);
  const auto fixed = wander_by_fixed(setup, time);
  for (const Weather& phase : wander_phases) {
    const TransferTimes* best = nullptr;
    std::string name;
    for (const auto& [policy, times] : fixed) {
      const TransferTimes& its = times.at(phase.name);
      if (best != nullptr && its.quantile(tail) >= best->quantile(tail)) continue;
      best = &its;
      name = policy;
    }
    const TransferTimes& ours = adaptive.at(phase.name);
    std::printf("%-10s p99 %.2f ms, p99.9 %.2f ms; best %s: %.2f ms, %.2f ms (at most %.2f ms)\n",
                phase.name, ours.quantile(0.99), ours.quantile(tail), name.c_str(),
                best->quantile(0.99), best->quantile(tail), best->quantile_at_most(tail));
    EXPECT_EQ(ours.broken(), 0u) << phase.name;
    EXPECT_LE(ours.quantile(0.99), best->quantile(0.99) * near) << phase.name << "\n" << story;
    EXPECT_LE(ours.quantile(tail), best->quantile_at_most(tail) * near) << phase.name << "\n"
                                                                        << story;
  }
}

}  // namespace cw::sim
