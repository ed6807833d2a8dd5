// What a policy that resends needs of the core: limits(), for what RepeatSource and RepeatSink do.
#pragma once

#include <algorithm>

#include "policies/parts/repeat/repeat_times.h"

namespace cw::policy {

/// Notes that the words of what leaves in an RTT take: how many may report at once, a `nack_gap`
/// apart. What is open may be many times as much; the rest of it waits for the next gap.
inline uint32_t notes_per_report(const RepeatSettings& settings, Rate configured,
                                 uint32_t slot_wire_bytes, const LinkTiming& link) {
  const uint64_t bytes = std::max(configured, link.rate).bytes_in(link.rtt).count();
  const uint64_t slots = bytes / std::max(slot_wire_bytes, 1u);
  return static_cast<uint32_t>(
      std::min<uint64_t>(slots / 8 / (settings.note_bytes / 2) + 1, UINT16_MAX));
}

inline cw_policy_limits repeat_limits(const RepeatSettings& settings, const cw_env& env,
                                      const cw_fact_link& link) {
  const LinkTiming timing = LinkTiming::from(link);
  const RepeatTimes times(settings, timing);
  const uint64_t each =
      notes_per_report(settings, Rate::from_bps(env.rate_bps), env.slot_wire_bytes, timing);
  const auto ticks =
      static_cast<uint64_t>(timing.rtt / std::max(times.ack_interval, Duration::from_ns(1))) + 1;
  const auto asks =
      static_cast<uint64_t>(timing.rtt / std::max(times.nack_gap, Duration::from_ns(1)));
  cw_policy_limits limits{};
  limits.notes_per_rtt = static_cast<uint32_t>(
      std::min<uint64_t>((ticks + asks) * each + 2 * env.messages, UINT32_MAX));
  const Duration found =
      settings.asks ? timing.rtt / 2 + times.budget + times.tail_quiet : times.rto;
  limits.recovery_worst_ns = (found + timing.rtt).ns();
  limits.retain_ns = (times.rto * 2 + timing.rtt).ns();
  return limits;
}

}  // namespace cw::policy
