// What a member knows of another one: 64 bytes, whether they ever speak or not.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/wire/group/replay_window.h"

namespace cw::group {

/// As members tell each other the time: microseconds, modulo 2^32.
inline uint32_t clock_us_of(Instant now) { return static_cast<uint32_t>(now.ns() / 1000); }

struct MemberRow {
  uint64_t nonce = 0;   ///< by which its envelopes come; 0: nothing has come of it in this epoch
  ReplayWindow replay;  ///< [C-74]
  uint32_t key = 0;     ///< of datagrams to it alone; 0: not told yet
  uint32_t qpn = 0;
  uint32_t rtt_us = 0, rtt_deviation_us = 0;  ///< 0: not measured
  Instant heard;                              ///< when something of it last came; zero: never
  uint32_t rate_kbps = 0;                     ///< that it can receive; rank 0 asks
  uint16_t payload_bytes = 0;                 ///< likewise
  uint16_t peer = 0;                          ///< what the port calls it
  uint16_t site = 0;
  bool is_proven : 1 = false;       ///< rank 0 has its JOIN under the nonces of both
  bool is_in_epoch : 1 = false;     ///< something of it has come in this epoch
  bool has_sent : 1 = false;        ///< it has sent a datagram of its own to us
  bool has_our_join : 1 = false;    ///< and says so, or would not leave out its own
  bool is_alike : 1 = false;        ///< its digest is ours
  bool is_rtt_greeted : 1 = false;  ///< the round trip is what an echo of our clock took
  bool is_echo_due : 1 = false;     ///< it has said JOIN in this epoch, and is to hear when
  bool has_echo : 1 = false;        ///< and has been told once
  uint32_t clock_behind_us = 0;     ///< our clock less its, by its last JOIN; 0: not known

  void note_datagram(Instant now) {
    heard = now;
    has_sent = true;
  }
  bool is_rtt_measured() const { return rtt_us != 0 && !is_rtt_greeted; }
  void note_rtt(Duration sample) {
    const auto us = static_cast<uint32_t>(sample.ns() / 1000 + 1);
    const uint32_t apart = us > rtt_us ? us - rtt_us : rtt_us - us;
    if (is_rtt_greeted) return begin_rtt(us, std::clamp(apart, us / 8, us / 2));
    if (rtt_us == 0) return begin_rtt(us, us / 2);
    rtt_deviation_us = (3 * rtt_deviation_us + apart) / 4;
    rtt_us = (7 * rtt_us + us) / 8;
  }

  /// A JOIN of it has come by its clock.
  void note_clock(uint32_t clock_us, Instant now) {
    clock_behind_us = known(clock_us_of(now) - clock_us);
    is_echo_due = !has_echo;
  }
  /// What its clock said when its JOIN left, and the time since.
  uint32_t echo(Instant now) const {
    return clock_behind_us == 0 ? 0 : known(clock_us_of(now) - clock_behind_us);
  }
  /// It has told us so of ours. False: a round trip was known before, or that is none.
  bool note_echo(uint32_t echo_us, Instant now) {
    constexpr uint32_t most_us = 10'000'000;
    const uint32_t us = known(clock_us_of(now) - echo_us);
    if (echo_us == 0 || rtt_us != 0 || us > most_us) return false;
    begin_rtt(us, us / 8);
    return is_rtt_greeted = true;
  }

 private:
  static uint32_t known(uint32_t us) { return std::max(us, 1u); }
  void begin_rtt(uint32_t us, uint32_t deviation_us) {
    rtt_us = us;
    rtt_deviation_us = deviation_us;
    is_rtt_greeted = false;
  }
};
static_assert(sizeof(MemberRow) == 64);

}  // namespace cw::group
