// The sending door: all that a gateway, a program or a test sees of messages that leave.
//
//   whole messages     try_open, append (lent memory) ... close, status(), is_released() ... forget
//   slot by slot       try_open, slot_memory(), append_slot() ... close, forget
//
// Slot by slot a slot lies in a packet of the port from the start, and is written where it will be
// sent from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/sdr/message.h"
#include "dataplane/sdr/stream/slot_counts.h"
#include "dataplane/sdr/stream/stream_config.h"

namespace cw::sdr {

class SendStream;

/// A reference to a stream, copied freely. Thread: the endpoint's worker.
class Source {
 public:
  Source() = default;
  explicit Source(SendStream& stream) : stream_(&stream) {}
  explicit operator bool() const { return stream_ != nullptr; }

  /// Its payload_bytes are, once is_started(), what both ends agreed on.
  const StreamConfig& config() const;
  bool is_started() const;        ///< the link is up
  bool is_idle() const;           ///< no message is open, or waits to be forgotten
  const char* policy() const;     ///< who decides about what is new, by name; both ends agree
  const SentSlots& sent() const;  ///< what has left, since the start

  /// Begins the next message; nothing when all places are taken.
  std::optional<SendHandle> try_open(const MessageHint& hint) const;
  /// Adds `bytes` at slot `first`. The memory must stay as it is until is_released().
  /// Errors: overlap, too long, a short piece that is not the last, too many pieces, closed.
  Result<void> append(SendHandle handle, uint32_t first, std::span<const uint8_t> bytes) const;
  /// Nothing more is appended; the receiver hears of `frames` of hosts in it. Errors: holes.
  Result<void> close(SendHandle handle, uint32_t frames = 0) const;
  MessageStatus status(SendHandle handle) const;
  /// Whether the message is over and nobody reads the memory of its pieces any more: neither a
  /// codec nor a port that still has packets of it. Later than status() says so, or at once.
  bool is_released(SendHandle handle) const;
  bool is_growing(SendHandle handle) const;  ///< neither closed nor over
  /// Gives up what has not been settled yet; the receiver is told.
  void cancel(SendHandle handle, Instant now) const;
  /// Nobody asks any more about this message.
  void forget(SendHandle handle) const;

  // ---- slot by slot ----
  /// Whether there are packets for `count` slots more of a message that was not forgotten, 64 at
  /// most: how many the port has is one limit, how many messages are under way another.
  bool has_packets(SendHandle handle, size_t count) const;
  /// Memory for its next slot: the stream's, of payload_bytes, until append_slot() has taken it.
  uint8_t* slot_memory(SendHandle handle) const;
  /// Adds the next slot of the message, the first being slot 0. False when the stream is not
  /// started (before that the size of a slot is not settled), when the message is no longer open,
  /// and when it is full. Cost: no allocation, no search.
  bool append_slot(SendHandle handle, const SlotPiece& piece, Instant now) const;
  /// How many slots the message may have in all: fewer than data_slots_max once blocks of it were
  /// closed early, since their number is bounded. Changes between turns only.
  uint32_t slots_max(SendHandle handle) const;
  /// Bytes appended that have not left for the first time, of all messages.
  uint64_t waiting_bytes() const;
  /// A block that has slots is closed when the policy has known the first of them for so long, or
  /// when it is full or its message ends. Takes effect for blocks that are open.
  void set_block_age(Duration age) const;

 private:
  SendStream* stream_ = nullptr;
};

}  // namespace cw::sdr
