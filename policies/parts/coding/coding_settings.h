// How a policy that codes is set, and what of the stream it needs for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "policies/parts/coding/weave.h"
#include "policies/parts/note.h"
#include "policies/parts/repeat/repeat_limits.h"

namespace cw::policy {

/// The numbers of the codecs, as every stream that codes has them.
enum class Codec : uint32_t { Rs = 0, Xor = 1 };

struct CodingSettings {
  RepeatSettings repeat;
  uint8_t k = 32, m = 4;
  uint8_t m_max = 4;  // shards per row that may be used when the loss asks for more than m
  uint16_t rows = 1;
  Codec codec = Codec::Rs;
  Weave weave;
  /// True: what the code may still repair is not asked for before the patience of `repeat` is over.
  /// False: it is asked for as soon as the code is known not to repair it.
  bool waits = false;
  Duration
      deadline;  // a closed message that is not settled this much later is given up; zero: never

  /// What a block and its repair take on the wire.
  uint64_t block_bytes(const cw_env& env) const {
    return uint64_t{k + uint32_t{std::max(m, m_max)}} * rows * env.slot_wire_bytes;
  }
  uint32_t repair_slots() const { return uint32_t{std::max(m, m_max)} * rows; }
};

/// A message may be appended as a whole: so many blocks then close at once.
inline constexpr uint32_t blocks_per_call = 8'192;

/// Why such a stream cannot be served; null: it can. A stream without blocks can: nothing is coded.
inline const char* coding_refusal(const CodingSettings& settings, const cw_env& env) {
  if (env.note_bytes_max < note_layout::bytes_min) return "notes of 31 bytes must be allowed";
  if (uint32_t{settings.k} + std::max(settings.m, settings.m_max) > 255) {
    return "k and the most repair shards together must be 255 at most";
  }
  if (env.k == 0) return nullptr;
  if (env.k < settings.k || env.rows < settings.rows) {
    return "k and rows are larger than the stream's blocks";
  }
  if (env.m_cap < settings.repair_slots()) {
    return "the stream reserves fewer repair slots per block than m and rows need";
  }
  if (static_cast<uint32_t>(settings.codec) >= env.codecs) return "the stream has no such codec";
  return nullptr;
}

inline cw_policy_limits coding_limits(const CodingSettings& settings, const cw_env& env,
                                      const cw_fact_link& link) {
  cw_policy_limits limits = repeat_limits(settings.repeat, env, link);
  const LinkTiming timing = LinkTiming::from(link);
  const RepeatTimes times(settings.repeat, timing);
  // The first slot of a block waits for the rest of it, for repair that keeps its distance, and for
  // what of that may still come; a patience covers all of this.
  const Duration distance = timing.rtt / 16;
  const Duration repaired = timing.time_for(settings.block_bytes(env)) + distance;
  limits.recovery_worst_ns = settings.waits
                                 ? (timing.rtt / 2 + times.tail_quiet + distance + timing.rtt).ns()
                                 : limits.recovery_worst_ns + repaired.ns();
  limits.retain_ns += distance.ns();
  limits.m_cap = settings.repair_slots();
  limits.rows = settings.rows;
  limits.k = settings.k;
  return limits;
}

}  // namespace cw::policy
