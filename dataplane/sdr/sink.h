// The receiving door: all that a gateway, a program or a test sees of messages that come.
//
//   whole messages     try_post(memory) ... info(), chunk_bitmap() ... complete()
//   slot by slot       read_along(buffers), then  try_post() ... take_news(), view() ... complete()
//
// The i-th message of the sender lands in the i-th receive. Who reads along learns of each slot
// when it is there: a slot is awaited, in place, or gone, which means that nobody will send it any
// more. Nothing calls back: what is new stands in a row until whoever posted asks, in its own turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/message.h"
#include "dataplane/sdr/recv_buffers.h"
#include "dataplane/sdr/stream/slot_counts.h"
#include "dataplane/sdr/stream/stream_config.h"

namespace cw::sdr {

class FrameTeller;
class RecvStream;

/// Names a receive. Stale handles are harmless: those of a life of the link that is over, too.
struct RecvHandle {
  uint32_t place = UINT32_MAX;
  MessageSeq seq;
};

struct RecvInfo {
  MessageStatus status = MessageStatus::Open;
  std::optional<uint64_t> bytes;  ///< the message's length, once the sender has said
  uint32_t slots_in_place = 0;
  std::optional<bool> has_immediate;
};

/// Something of a message has changed, or may have: its length is known, it was cut, or slots
/// among those of words [word_first, word_end) of its bits are in place or gone.
struct MessageNews {
  RecvHandle handle;
  uint32_t word_first = 0, word_end = 0;
};

/// A message as it is now; it changes with the stream, and its pointers live until complete(). Bit
/// s % 64 of word s / 64 is slot s.
struct MessageView {
  const uint8_t* memory = nullptr;  ///< null before the first slot; slot s at s * payload_bytes
  const uint64_t* placed = nullptr;
  const uint64_t* gone = nullptr;      ///< may come all the same, and is then placed as well
  const uint64_t* marked = nullptr;    ///< placed, and its packet had met congestion
  const uint16_t* short_by = nullptr;  ///< by slot: bytes that its packet was shorter than a slot
  uint32_t payload_bytes = 0;          ///< of a whole slot
  uint32_t slots = CW_UNKNOWN;         ///< its length, once the sender has said
  uint32_t frames = 0;                 ///< and how many frames of hosts it said are in them
  bool is_cut = false;                 ///< given up before its length was known: nobody will say

  bool is_marked(uint32_t slot) const { return (marked[slot / 64] >> slot % 64 & 1) != 0; }
  /// Behind them lies what lay there before. A slot that was rebuilt is full.
  uint32_t bytes(uint32_t slot) const { return payload_bytes - short_by[slot]; }
};

/// A reference to a stream, copied freely. Thread: the endpoint's worker.
class Sink {
 public:
  Sink() = default;
  explicit Sink(RecvStream& stream) : stream_(&stream) {}
  explicit operator bool() const { return stream_ != nullptr; }

  const StreamConfig& config() const;
  const char* policy() const;  ///< who decides about what is new, by name; both ends agree
  HeardSlots heard() const;    ///< what was missing, since the start; looks at each place

  /// Offers memory for the next message; nothing when all places are taken. The memory is written
  /// to until complete() returns.
  std::optional<RecvHandle> try_post(std::span<uint8_t> memory) const;
  RecvInfo info(RecvHandle handle) const;
  /// Bit c of byte c / 8 is chunk c; empty for a stale handle. Live until complete().
  std::span<const uint8_t> chunk_bitmap(RecvHandle handle) const;
  /// Bit i of word w is slot w * 64 + i of the chunk; as far as `words` reach.
  void slots_of_chunk(RecvHandle handle, uint64_t chunk, std::span<uint64_t> words) const;
  std::optional<uint32_t> immediate(RecvHandle handle) const;
  /// Ends the receive, whole or not. False for a stale handle.
  bool complete(RecvHandle handle, Instant now) const;
  bool is_idle() const;     ///< nothing is posted
  bool is_at_rest() const;  ///< nothing that has begun is not over
  /// Receives whose status has left Open so far: while it stays, info() has nothing new on that.
  uint64_t over_count() const;

  // ---- reading along ----
  /// From here on receives lie in `buffers`, as others' may, and all that comes is told. When a
  /// link ends, they end by themselves. Before the first is posted. Allocates two bytes and two
  /// bits per slot.
  void read_along(RecvBuffers& buffers) const;
  /// The next receive; nothing when all places are taken, or memory is promised to others, or this
  /// would be promised more than its peer begins in two RTTs.
  std::optional<RecvHandle> try_post() const;
  /// The peer hears of what became of its frames. `frames` is there for as long as the stream has
  /// turns.
  void tell_of_frames(const FrameTeller& frames) const;
  bool has_news() const;
  /// Fills `row` from the front with what is new, each message once; the rest waits.
  size_t take_news(std::span<MessageNews> row) const;
  /// Of a handle that is not stale.
  MessageView view(RecvHandle handle) const;
  /// How often a link has ended so far, and all receives with it. No news of them is left.
  uint32_t reset_count() const;

 private:
  RecvStream* stream_ = nullptr;
};

}  // namespace cw::sdr
