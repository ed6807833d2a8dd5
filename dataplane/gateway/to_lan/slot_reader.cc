#include "dataplane/gateway/to_lan/slot_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::gateway {
namespace {

/// Slots that one frame can touch: the longest frame in the shortest slots, each but the last full.
constexpr uint32_t frame_slots_max = (limits::frame_bytes_max + frame_header_bytes) /
                                         (limits::payload_bytes_min - slot_header_bytes) +
                                     2;

}  // namespace

SlotReader::SlotReader(const SlotReaderOptions& options, sdr::Sink sink, SlotRows& rows,
                       FrameTable& frames, Order& order, Drops& drops)
    : options_(options),
      sink_(sink),
      rows_(rows),
      frames_(frames),
      order_(order),
      drops_(drops),
      words_((options.data_slots_max + 63) / 64),
      messages_(new Message[options.messages]()),
      known_(new uint64_t[size_t{options.messages} * words_]()),
      posted_(options.messages) {}

// ---- news ---------------------------------------------------------------------------------------

SlotReader::Message* SlotReader::find(sdr::RecvHandle handle) {
  if (handle.place >= options_.messages) return nullptr;
  Message& message = messages_[handle.place];
  return message.is_posted && message.handle.seq == handle.seq ? &message : nullptr;
}

void SlotReader::read(const sdr::MessageNews& news, Instant now) {
  Message* const message = find(news.handle);
  if (message == nullptr) return;
  view_ = sink_.view(news.handle);
  CW_ASSERT(view_.payload_bytes <= options_.payload_bytes_max);
  clear_row(*message);
  message->row->memory = view_.memory;
  message->row->payload_bytes = view_.payload_bytes;
  const bool is_in_front = front_ < posted_.count() && posted_.at(front_) == news.handle.place;
  settled_end_ = is_in_front ? front_slot_ : 0;
  take_length(*message);
  const uint32_t word_end = std::min(news.word_end, (end_of(*message) + 63) / 64);
  for (uint32_t word = news.word_first; word < word_end; ++word) read_word(*message, word, now);
  for (uint32_t word = news.word_first; word < word_end; ++word) lose_word(*message, word);
  // Its length will not be told: it is as long as it could be.
  if (view_.is_cut) message->slots = end_of(*message);
  advance_front();
}

void SlotReader::take_length(Message& message) {
  if (view_.slots == CW_UNKNOWN || message.said != unknown) return;
  if (message.slots == unknown) message.slots = std::min(view_.slots, options_.data_slots_max);
  message.said = view_.frames;
}

/// Bits beyond the end of a message mean nothing.
uint64_t SlotReader::within(const Message& message, uint32_t word, uint64_t bits) const {
  const uint32_t left = end_of(message) - word * 64;
  return left < 64 ? bits & ((uint64_t{1} << left) - 1) : bits;
}

inline void SlotReader::read_word(Message& message, uint32_t word, Instant now) {
  uint64_t& known = known_of(message)[word];
  uint64_t news = within(message, word, view_.placed[word] & ~known);
  known |= news;
  for (; news != 0; news &= news - 1) {
    read_slot(message, word * 64 + static_cast<uint32_t>(std::countr_zero(news)), now);
  }
}

inline void SlotReader::lose_word(Message& message, uint32_t word) {
  uint64_t& known = known_of(message)[word];
  uint64_t news = within(message, word, view_.gone[word] & ~known);
  known |= news;
  for (; news != 0; news &= news - 1) {
    lose_slot(message, word * 64 + static_cast<uint32_t>(std::countr_zero(news)));
  }
}

void SlotReader::reset() {
  for (uint32_t place = 0; place < options_.messages; ++place) messages_[place].is_posted = false;
  is_void_ = true;
  front_ = 0;
  front_slot_ = 0;
  stalled_since_ = Instant::never();
}

