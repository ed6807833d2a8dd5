// Records about messages and the credit for them (SPEC.md 5.4 to 5.10).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/endian.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/serial.h"
#include "dataplane/wire/control/record_type.h"
#include "dataplane/wire/fields.h"

namespace cw {

/// As a count of slots: not known yet. As the length of a range: to the end of the message.
inline constexpr uint32_t slots_unknown = 0xffff'ffff;

/// Where the hardware of the receiver of data wants one message.
struct Placement {
  be32 seq;
  be32 data_key;
  be64 data_address;  ///< of slot 0
  be32 repair_key;    ///< with the address below 0 where the QP has no repair slots
  be64 repair_address;
  bool operator==(const Placement&) const = default;
};
static_assert(sizeof(Placement) == 28 && alignof(Placement) == 1);

/// The receiver of data tells its sender how far it may go.
struct ClearToSend {
  static constexpr auto type = RecordType::ClearToSend;
  static constexpr const char* name = "clear_to_send";

  uint16_t qp = 0;
  uint16_t policy_epoch = 0;
  MessageSeq retired_seq;    ///< everything below is over at both ends
  MessageSeq message_limit;  ///< messages below may be opened
  MessageSeq heard_seq;      ///< CLOSED or ABANDONED of everything below has been heard
  uint64_t slot_limit = 0;   ///< data slots that may be used, counted since the epoch began
  Row<Placement> placements;

  static void fields(auto& clear, auto& wire) {
    wire(clear.qp, clear.policy_epoch, clear.retired_seq, clear.message_limit, clear.heard_seq);
    wire(clear.slot_limit, clear.placements);
  }
  bool is_valid() const {
    return retired_seq.distance_to(heard_seq) >= 0 && heard_seq.distance_to(message_limit) >= 0;
  }
  bool operator==(const ClearToSend&) const = default;
};

/// The sender of data asks for a clear-to-send.
struct Probe {
  static constexpr auto type = RecordType::Probe;
  static constexpr const char* name = "probe";

  uint16_t qp = 0;
  MessageSeq next_seq;  ///< the message it would open next

  static void fields(auto& probe, auto& wire) { wire(probe.qp, zeros<2>, probe.next_seq); }
  bool is_valid() const { return true; }
  bool operator==(const Probe&) const = default;
};

/// A message has begun, and this is its geometry.
struct Opened {
  static constexpr auto type = RecordType::Opened;
  static constexpr const char* name = "opened";

  uint16_t qp = 0;
  uint16_t policy_epoch = 0;
  MessageSeq seq;
  uint32_t data_slots_max = 0;  ///< D, where the index space is cut
  uint32_t slots = 0;           ///< data slots, or slots_unknown until CLOSED
  uint16_t rows = 0;            ///< slots of a chunk in the largest block
  uint16_t m_cap = 0;           ///< repair slots reserved per block
  uint8_t k = 0;  ///< data chunks of the largest block; with rows 0: the message is not coded

  static void fields(auto& opened, auto& wire) {
    wire(opened.qp, opened.policy_epoch, opened.seq, opened.data_slots_max, opened.slots);
    wire(opened.rows, opened.m_cap, opened.k, zeros<3>);
  }
  bool is_valid() const {
    return data_slots_max <= limits::slots_per_message_max &&
           (slots == slots_unknown || slots <= data_slots_max) && (rows == 0) == (k == 0);
  }
  bool operator==(const Opened&) const = default;
};

/// What one block came to be: it may hold less than the largest that OPENED speaks of.
struct ClosedBlock {
  be32 block, slot_first, slots;  ///< its number; data slots [slot_first, slot_first + slots)
  be16 rows;
  uint8_t k, m;
  uint8_t codec;  ///< as numbered by the stream's [pair] keys
  uint8_t reserved[3];

