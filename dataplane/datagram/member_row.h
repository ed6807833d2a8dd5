// What a member knows of another one: 64 bytes, whether they ever speak or not.
#pragma once

#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/wire/group/replay_window.h"

namespace cw::group {

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
  bool is_proven : 1 = false;     ///< rank 0 has its JOIN under the nonces of both
  bool is_in_epoch : 1 = false;   ///< something of it has come in this epoch
  bool has_our_join : 1 = false;  ///< and says so, or would not leave out its own
  uint32_t digest = 0;

  void note_rtt(Duration sample) {
    const auto us = static_cast<uint32_t>(sample.ns() / 1000 + 1);
    if (rtt_us == 0) {
      rtt_us = us;
      rtt_deviation_us = us / 2;
      return;
    }
    const uint32_t apart = us > rtt_us ? us - rtt_us : rtt_us - us;
    rtt_deviation_us = (3 * rtt_deviation_us + apart) / 4;
    rtt_us = (7 * rtt_us + us) / 8;
  }
};
static_assert(sizeof(MemberRow) == 64);

}  // namespace cw::group
