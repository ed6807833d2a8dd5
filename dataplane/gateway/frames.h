// A frame on its way out, between the slot that brought it and the LAN: where its bytes lie, what
// it waits for, and the rows that it stands in while it waits.
#pragma once

#include <cstdint>

#include "dataplane/base/pool.h"
#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/gateway/options.h"
#include "dataplane/wire/slot.h"

namespace cw::gateway {

using BucketSeq = Serial<32>;

/// A byte of a message's stream: counted in one slot, from behind its header.
struct Spot {
  uint32_t slot = 0;
  uint16_t offset = 0;
};

/// A frame all of whose bytes have come.
struct ParsedFrame {
  FrameHeader header;
  MessageSeq seq;           ///< of its message
  uint32_t place = 0;       ///< of its message
  uint32_t slot = 0;        ///< where its header begins: its position in the stream
  Spot packet;              ///< where the IP packet begins
  bool is_marked = false;   ///< the packet that brought its first slot had CE
  bool is_settled = false;  ///< all that was sent before it has come or never will
};

inline constexpr uint32_t no_frame = UINT32_MAX;

/// Neighbours in a row of frames.
struct FrameLinks {
  uint32_t before = no_frame, after = no_frame;
};

/// A place in the table of frames: lent while a frame is held or waits to leave.
struct Frame {
  ParsedFrame parsed;
  bool is_held = false;
  Instant arrived;
  FrameLinks in_bucket, in_age, in_slot;
};

using FrameTable = Pool<Frame>;

}  // namespace cw::gateway