// What lies behind the bytes that came is of another message [C-45] [C-46].
DropReason SlotReader::misfit(const std::optional<SlotHeader>& header, uint32_t came) {
  if (came < slot_header_bytes) return DropReason::slot_short;
  if (!header) return DropReason::slot_header;
  if (header->used_bytes > came - slot_header_bytes) return DropReason::slot_short;
  return DropReason::slot_message;
}

// ---- slots --------------------------------------------------------------------------------------

inline void SlotReader::read_slot(Message& message, uint32_t index, Instant now) {
  const uint8_t* const bytes = view_.memory + size_t{index} * view_.payload_bytes;
  const auto header = parse_slot_header({bytes, view_.payload_bytes});
  const uint32_t came = view_.bytes(index);
  const bool is_right =
      header && header->seq == message.handle.seq && slot_header_bytes + header->used_bytes <= came;
  if (!is_right) {
    drops_.add(misfit(header, came));
    return lose_slot(message, index);
  }
  Slot& slot = slot_of(message, index);
  slot.state = Slot::State::Present;
  slot.used = header->used_bytes;
  slot.first = header->first_frame;
  if (slot.waiting.start.slot != Slot::no_slot) resume(message, index, now);
  if (slot.first != no_frame_start) read_frames(message, index, now);
}

// The frame that waited for a slot. Most end in it, right before the next.
inline void SlotReader::resume(Message& message, uint32_t index, Instant now) {
  --message.tails;
  const Slot& slot = slot_of(message, index);
  static_assert(no_frame_start + 1 > UINT16_MAX, "then nothing fits");
  if (slot.waiting.got + slot.first == slot.waiting.need) {
    return emit(message, slot.waiting.start, now);
  }
  follow(message, slot.waiting, index, now);
}

void SlotReader::lose_slot(Message& message, uint32_t index) {
  Slot& slot = slot_of(message, index);
  slot.state = Slot::State::Gone;
  if (slot.waiting.start.slot == Slot::no_slot) return;
  --message.tails;
  drops_.add(DropReason::frame_partial);
}

// The frames that begin in a slot.
inline void SlotReader::read_frames(Message& message, uint32_t index, Instant now) {
  const Slot& slot = slot_of(message, index);
  Spot at{index, slot.first};
  while (at.offset < slot.used) {
    const auto left = static_cast<uint16_t>(slot.used - at.offset);
    if (left < frame_header_bytes) return follow(message, {at, left}, index + 1, now);
    const uint16_t need = bytes_needed_by(message, at);
    if (need == 0) return drops_.add(DropReason::frame_header);  // [C-48]
    if (need > left) return begin_tail(message, {at, left, need}, now);
    emit(message, at, now);
    at.offset = static_cast<uint16_t>(at.offset + need);
  }
}

// Behind the slot of a tail comes mostly one that has not arrived.
inline void SlotReader::begin_tail(Message& message, const Tail& tail, Instant now) {
  const uint32_t next = tail.start.slot + 1;
  if (next < end_of(message) && slot_of(message, next).state == Slot::State::Awaited) {
    // If it has, it is read next: its header, and that of the frame behind this one.
    const auto offset = static_cast<uint16_t>(tail.need - tail.got);
    __builtin_prefetch(message.row->bytes_at({next, 0}) - slot_header_bytes);
    __builtin_prefetch(message.row->bytes_at({next, offset}));
    return await(message, slot_of(message, next), tail);
  }
  follow(message, tail, next, now);
}

// Field by field, as they are read: as a whole they would be read wider than they were written.
inline void SlotReader::await(Message& message, Slot& slot, const Tail& tail) {
  slot.waiting.start.slot = tail.start.slot;
  slot.waiting.start.offset = tail.start.offset;
  slot.waiting.got = tail.got;
  slot.waiting.need = tail.need;
  ++message.tails;
}

