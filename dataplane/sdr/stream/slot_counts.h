// What has become of the slots of a stream, as each of its ends counts them: since the stream was
// made, over all epochs of its link.
#pragma once

#include <cstdint>

#include "dataplane/core/times/octave_times.h"

namespace cw::sdr {

/// What left, by why.
struct SentSlots {
  uint64_t data = 0;       ///< for the first time
  uint64_t resends = 0;    ///< again
  uint64_t repairs = 0;    ///< that codes are made of
  uint64_t abandoned = 0;  ///< given up: too old
  OctaveTimes waits;  ///< from when a slot was there until it left, where slots come one by one

  void add(const SentSlots& other);
};

/// What was missing, and what became of it. lost() is the sum of the others, always.
struct HeardSlots {
  uint64_t by_code = 0;    ///< made of others
  uint64_t by_resend = 0;  ///< came after a later one: sent again, or overtaken
  uint64_t given_up = 0;   ///< never came, and is not waited for any more
  uint64_t open = 0;       ///< missing now, with later ones in place
  uint64_t needless = 0;   ///< besides: data or repair that was there already

  uint64_t lost() const { return by_code + by_resend + given_up + open; }
  void add(const HeardSlots& other);
};

inline void SentSlots::add(const SentSlots& other) {
  data += other.data;
  resends += other.resends;
  repairs += other.repairs;
  abandoned += other.abandoned;
  waits.add(other.waits);
}

inline void HeardSlots::add(const HeardSlots& other) {
  by_code += other.by_code;
  by_resend += other.by_resend;
  given_up += other.given_up;
  open += other.open;
  needless += other.needless;
}

}  // namespace cw::sdr
