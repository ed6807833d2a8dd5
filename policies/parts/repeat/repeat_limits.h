// What a policy that resends needs of the core: limits(), for what RepeatSource and RepeatSink do.
#pragma once

#include <algorithm>

#include "policies/parts/repeat/repeat_times.h"

namespace cw::policy {

inline cw_policy_limits repeat_limits(const RepeatSettings& settings, const cw_env& env,
                                      const cw_fact_link& link) {
  const LinkTiming timing = LinkTiming::from(link);
  const RepeatTimes times(settings, timing);
  const Rate rate = Rate::from_bps(std::max(env.rate_bps, link.rate_bps));
  const uint64_t slots = rate.bytes_in(timing.rtt).count() / std::max(env.slot_wire_bytes, 1u);
  const uint64_t bitmap_notes = slots / 8 / (settings.note_bytes / 2) + 1;
  const auto ticks =
      static_cast<uint64_t>(timing.rtt / std::max(times.ack_interval, Duration::from_ns(1))) + 1;
  const auto asks =
      static_cast<uint64_t>(timing.rtt / std::max(times.nack_gap, Duration::from_ns(1)));
  cw_policy_limits limits{};
  limits.decisions_per_call = 4096 + 2 * env.messages;
  limits.notes_per_rtt = static_cast<uint32_t>(
      std::min<uint64_t>((ticks + asks) * bitmap_notes + 2 * env.messages, UINT32_MAX));
  const Duration found =
      settings.asks ? timing.rtt / 2 + times.budget + times.tail_quiet : times.rto;
  limits.recovery_worst_ns = (found + timing.rtt).ns();
  limits.retain_ns = (times.rto * 2 + timing.rtt).ns();
  return limits;
}

}  // namespace cw::policy