// Walks on with a frame that is not whole, from slot `index` on, until it is whole, impossible, or
// waits for a slot.
void SlotReader::follow(Message& message, Tail tail, uint32_t index, Instant now) {
  for (;; ++index) {
    if (index >= end_of(message)) return drops_.add(DropReason::frame_cut);  // [C-47]
    if (index - tail.start.slot >= frame_slots_max) return drops_.add(DropReason::frame_tail);
    Slot& slot = slot_of(message, index);
    if (slot.state == Slot::State::Gone) return drops_.add(DropReason::frame_partial);
    if (slot.state == Slot::State::Awaited) return await(message, slot, tail);
    DropReason reason;
    if (!try_extend(message, tail, slot, reason)) return drops_.add(reason);
    if (tail.need > 0 && tail.got == tail.need) return emit(message, tail.start, now);
  }
}

// Adds what a slot holds of the tail. Where a frame begins in the slot, the tail must end right
// before it; where none does, the tail takes all that is used.
bool SlotReader::try_extend(const Message& message, Tail& tail, const Slot& slot,
                            DropReason& reason) {
  const bool is_last = slot.first != no_frame_start;
  const uint16_t room = is_last ? slot.first : slot.used;
  const uint32_t got = tail.got + room;
  if (tail.need == 0 && got >= frame_header_bytes) {
    tail.need = bytes_needed_by(message, tail.start);
    if (tail.need == 0) return reason = DropReason::frame_header, false;  // [C-48]
  }
  const bool is_too_long = tail.need > 0 && got > tail.need;
  const bool is_too_short = is_last && (tail.need == 0 || got < tail.need);
  if (is_too_long || is_too_short) return reason = DropReason::frame_tail, false;
  tail.got = static_cast<uint16_t>(got);
  return true;
}

// Of a frame in slots that have been read; nothing when there can be no such frame.
inline std::optional<FrameHeader> SlotReader::header_at(const Message& message, Spot spot) {
  std::array<uint8_t, frame_header_bytes> pieces;
  const uint8_t* at = message.row->bytes_at(spot);
  if (slot_of(message, spot.slot).used - spot.offset < int{frame_header_bytes}) {
    message.row->gather(spot, pieces.data(), pieces.size());
    at = pieces.data();
  }
  return parse_frame_header(std::span<const uint8_t, frame_header_bytes>(at, frame_header_bytes));
}

// Of header and packet together; zero: there is no such frame.
inline uint16_t SlotReader::bytes_needed_by(const Message& message, Spot spot) {
  const auto header = header_at(message, spot);
  return header ? static_cast<uint16_t>(frame_header_bytes + header->bytes) : 0;
}

// Written where it will be read, header and all.
void SlotReader::emit(Message& message, Spot start, Instant now) {
  ++message.whole;
  // What is given up early leaves the table by and by, at the pace of the LAN; so it is early.
  if (frames_.is_short()) order_.give_up_oldest();
  Frame* const place = frames_.try_take(message.handle.place);
  if (place == nullptr) return;
  ParsedFrame& frame = place->parsed;
  const auto header = header_at(message, start);
  CW_ASSERT(header);  // it was sound when it was first read
  frame.header.bytes = header->bytes;
  frame.header.bucket = header->bucket;
  frame.header.bucket_seq = header->bucket_seq;
  frame.header.order = header->order;
  frame.seq = message.handle.seq;
  frame.slot = start.slot;
  put_behind_header(message, start, frame.packet);
  frame.is_marked = view_.is_marked(start.slot);
  frame.is_settled = start.slot < settled_end_;
  order_.take(frames_.index_of(*place), now);
}

inline void SlotReader::put_behind_header(const Message& message, Spot start, Spot& packet) {
  uint32_t slot = start.slot, offset = start.offset + uint32_t{frame_header_bytes};
  for (; offset > slot_of(message, slot).used; ++slot) offset -= slot_of(message, slot).used;
  packet.slot = slot;
  packet.offset = static_cast<uint16_t>(offset);
}

// ---- the front ----------------------------------------------------------------------------------

