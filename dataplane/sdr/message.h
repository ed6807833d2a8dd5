// What an application says and hears about a message that it sends.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

namespace cw::sdr {

enum class MessageStatus : uint8_t {
  Open,
  Done,      ///< its policy says that all of it has come, and the receiver knows its end [C-36]
  GivenUp,   ///< by its policy or its application, or a part of it was too old
  PeerLost,  ///< the epoch ended before
};

/// What the application may tell about a message when it opens it.
struct MessageHint {
  std::optional<uint32_t> immediate;
  // For its policy, and nobody else.
  cw_hint_kind kind = CW_HINT_NONE;
  uint64_t expected_bytes = 0;
  uint32_t step = 0;
  bool is_last = false;
  /// What has not left by then does not leave, and what is not settled is given up.
  Instant deadline = Instant::never();
};

/// Names a message for its application. Stale handles are harmless.
struct SendHandle {
  uint32_t place = UINT32_MAX;
  MessageSeq seq;
};

/// The next slot of a message that is appended slot by slot: what was written to slot_memory().
struct SlotPiece {
  uint16_t bytes = 0;         ///< 1 to payload_bytes of it
  uint8_t ecn = 0, dscp = 0;  ///< of the packet that carries it
};

}  // namespace cw::sdr
