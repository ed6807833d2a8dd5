// A coded stream's blocks: where they are cut, and how the policy and the receiver hear of it.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {
namespace {

/// What a BLOCK_CLOSED says again of the blocks before the new ones: it may be the packet lost.
constexpr uint32_t blocks_repeated_each_time = 3;
constexpr size_t entries_max = 32;

ClosedBlock entry_of(uint32_t block, const CodedSet& set) {
  return {.block = be32(block),
          .slot_first = be32(set.slot_first),
          .slots = be32(set.slots),
          .rows = be16(set.rows),
          .k = set.k,
          .m = set.m,
          .codec = static_cast<uint8_t>(set.codec),
          .reserved = {}};
}

}  // namespace

// ---- where they are cut ----

CodedSet& SendStream::block_of(const Message& message, uint32_t block) {
  return blocks_[size_t{place_of(message)} * config_.blocks_max() + block];
}

/// Data slots that the policy knows without a hole, from the front.
uint32_t SendStream::told_front(const Message& message) const {
  uint32_t front = 0;
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const SendExtent& extent : store_.extents(place_of(message))) {
      if (extent.first > front || extent.first + extent.told <= front) continue;
      front = extent.first + extent.told;
      has_grown = true;
    }
  }
  return front;
}

/// Slots that must still find a block, whatever their sizes will be.
uint32_t SendStream::slots_wanted(const Message& message) const {
  if (message.life != Message::Life::Open) return message.slots;
  // Slot by slot one more may be under way to append_slot().
  return store_.is_by_slot() ? message.slots + 1 : config_.data_slots_max;
}

/// Slots that blocks can cover when the open one ends up with `open_slots`. Their number is bounded
/// by the repair slots reserved for them.
uint64_t SendStream::slots_covered(const Message& message, uint32_t open_slots) const {
  const BlockShape& shape = shape_of(message);
  const uint64_t behind = shape.blocks - message.blocks - 1;
  return message.block_first + uint64_t{open_slots} + behind * shape.slots();
}

uint64_t SendStream::slots_covered(const Message& message) const {
  const BlockShape& shape = shape_of(message);
  if (message.blocks == shape.blocks) return message.block_first;
  const uint32_t open_slots =
      message.has_open_block ? uint32_t{message.layout.rows} * message.layout.k : shape.slots();
  return slots_covered(message, open_slots);
}

uint32_t SendStream::slots_max(SendHandle handle) const {
  const Message* message = find(handle);
  if (message == nullptr) return config_.data_slots_max;
  // Its policy is to go: no more than what is there.
  if (&seat_->of(message->seq) != &seat_->current()) return message->slots;
  const BlockShape& shape = shape_of(*message);
  if (!shape.is_coded()) return config_.data_slots_max;
  // The last number is kept for what is left when the one before is closed early.
  const uint64_t covered = slots_covered(*message);
  const uint64_t spare = shape.blocks > 1 ? shape.slots() : 0;
  const uint64_t slots =
      std::max<uint64_t>(message->block_first, covered - std::min(covered, spare));
  return static_cast<uint32_t>(std::min<uint64_t>(config_.data_slots_max, slots));
}

void SendStream::cut_blocks(Message& message, bool is_end, Instant now) {
  if (!shape_of(message).is_coded()) return;
  const uint32_t front = told_front(message);
  while (front > message.block_first) {
    if (!message.has_open_block) open_block(message, now);
    const uint32_t full = uint32_t{message.layout.rows} * message.layout.k;
    const uint32_t slots = std::min(front - message.block_first, full);
    if (slots < full && !is_end) break;
    close_block(message, slots, now);
  }
  tell_blocks(message, front, now);
}

void SendStream::open_block(Message& message, Instant now) {
  CW_ASSERT(message.blocks < shape_of(message).blocks);
  const PolicyHost& host = seat_->of(message.seq);
  const cw_layout& layout = host.layout();
  const bool lasts =
      slots_covered(message, uint32_t{layout.rows} * layout.k) >= slots_wanted(message);
  message.layout = lasts ? layout : host.first_layout();
  message.has_open_block = true;
  message.block_opened = now;
  if (block_age_ < Duration::max()) blocks_due_ = std::min(blocks_due_, now + block_age_);
}

