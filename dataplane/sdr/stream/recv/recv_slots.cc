// The hot half of a receiving stream: a packet is checked, claimed, copied and placed, and what a
// burst has changed is told to the policy, once per message.
#include <algorithm>
#include <bit>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "offload/ones.h"

namespace cw::sdr {
// A packet's way is one function to the machine: what it is cut into for the reader is `inline`.
// Reasons go by reference: an optional one is written in two parts and read as a whole, and that
// waits for every store before it, the payload of the last packet included.

/// The address names one message of all: where ids have come round, it is that of another [C-56].
inline bool RecvStream::is_misplaced(const SlotArrival& arrival, uint32_t key, uint64_t expected,
                                     uint64_t window_bytes, DropReason& reason) const {
  const bool is_placed = placing_.has_begun();  // where key and address said, and neither is told
  reason = DropReason::key_stale;
  if (!is_placed && arrival.slot.key != key) return true;
  reason = DropReason::window_misaligned;
  if (arrival.slot.payload_bytes > config_.payload_bytes) return true;
  if (is_placed || arrival.slot.address == expected) return false;
  const auto apart = static_cast<int64_t>(expected - arrival.slot.address);
  const auto round_bytes = static_cast<int64_t>(config_.messages * window_bytes);
  if (apart % round_bytes == 0) reason = DropReason::generation_late;
  return true;
}

inline bool RecvStream::is_misfit(const SlotArrival& arrival, const ImmediateSplit::Parts& parts,
                                  DropReason& reason) const {
  reason = DropReason::slot_range;
  if (parts.id >= config_.messages || parts.slot >= config_.data_slots_max) return true;
  const Message& message = messages_[parts.id];
  const uint64_t offset = uint64_t{parts.slot} * config_.payload_bytes;
  const uint64_t expected = address_.data_at(message.seq, offset);
  // A late packet is judged by its life first: it may well not fit today's buffer.
  if (is_misplaced(arrival, address_.data_key, expected, address_.data_window_bytes, reason)) {
    return true;
  }
  reason = DropReason::message_not_open;
  if (!message.is_posted || message.is_lost) return true;
  reason = DropReason::slot_range;
  return offset + arrival.slot.payload_bytes > message.memory_bytes;
}

bool RecvStream::is_repair_misfit(const SlotArrival& arrival, const ImmediateSplit::Parts& parts,
                                  DropReason& reason) const {
  const uint32_t slot = parts.slot - config_.data_slots_max;
  reason = DropReason::slot_range;
  if (parts.id >= config_.messages || slot >= config_.repair_slots_max) return true;
  const Message& message = messages_[parts.id];
  const uint64_t expected = address_.repair_at(message.seq, uint64_t{slot} * config_.payload_bytes);
  if (is_misplaced(arrival, address_.repair_key, expected, address_.repair_window_bytes, reason)) {
    return true;
  }
  reason = DropReason::message_not_open;
  return !message.is_posted || message.is_lost;
}

static void note_duplicates(RecvMessage& message, RecvTally& tally, uint32_t count) {
  message.duplicates += count;
  tally.duplicates += count;
}

bool RecvStream::on_slot(const SlotArrival& arrival) {
  if (!placing_.is_landing()) return put(arrival), true;
  Arrival landed;
  if (!try_open_landed(arrival, landed)) return false;
  put({.slot = landed.head,
       .parts = arrival.parts,
       .payload = landed.payload,
       .channel = arrival.channel,
       .path = arrival.path,
       .generation = arrival.generation,
       .is_marked = arrival.is_marked});
  return true;
}

inline void RecvStream::put(const SlotArrival& arrival) {
  const ImmediateSplit::Parts& parts = arrival.parts;
  if (parts.slot >= config_.data_slots_max) return on_repair(arrival);
  DropReason reason;
  if (is_misfit(arrival, parts, reason)) return drops_.add(reason);
  Message& message = messages_[parts.id];
  if (stage_ != nullptr) return on_placed(arrival, message);
  reason = DropReason::generation_late;
  const bool is_new =
      is_of_its_life(message, arrival) &&
      try_put(message, parts.slot, arrival.payload, arrival.slot.payload_bytes, reason);
  if (!is_new) {
    drops_.add(reason);
    if (reason != DropReason::packet_duplicate) return;
    note_duplicates(message, tally_, 1);
  }
  touch_slot(message, parts.slot);
  message.path = arrival.path;
  if (is_new && is_read_along()) note_arrival(arrival);
  if (arrival.slot.is_solicited) take_fragment(message, parts.slot, parts.user);
}

// Into memory of the stream's own, never the application's [C-55].
void RecvStream::on_repair(const SlotArrival& arrival) {
  const ImmediateSplit::Parts& parts = arrival.parts;
  DropReason reason;
  if (is_repair_misfit(arrival, parts, reason)) return drops_.add(reason);
  Message& message = messages_[parts.id];
  if (!is_of_its_life(message, arrival)) return drops_.add(DropReason::generation_late);
  const uint32_t slot = parts.slot - config_.data_slots_max;
  if (!map_.try_claim_repair(parts.id, slot)) {
    note_duplicates(message, tally_, 1);
    return drops_.add(DropReason::packet_duplicate);
  }
  const uint32_t bytes = arrival.slot.payload_bytes;
  uint8_t* const to = repairs_.at(parts.id, slot);
  std::memcpy(to, arrival.payload ? arrival.payload : placing_.repair(parts.id, slot), bytes);
  std::memset(to + bytes, 0, config_.shard_bytes() - bytes);
  touch(message);
  message.path = arrival.path;
  message.repair_word_first = std::min(message.repair_word_first, slot / 64);
  message.repair_word_end = std::max(message.repair_word_end, slot / 64 + 1);
  if (arrival.slot.is_solicited) take_fragment(message, parts.slot, parts.user);
}

inline void RecvStream::note_arrival(const SlotArrival& arrival) {
  const uint32_t slot = arrival.parts.slot;
  const size_t word = word_of(arrival.parts.id, slot);
  if (arrival.is_marked) marked_[word] |= uint64_t{1} << slot % 64;
  const uint32_t short_by = config_.payload_bytes - arrival.slot.payload_bytes;
  if (short_by > 0) short_by_[word * 64 + slot % 64] = static_cast<uint16_t>(short_by);
}

// Slots come in order mostly, and memory that a program posted may be cold: a copy into it would
// wait for every line.
inline void RecvStream::prefetch(const Message& message, uint64_t offset) const {
  constexpr uint64_t line_bytes = 64;
  const uint64_t end = std::min(offset + config_.payload_bytes, message.memory_bytes);
  for (uint64_t at = offset; at < end; at += line_bytes) {
    __builtin_prefetch(message.memory + at, /*rw=*/1, /*locality=*/2);
  }
}

inline void RecvStream::copy_slot(const Message& message, const uint8_t* payload, uint32_t bytes,
                                  uint32_t slot) const {
  const uint64_t offset = uint64_t{slot} * config_.payload_bytes;
  if (bytes > 0) std::memcpy(message.memory + offset, payload, bytes);
  prefetch(message, offset + 2 * config_.payload_bytes);
  fill_up(message, bytes, slot);
}

/// A code counts a short slot as filled up with zeros.
inline void RecvStream::fill_up(const Message& message, uint32_t bytes, uint32_t slot) const {
  if (config_.rows == 0) return;
  const uint64_t offset = uint64_t{slot} * config_.payload_bytes;
  const uint64_t end = std::min(offset + config_.payload_bytes, message.memory_bytes);
  std::memset(message.memory + offset + bytes, 0, end - offset - bytes);
}

// Claim, copy, count: the bit is set once, by whoever copies.
inline bool RecvStream::try_put(Message& message, uint32_t slot, const uint8_t* payload,
                                uint32_t bytes, DropReason& reason) {
  const uint32_t place = place_of(message);
  if (slot >= map_.data_end(place)) return reason = DropReason::slot_range, false;
  if (!map_.try_claim(place, slot)) return reason = DropReason::packet_duplicate, false;
  if (message.memory == nullptr) {
    message.memory = buffers_->take();
    message.is_lent = true;
  }
  copy_slot(message, payload, bytes, slot);
  if (map_.count(place, slot)) counters_.add(Counter::chunks_completed);
  ++message.in_place;
  tally_.behind += slot < message.highest;
  message.highest = std::max(message.highest, slot + 1);
  return true;
}

inline void RecvStream::touch(Message& message) {
  if (message.is_touched) return;
  message.is_touched = message.is_stained = true;
  message.word_first = message.repair_word_first = UINT32_MAX;
  message.word_end = message.repair_word_end = 0;
  if (!message.is_queued) CW_ASSERT(touched_.try_push(place_of(message)));
  message.is_queued = true;
}

inline void RecvStream::touch_slot(Message& message, uint32_t slot) {
  touch(message);
  message.word_first = std::min(message.word_first, slot / 64);
  message.word_end = std::max(message.word_end, slot / 64 + 1);
}

/// All that is in place is told once more.
void RecvStream::touch_all(Message& message) {
  touch(message);
  message.word_first = message.repair_word_first = 0;
  message.word_end = (message.highest + 63) / 64;
  message.repair_word_end = (config_.repair_slots_max + 63) / 64;
}

/// What a code has made of others: as if it had arrived, unless it has.
void RecvStream::put_rebuilt(Message& message, uint32_t slot, const uint8_t* bytes) {
  const uint64_t offset = uint64_t{slot} * config_.payload_bytes;
  if (offset >= message.memory_bytes) return;
  const auto count = static_cast<uint32_t>(
      std::min<uint64_t>(config_.payload_bytes, message.memory_bytes - offset));
  const bool is_behind = slot < message.highest;
  DropReason reason;
  if (!try_put(message, slot, bytes, count, reason)) return;
  counters_.add(Counter::slots_rebuilt);
  ++tally_.rebuilt;
  tally_.behind -= is_behind;
  touch_slot(message, slot);
}

void RecvStream::take_fragment(Message& message, uint32_t slot, uint32_t bits) {
  if (config_.split.user_bits() == 0) return;
  message.has_immediate = true;
  if (message.is_closed) return;
  message.immediate = config_.split.with_fragment(message.immediate, slot, bits);
  message.fragment_mask |= 1u << config_.split.fragment_index(slot);
}

// ---- what the stage makes of it ----

// All that bits do not say is taken from the packet here; the rest is known when they come.
void RecvStream::on_placed(const SlotArrival& arrival, Message& message) {
  const ImmediateSplit::Parts& parts = arrival.parts;
  if (!is_of_its_life(message, arrival)) return drops_.add(DropReason::generation_late);
  if (parts.slot >= map_.data_end(parts.id)) return drops_.add(DropReason::slot_range);
  const uint32_t bytes = arrival.slot.payload_bytes;
  const bool is_first = !map_.has(parts.id, parts.slot);  // as far as bits have come
  if (is_first) fill_up(message, bytes, parts.slot);
  if (is_first && is_read_along()) {
    note_arrival(arrival);
    message.is_stained = true;
  }
  message.path = arrival.path;
  if (arrival.slot.is_solicited) take_fragment(message, parts.slot, parts.user);
  stage_->put(stage_stream_, arrival.channel, arrival.generation, arrival.slot.immediate);
}

bool RecvStream::on_bits(std::span<const cw_bits_event> events) {
  bool can_be = true;
  for (const cw_bits_event& event : events) can_be &= take_event(event);
  return can_be;
}

/// False: no packet that was put can have made it.
bool RecvStream::take_event(const cw_bits_event& event) {
  const ImmediateSplit::Parts parts = config_.split.unpack(event.about.immediate);
  if (parts.id >= config_.messages) return false;
  Message& message = messages_[parts.id];
  if (!message.is_posted || message.is_lost) {
    const bool is_bits = event.about.kind == CW_BITS_PLACED;
    drops_.add(DropReason::message_not_open, is_bits ? ones(event.bits) : 1);
    return true;
  }
  if (event.about.generation != config_.generation_of(message.seq)) return false;
  if (event.about.kind == CW_BITS_PLACED) return take_bits(message, parts.slot, event.bits);
  if (event.about.kind != CW_BITS_DUPLICATE || parts.slot >= config_.data_slots_max) return false;
  if (stage_->is_rerunning()) return true;
  drops_.add(DropReason::packet_duplicate);
  note_duplicates(message, tally_, 1);
  touch_slot(message, parts.slot);
  return true;
}

/// Of the slots that `bits` stand for, from `first_slot` on, those below `end`.
static uint32_t count_below(uint64_t bits, uint32_t first_slot, uint32_t end) {
  const uint32_t below = end - std::min(end, first_slot);
  return ones(below < 64 ? bits & ((uint64_t{1} << below) - 1) : bits);
}

bool RecvStream::take_bits(Message& message, uint32_t first_slot, uint64_t bits) {
  const uint32_t place = place_of(message);
  const uint32_t armed = map_.armed(place);
  if (bits == 0 || first_slot % 64 != 0 || first_slot >= armed) return false;
  if (armed - first_slot < 64 && bits >> (armed - first_slot) != 0) return false;
  // What was put before the length was known may lie beyond it.
  const uint32_t end = map_.data_end(place);
  const uint32_t within = end - std::min(end, first_slot);
  const uint64_t wanted = within < 64 ? bits & ((uint64_t{1} << within) - 1) : bits;
  if (wanted != bits) drops_.add(DropReason::slot_range, ones(bits ^ wanted));
  if (wanted == 0) return true;
  const SlotMap::Merged merged = map_.merge(place, first_slot / 64, wanted);
  const uint32_t again = ones(wanted) - merged.slots;
  if (again > 0 && !stage_->is_rerunning()) {
    drops_.add(DropReason::packet_duplicate, again);
    note_duplicates(message, tally_, again);
  }
  counters_.add(Counter::chunks_completed, merged.chunks);
  message.in_place += merged.slots;
  tally_.behind += std::min(merged.slots, count_below(wanted, first_slot, message.highest));
  const uint32_t top = first_slot + 64 - static_cast<uint32_t>(std::countl_zero(wanted));
  message.highest = std::max(message.highest, top);
  touch_slot(message, first_slot);
  return true;
}

// ---- what the policy is told ----

// In the order of sequences: whoever hears of a message knows that those before it were opened too,
// even if every packet of theirs was lost so far.
void RecvStream::open(const Message& message, Instant now) {
  if (message.is_opened) return;
  for (MessageSeq seq = retired_seq_; !seq.is_after(message.seq); ++seq) {
    Message* each = find_live(seq);
    if (each == nullptr || each->is_opened) continue;
    promises_.on_begun(now, rtt_);
    tell_opened(*each, now);
  }
}

void* RecvStream::state_of(const Message& message) {
  return seat_->of(message.seq).state_of(place_of(message));
}

void RecvStream::tell_opened(Message& message, Instant now) {
  message.is_opened = message.is_stained = true;
  ++open_count_;
  make_clear_due(now + rtt_ / 4);
  PolicyHost& host = seat_->of(message.seq);
  host.zero_state(place_of(message));
  cw_fact_opened fact{};
  fact.message = message.seq.value();
  fact.state = state_of(message);
  fact.slots = message.slots;
  fact.deadline_ns = CW_NEVER_NS;
  host.opened(fact, now);
}

void RecvStream::flush_facts(Instant now) {
  while (!touched_.is_empty()) {
    const uint32_t place = touched_.pop();
    Message& message = messages_[place];
    message.is_queued = false;
    if (!message.is_touched) continue;
    message.is_touched = false;
    open(message, now);
    tell_arrived(message, now);
    finish_if_over(message);
    message.duplicates = 0;
    if (message.word_end > 0) note_news(message, message.word_first, message.word_end);
  }
  seat_->settle(now);
}

void RecvStream::tell_arrived(Message& message, Instant now) {
  advance_first_missing(message);
  const uint32_t place = place_of(message);
  cw_fact_arrived fact{};
  fact.message = message.seq.value();
  if (message.word_end > 0) {
    fact.word_first = message.word_first;
    fact.word_count = message.word_end - message.word_first;
  }
  if (message.repair_word_end > 0) {
    fact.repair_word_first = static_cast<uint16_t>(message.repair_word_first);
    fact.repair_word_count =
        static_cast<uint16_t>(message.repair_word_end - message.repair_word_first);
  }
  fact.first_missing = message.first_missing;
  fact.highest = message.highest;
  fact.slots = message.slots;
  fact.duplicates = static_cast<uint16_t>(std::min<uint32_t>(message.duplicates, UINT16_MAX));
  fact.path = message.path;
  fact.data = map_.data_words(place);
  if (shape_of(message).is_coded()) fact.repair = map_.repair_words(place);
  fact.state = state_of(message);
  seat_->of(message.seq).arrived(fact, now);
}

void RecvStream::advance_first_missing(Message& message) const {
  const uint64_t* words = map_.data_words(place_of(message));
  while (message.first_missing < message.highest) {
    const uint32_t bit = message.first_missing % 64;
    const uint64_t present = words[message.first_missing / 64] >> bit;
    const auto run = static_cast<uint32_t>(std::countr_one(present));
    message.first_missing += std::min(run, 64 - bit);
    if (bit + run < 64) return;
  }
}

void RecvStream::finish_if_over(Message& message) {
  if (!message.is_closed || message.status != MessageStatus::Open) return;
  if (message.in_place >= message.slots) {
    end_with(message, MessageStatus::Done);
    counters_.add(Counter::messages_received);
  } else if (message.abandoned_end > 0 && !is_missing_from(message, message.abandoned_end)) {
    end_with(message, MessageStatus::GivenUp);
  }
}

/// The first to be said stands.
void RecvStream::end_with(Message& message, MessageStatus status) {
  if (message.status != MessageStatus::Open) return;
  message.status = status;
  ++over_count_;
}

/// Whether a slot at or beyond `slot` is not in place. The length must be known.
bool RecvStream::is_missing_from(const Message& message, uint32_t slot) const {
  const uint64_t* words = map_.data_words(place_of(message));
  for (; slot < message.slots; slot = slot / 64 * 64 + 64) {
    const uint64_t absent = ~words[slot / 64] >> slot % 64;
    if (absent != 0 && slot + static_cast<uint32_t>(std::countr_zero(absent)) < message.slots) {
      return true;
    }
  }
  return false;
}

}  // namespace cw::sdr
