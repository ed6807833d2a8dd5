// What a member keeps of the messages from and to another one: 64 bytes, whether they ever speak or
// not.
#pragma once

#include <cstdint>

#include "dataplane/wire/group/message_number.h"

namespace cw::group {

/// So many numbers there are from the oldest open message of a row on, at most [C-76].
inline constexpr uint32_t numbers_open_max = 64;

/// Of the messages of one row from one of the two to the other.
struct OpenNumbers {
  uint32_t newest = 0;
  uint32_t oldest = 1;  ///< that is open; none is: the next one

  uint32_t next() const { return next_number(newest); }
  bool has_room() const { return numbers_between(oldest, next()) < numbers_open_max; }
  bool is_past(uint32_t number) const {
    return newest != 0 && numbers_between(number, newest) < message_numbers / 2;
  }
  /// One has ended: `is_open(number)` says which have not.
  void settle(auto&& is_open) {
    while (oldest != next() && !is_open(oldest)) oldest = next_number(oldest);
  }
};

/// Of messages whose memory is posted here, and of the last 128 of them, which have come whole: as
/// many as their source, which may be 64 behind, can still ask about.
struct PostedNumbers : OpenNumbers {
  uint64_t done[2] = {};  ///< bit d: the number d before `newest`

  void post() {
    newest = next();
    done[1] = done[1] << 1 | done[0] >> 63;
    done[0] <<= 1;
  }
  bool has_come(uint32_t number) const {
    const uint32_t before = numbers_between(number, newest);
    return before < 128 && (done[before / 64] >> before % 64 & 1) != 0;
  }
  void note_done(uint32_t number) {
    const uint32_t before = numbers_between(number, newest);
    if (before < 128) done[before / 64] |= uint64_t{1} << before % 64;
  }
};

struct PeerRow {
  static constexpr uint32_t none = UINT32_MAX;

  OpenNumbers sent[2];                      ///< by is_for_pool()
  PostedNumbers posted;                     ///< that it is to send us
  uint64_t pool_done = 0, pool_opened = 0;  ///< bit d: the number d before pool_newest
  uint32_t pool_newest = 0;
  uint32_t waiting = none;  ///< the first of our messages that wait for its key

  /// The names of all messages from this one that can be open.
  void for_each_receivable(auto&& look) const {
    for (uint32_t number = posted.oldest; number != posted.next(); number = next_number(number)) {
      look(number);
    }
    uint32_t number = pool_newest;
    for (uint64_t bits = pool_opened; bits != 0; bits >>= 1, number = number_before(number, 1)) {
      if ((bits & 1) != 0) look(number | pool_bit);
    }
  }

  /// A message for the pool is to be opened; false: it was before, or is not known any more [C-77].
  bool try_open_pooled(uint32_t number) {
    const uint32_t ahead = numbers_between(pool_newest, number);
    if (ahead != 0 && ahead < message_numbers / 2) {
      pool_opened = ahead < 64 ? pool_opened << ahead : 0;
      pool_done = ahead < 64 ? pool_done << ahead : 0;
      pool_newest = number;
    }
    const uint32_t before = numbers_between(number, pool_newest);
    if (before >= 64 || (pool_opened >> before & 1) != 0) return false;
    pool_opened |= uint64_t{1} << before;
    return true;
  }
  bool is_pooled_past(uint32_t number) const {
    const uint32_t before = numbers_between(number, pool_newest);
    if (pool_newest == 0 || before >= message_numbers / 2) return false;
    return before >= 64 || (pool_opened >> before & 1) != 0;
  }
  bool has_pooled_come(uint32_t number) const {
    const uint32_t before = numbers_between(number, pool_newest);
    return before < 64 && (pool_done >> before & 1) != 0;
  }
  void note_pooled_done(uint32_t number) {
    const uint32_t before = numbers_between(number, pool_newest);
    if (before < 64) pool_done |= uint64_t{1} << before;
  }
};
static_assert(sizeof(PeerRow) == 64);

}  // namespace cw::group