// Rows shrink first: as many chunks as before keep the losses of one burst apart.
void SendStream::close_block(Message& message, uint32_t slots, Instant now) {
  const cw_layout& layout = message.layout;
  const uint32_t rows = (slots + layout.k - 1) / layout.k;
  block_of(message, message.blocks) = {.slot_first = message.block_first,
                                       .slots = slots,
                                       .repair_first = message.blocks * shape_of(message).m_cap,
                                       .rows = static_cast<uint16_t>(rows),
                                       .k = static_cast<uint8_t>((slots + rows - 1) / rows),
                                       .m = layout.m,
                                       .codec = layout.codec};
  ++message.blocks;
  message.block_first += slots;
  message.has_open_block = false;
  schedule_state(message, now);
}

void SendStream::tell_blocks(Message& message, uint32_t front, Instant now) {
  while (message.blocks_told < message.blocks) {
    const uint32_t block = message.blocks_told;
    const CodedSet& set = block_of(message, block);
    if (set.slots_end() > front) return;
    ++message.blocks_told;
    seat_->of(message.seq)
        .block_closed(set.closed(message.seq.value(), block, state_of(message)), now);
  }
}

// ---- by age ----

void SendStream::set_block_age(Duration age) {
  wake_();
  block_age_ = age;
  blocks_due_ = config_.rows != 0 && age < Duration::max() ? Instant() : Instant::never();
}

void SendStream::close_old_blocks(Instant now) {
  blocks_due_ = Instant::never();
  for (MessageSeq seq = retired_seq_; seq.is_before(told_seq_); ++seq) {
    Message& message = messages_[config_.place_of(seq)];
    if (message.seq != seq || message.is_retired || !message.has_open_block) continue;
    if (message.status != MessageStatus::Open) continue;
    const Instant due = message.block_opened + block_age_;
    if (due > now) {
      blocks_due_ = std::min(blocks_due_, due);
      continue;
    }
    const uint32_t front = told_front(message);
    const uint32_t slots = front - message.block_first;
    // After a quarantine the new policy does not know them yet. And where numbers run short, as in
    // a message whose every slot is there already, a block must wait until it is full.
    const bool is_known = front > message.block_first;
    if (!is_known || slots_covered(message, slots) < slots_wanted(message)) continue;
    close_block(message, slots, now);
    tell_blocks(message, front, now);
  }
}

// ---- what the receiver is told ----

// Entries that are new, with some before them; all of them every quarter of an RTT at first, like
// the state they leave with [C-36]: until an entry arrives its block cannot be rebuilt, and what
// its loss costs is this interval.
bool SendStream::try_write_blocks(Message& message, EnvelopeWriter& writer, Instant now) {
  if (message.blocks == 0) return true;
  const bool has_news = message.blocks_said < message.blocks;
  const bool is_round = message.blocks_said == 0 || now - message.blocks_repeated >= rtt_ / 4;
  if (!has_news && !is_round) return true;
  if (is_round) message.blocks_repeated = now;
  uint32_t block =
      is_round ? 0 : message.blocks_said - std::min(message.blocks_said, blocks_repeated_each_time);
  constexpr size_t header_bytes = 8;
  while (block < message.blocks) {
    const size_t room = writer.body_room();
    const size_t fits = room < header_bytes ? 0 : (room - header_bytes) / sizeof(ClosedBlock);
    const auto count =
        static_cast<uint32_t>(std::min({fits, entries_max, size_t{message.blocks - block}}));
    message.blocks_said = block;
    if (count == 0) return false;
    std::array<ClosedBlock, entries_max> entries;
    for (uint32_t i = 0; i < count; ++i) {
      entries[i] = entry_of(block + i, block_of(message, block + i));
    }
    BlockClosed record;
    record.qp = config_.qp;
    record.seq = message.seq;
    record.blocks = Row<ClosedBlock>(entries.data(), count);
    CW_ASSERT(writer.try_add(record));
    block += count;
  }
  message.blocks_said = message.blocks;
  return true;
}

}  // namespace cw::sdr
