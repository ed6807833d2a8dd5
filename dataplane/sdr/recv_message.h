// What an application says and hears about a message that it receives, and what the stream keeps of
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/message.h"

namespace cw::sdr {

struct RecvHandle {
  uint32_t place = UINT32_MAX;
  MessageSeq seq;
};

/// What the sender says of a message that is complete.
struct MessageLength {
  uint32_t slots = 0;
  uint32_t frames = 0;  ///< of hosts in them; 0 where there are none, or its sender does not say
};

/// How the packets of a message's slots were, for slots in place.
struct SlotArrivals {
  const uint64_t* marked = nullptr;    ///< bit s % 64 of word s / 64: slot s had met congestion
  const uint16_t* short_by = nullptr;  ///< bytes that its packet was shorter than a slot
  uint32_t payload_bytes = 0;          ///< of a whole slot

  bool is_marked(uint32_t slot) const { return (marked[slot / 64] >> slot % 64 & 1) != 0; }
  /// Behind them lies what lay there before. A slot that was rebuilt is full.
  uint32_t bytes(uint32_t slot) const { return payload_bytes - short_by[slot]; }
};

struct RecvInfo {
  MessageStatus status = MessageStatus::Open;
  std::optional<uint64_t> bytes;  ///< the message's length, once the sender has said
  uint32_t slots_in_place = 0;
  std::optional<bool> has_immediate;
};

/// What an application is told that does not ask. Called when a burst is done or a record was read,
/// never from within a call of a policy; any function of the stream may be called from there, and a
/// message may be completed. It is over when info() says that its status is no longer Open: every
/// slot is in place or abandoned, or its sender has given up the whole of it.
class RecvEvents {
 public:
  /// Words [word_first, word_end) of a message's slots have changed, or may have: bit s % 64 of
  /// placed[s / 64] says whether slot s is in place. A slot may come after it was abandoned.
  virtual void on_placed(RecvHandle handle, uint32_t word_first, uint32_t word_end,
                         const uint64_t* placed, Instant now) = 0;
  /// The message has slots 0 .. slots - 1 and no more; once per message.
  virtual void on_length(RecvHandle handle, MessageLength length, Instant now) = 0;
  /// Of these slots, those that are not in place will not be sent any more. `first + count` may lie
  /// beyond the message's end; every slot is told at most once. `count` CW_UNKNOWN: all from
  /// `first` on, and how many slots the message was to have nobody will say.
  virtual void on_abandoned(RecvHandle handle, uint32_t first, uint32_t count, Instant now) = 0;
  /// The epoch is over: all handles are void, all places are free, and sequences begin anew.
  virtual void on_reset(Instant now) = 0;

 protected:
  ~RecvEvents() = default;
};

/// Lends messages their memory when something of them comes, so that few of many places are in use,
/// and the same ones again and again.
class RecvMemory {
 public:
  /// As many bytes as were posted, written to until the message is completed; once per message,
  /// from within a burst. No function of the stream may be called.
  virtual uint8_t* lend(RecvHandle handle) = 0;

 protected:
  ~RecvMemory() = default;
};

/// One place of a receiving stream.
struct RecvMessage {
  MessageSeq seq;
  RecvMemory* lender = nullptr;  // asked once, while there is no memory
  uint8_t* memory = nullptr;
  uint64_t memory_bytes = 0;
  bool is_posted = false;
  bool is_opened = false;   // something of it has been heard
  bool is_closed = false;   // its length is known
  bool is_cut = false;      // given up before that
  bool is_lost = false;     // its peer restarted: only complete() is left to do
  bool is_touched = false;  // has facts of this burst
  bool is_queued = false;   // and waits in `touched_`; outlives the message
  bool has_immediate = false;
  MessageStatus status = MessageStatus::Open;
  uint16_t path = 0;           // of the last arrival
  uint8_t fragments_seen = 0;  // of the immediate: one bit each, up to 8 fragments of 4 bits
  uint32_t fragment_mask = 0;
  uint32_t immediate = 0;
  uint32_t slots = CW_UNKNOWN;
  uint32_t in_place = 0;
  uint32_t first_missing = 0;
  uint32_t highest = 0;                   // + 1
  uint32_t abandoned_end = 0;             // what is missing below will not come
  uint32_t duplicates = 0;                // of this burst
  uint32_t word_first = 0, word_end = 0;  // touched in this burst
  uint32_t repair_word_first = 0, repair_word_end = 0;
  uint32_t blocks = 0, blocks_end = 0;  // known from the front, and the data slots they cover
  uint32_t blocks_reach = 0;            // the same of all that are known
  uint64_t bytes = 0;
};

}  // namespace cw::sdr