  bool is_valid() const {
    return rows.host() > 0 && k > 0 && k + m <= static_cast<int>(limits::shards_per_block_max) &&
           slots.host() <= uint32_t{rows.host()} * k &&
           slot_first.host() <= limits::slots_per_message_max && reserved[0] == 0 &&
           reserved[1] == 0 && reserved[2] == 0;
  }
  bool operator==(const ClosedBlock&) const = default;
};
static_assert(sizeof(ClosedBlock) == 20 && alignof(ClosedBlock) == 1);

/// Blocks of a message are complete at the sender; at least one entry.
struct BlockClosed {
  static constexpr auto type = RecordType::BlockClosed;
  static constexpr const char* name = "block_closed";

  uint16_t qp = 0;
  MessageSeq seq;
  Row<ClosedBlock> blocks;

  static void fields(auto& closed, auto& wire) {
    wire(closed.qp, zeros<2>, closed.seq, closed.blocks);
  }
  bool is_valid() const {
    return !blocks.empty() && std::ranges::all_of(blocks, &ClosedBlock::is_valid);
  }
  bool operator==(const BlockClosed&) const = default;
};

/// A message is complete at the sender: nothing will be appended.
struct Closed {
  static constexpr auto type = RecordType::Closed;
  static constexpr const char* name = "closed";
  static constexpr uint16_t has_immediate = 1;

  uint16_t qp = 0;
  uint16_t flags = 0;
  MessageSeq seq;
  uint32_t slots = 0;          ///< data slots, final
  uint32_t frames = 0;         ///< frames of hosts in it (streams of a gateway)
  uint64_t message_bytes = 0;  ///< payload bytes in its data slots
  uint32_t immediate = 0;      ///< of the application; zero without has_immediate

  static void fields(auto& closed, auto& wire) {
    wire(closed.qp, closed.flags, closed.seq, closed.slots, closed.frames);
    wire(closed.message_bytes, closed.immediate);
  }
  bool is_valid() const {
    return (flags == has_immediate || (flags == 0 && immediate == 0)) &&
           slots <= limits::slots_per_message_max;
  }
  bool operator==(const Closed&) const = default;
};

/// Why a range was given up. Reasons of later versions may appear: kept as numbers.
enum class AbandonReason : uint16_t {
  Finished = 0,     ///< the policy finished it
  Hold = 1,         ///< older than its hold time
  HoldMemory = 2,   ///< given up early for want of memory
  Drain = 3,        ///< a swap or shutdown reached its deadline
  Cancelled = 4,    ///< by the application
  Quarantined = 5,  ///< the policy exceeded its quotas
};

/// The sender will not send these data slots again; with first_slot 0 and slots_unknown, the
/// message.
struct Abandoned {
  static constexpr auto type = RecordType::Abandoned;
  static constexpr const char* name = "abandoned";

  uint16_t qp = 0;
  AbandonReason reason = AbandonReason::Finished;
  MessageSeq seq;
  uint32_t first_slot = 0;
  uint32_t slots = 0;  ///< or slots_unknown: to the end of the message

  static void fields(auto& abandoned, auto& wire) {
    wire(abandoned.qp, abandoned.reason, abandoned.seq, abandoned.first_slot, abandoned.slots);
  }
  bool is_valid() const {
    return first_slot < limits::slots_per_message_max &&
           (slots == slots_unknown || slots <= limits::slots_per_message_max - first_slot);
  }
  bool operator==(const Abandoned&) const = default;
};

/// Bytes of one end's policy for the other's. They may be lost.
struct Note {
  static constexpr auto type = RecordType::Note;
  static constexpr const char* name = "note";
  static constexpr uint16_t from_sink = 1;

  uint16_t qp = 0;
  uint16_t policy_epoch = 0;
  uint16_t flags = 0;
  Row<uint8_t> bytes;

  static void fields(auto& note, auto& wire) {
    wire(note.qp, note.policy_epoch, note.flags, zeros<2>, note.bytes);
  }
  bool is_valid() const { return flags <= from_sink && bytes.size() <= limits::note_bytes_max; }
  bool operator==(const Note&) const = default;
};

}  // namespace cw