void SlotReader::advance_front() {
  while (front_ < posted_.count()) {
    Message& message = messages_[posted_.at(front_)];
    const uint64_t* known = known_of(message);
    const uint32_t end = end_of(message);
    uint32_t slot = front_slot_;
    while (slot < end && (known[slot / 64] >> slot % 64 & 1) != 0) {
      const int run = std::countr_one(known[slot / 64] >> slot % 64);
      slot = std::min(end, slot + static_cast<uint32_t>(run));
    }
    const uint32_t first = std::exchange(front_slot_, slot);
    if (slot > first) order_.on_settled(message.handle.place, first, slot);
    if (message.slots == unknown || slot < end) return;
    // What still waits, waits for slots that do not exist [C-47].
    drops_.add(DropReason::frame_cut, std::exchange(message.tails, 0));
    count_given_up(message);
    ++front_;
    front_slot_ = 0;
  }
}

void SlotReader::count_given_up(const Message& message) {
  if (message.said == unknown) {
    ++unheard_;
    return;
  }
  given_up_ += message.said - std::min(message.said, message.whole);
}

// ---- messages -----------------------------------------------------------------------------------

bool SlotReader::on_time(Instant now) {
  bool has_work = false;
  while (!posted_.is_empty() && (is_void_ || front_ > 0)) {
    Message& message = messages_[posted_.front()];
    if (!is_void_ && frames_.lent_of(message.handle.place) > 0) break;
    message.is_posted = false;
    sink_.complete(message.handle, now);  // with the epoch it has been
    rows_.end(message.handle.place);
    posted_.pop();
    if (front_ > 0) --front_;
    has_work = true;
  }
  is_void_ = false;
  has_work |= post_all();
  give_up_stalled(now);
  return has_work;
}

bool SlotReader::post_all() {
  bool has_work = false;
  while (posted_.count() < options_.messages && rows_.has_room()) {
    const auto handle = sink_.try_post();
    if (!handle) break;
    CW_ASSERT(handle->place < options_.messages && !messages_[handle->place].is_posted);
    Message& message = messages_[handle->place];
    SlotRow& row = rows_.begin(handle->place);
    message = {.handle = *handle, .row = &row, .read = row.slots, .is_posted = true};
    std::fill_n(known_of(message), words_, 0);
    CW_ASSERT(posted_.try_push(handle->place));
    has_work = true;
  }
  return has_work;
}

// The sender has closed all messages that it may open, and the oldest has holes: memory for more is
// free when these are.
void SlotReader::give_up_stalled(Instant now) {
  const bool is_stalled = !posted_.is_empty() && front_ == 0 &&
                          messages_[posted_.at(posted_.count() - 1)].slots != unknown;
  if (!is_stalled) {
    stalled_since_ = Instant::never();
    return;
  }
  stalled_since_ = std::min(stalled_since_, now);
  if (now - stalled_since_ < options_.stall) return;
  stalled_since_ = Instant::never();
  Message& message = messages_[posted_.front()];
  // A length that was never heard is not waited for either.
  if (message.slots == unknown) message.slots = options_.data_slots_max;
  clear_row(message);
  for (uint32_t slot = front_slot_; slot < message.slots; ++slot) {
    uint64_t& known = known_of(message)[slot / 64];
    const uint64_t bit = uint64_t{1} << slot % 64;
    if ((known & bit) != 0) continue;
    known |= bit;
    lose_slot(message, slot);
    ++stalled_slots_;
  }
  advance_front();
}

Instant SlotReader::next_due() const {
  const bool is_any_done = is_void_ || (front_ > 0 && frames_.lent_of(posted_.front()) == 0);
  if (is_any_done) return Instant();
  return stalled_since_ == Instant::never() ? stalled_since_ : stalled_since_ + options_.stall;
}

void SlotReader::rebase(Duration shift) {
  if (stalled_since_ != Instant::never()) stalled_since_ += shift;
}

}  // namespace cw::gateway
