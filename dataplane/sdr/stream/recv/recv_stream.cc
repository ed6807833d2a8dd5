#include "dataplane/sdr/stream/recv/recv_stream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/repeat_after.h"

namespace cw::sdr {
namespace {

constexpr size_t codes_capacity = 128;
/// In one clear-to-send, of messages that have not begun, and what that takes without them.
constexpr size_t placements_said_max = 16, clear_bytes = 24;

}  // namespace

RecvStream::RecvStream(const StreamConfig& config, std::unique_ptr<Seat> seat, CodeDesk& desk,
                       TableMemory& tables, Counters& counters, Drops& drops)
    : config_(config),
      tables_(tables),
      seat_(std::move(seat)),
      desk_(desk),
      counters_(counters),
      drops_(drops),
      messages_(config.messages, &lasting_),
      map_({.ids = config.messages,
            .data_slots_max = config.data_slots_max,
            .repair_slots_max = config.repair_slots_max,
            .chunk_slots = config.chunk_slots},
           &lasting_),
      touched_(config.messages),
      news_(config.messages),
      blocks_(config.messages, config.blocks_max(), tables),
      repairs_(config, tables),
      placing_(config_),
      codes_(codes_capacity, tables),
      notes_(notes_for(config), tables) {
  seat_->set_actions(this);
  begin_sequences();
}

// ---- the application ----

std::optional<RecvHandle> RecvStream::try_post(std::span<uint8_t> memory) {
  wake_();
  Message* const message = try_take_place();
  if (message == nullptr) return std::nullopt;
  message->memory = memory.data();
  message->memory_bytes = memory.size();
  return post(*message);
}

/// The next place, forgetting what was in it; null while it is in use, or may still be spoken of.
RecvStream::Message* RecvStream::try_take_place() {
  Message& message = messages_[config_.place_of(next_seq_)];
  if (message.is_posted) return nullptr;
  if (stage_ != nullptr && !stage_->is_quiet(stage_stream_, place_of(message))) return nullptr;
  if (std::exchange(message.is_stained, false)) forget_rows(message);
  message = message.emptied();
  return &message;
}

bool RecvStream::is_at_rest() const {
  return open_count_ == 0 && touched_.is_empty() && notes_.is_empty() && codes_.is_empty();
}

RecvHandle RecvStream::post(Message& message) {
  message.seq = next_seq_;
  message.is_posted = true;
  if (placing_.has_begun()) open_windows(message);
  arm(message);
  if (stage_ != nullptr) {
    stage_->arm(stage_stream_, place_of(message), config_.generation_of(message.seq));
  }
  ++next_seq_;
  ++posted_count_;
  make_clear_due(Instant());
  return handle_of(message);
}

RecvInfo RecvStream::info(RecvHandle handle) const {
  const Message* message = find(handle);
  if (message == nullptr) return {.status = MessageStatus::PeerLost};
  RecvInfo info{.status = message->status, .slots_in_place = message->in_place};
  if (message->is_closed) {
    info.bytes = message->bytes;
    info.has_immediate = message->has_immediate;
  }
  return info;
}

std::span<const uint8_t> RecvStream::chunk_bitmap(RecvHandle handle) const {
  const Message* message = find(handle);
  if (message == nullptr) return {};
  const uint64_t chunk_bytes = uint64_t{config_.chunk_slots} * config_.payload_bytes;
  const uint64_t chunks = (message->memory_bytes + chunk_bytes - 1) / chunk_bytes;
  // Words lie least significant byte first on every machine this runs on.
  static_assert(std::endian::native == std::endian::little);
  const uint64_t* words = map_.chunk_words(handle.place);
  return {reinterpret_cast<const uint8_t*>(words), static_cast<size_t>((chunks + 7) / 8)};
}

void RecvStream::slots_of_chunk(RecvHandle handle, uint64_t chunk,
                                std::span<uint64_t> words) const {
  std::ranges::fill(words, 0);
  const uint64_t first = chunk * config_.chunk_slots;
  if (find(handle) == nullptr || first >= config_.data_slots_max) return;
  const uint64_t count =
      std::min<uint64_t>({config_.chunk_slots, words.size() * 64, config_.data_slots_max - first});
  for (uint64_t i = 0; i < count; ++i) {
    const bool is_in = map_.has(handle.place, static_cast<uint32_t>(first + i));
    words[i / 64] |= uint64_t{is_in} << i % 64;
  }
}

std::optional<uint32_t> RecvStream::immediate(RecvHandle handle) const {
  const Message* message = find(handle);
  if (message == nullptr || !message->has_immediate) return std::nullopt;
  const auto all = static_cast<uint32_t>((uint64_t{1} << config_.split.fragment_count()) - 1);
  const bool is_whole = message->is_closed || message->fragment_mask == all;
  return is_whole ? std::optional(message->immediate) : std::nullopt;
}

bool RecvStream::complete(RecvHandle handle, Instant now) {
  wake_();
  Message* message = find(handle);
  if (message == nullptr) return false;
  if (message->is_opened) {
    seat_->of(message->seq).ended(message->seq.value(), handle.place, now);
    --open_count_;
  }
  if (!message->is_lost) tally_.given_up += message->missing();
  if (!message->is_lost) end_life(*message);
  placing_.close(*message);
  give_back_memory(*message);
  if (is_read_along()) promises_.end();
  const MessageSeq seq = message->seq;
  *message = message->emptied();
  message->seq = seq;
  --posted_count_;
  advance_sequences();  // whole or given up, it is retired [C-35]
  make_clear_due(now);
  return true;
}

HeardSlots RecvStream::heard() const {
  HeardSlots slots{.by_code = tally_.rebuilt,
                   .by_resend = tally_.behind,
                   .given_up = tally_.given_up,
                   .needless = tally_.duplicates};
  if (is_at_rest()) return slots;  // idle links have no business in the cache
  for (uint32_t place = 0; place < config_.messages; ++place) {
    const Message& message = messages_[place];
    if (!message.is_posted || message.is_lost) continue;
    slots.open += message.highest - std::min(message.highest, message.in_place);
  }
  return slots;
}

const RecvStream::Message* RecvStream::find(RecvHandle handle) const {
  if (handle.place >= config_.messages) return nullptr;
  const Message& message = messages_[handle.place];
  return message.is_posted && message.seq == handle.seq ? &message : nullptr;
}

RecvStream::Message* RecvStream::find(RecvHandle handle) {
  return const_cast<Message*>(std::as_const(*this).find(handle));
}

RecvStream::Message* RecvStream::find_live(MessageSeq seq) {
  Message& message = messages_[config_.place_of(seq)];
  return message.is_posted && !message.is_lost && message.seq == seq ? &message : nullptr;
}

RecvStream::Message* RecvStream::find_told(uint32_t seq) {
  Message* message = find_live(MessageSeq(seq));
  return message != nullptr && message->is_opened ? message : nullptr;
}

void RecvStream::arm(const Message& message) {
  // A receive of no bytes has no slot; its message is whole when its length is known.
  const uint32_t slots =
      config_.slots_for(std::min(message.memory_bytes, config_.message_bytes_max()));
  map_.arm(place_of(message), slots);
  // Each slot has its place in its own message's memory, so what is granted is there [C-33].
  slot_limit_ += slots;
}

void RecvStream::end_life(const Message& message) {
  map_.clear(place_of(message));
  if (stage_ != nullptr) stage_->close(stage_stream_, place_of(message));
}

// ---- the link ----

void RecvStream::start(uint32_t payload_bytes, Instant now) {
  if (payload_bytes != config_.payload_bytes) {
    // What was posted before the ends met was cut into slots of another size.
    config_.payload_bytes = payload_bytes;
    slot_limit_ = 0;
    for (MessageSeq seq = config_.first_seq; seq.is_before(next_seq_); ++seq) {
      const Message& message = messages_[config_.place_of(seq)];
      if (!message.is_posted || message.seq != seq) continue;
      map_.clear(place_of(message));
      arm(message);
    }
  }
  is_started_ = true;
  make_clear_due(now);
}

void RecvStream::reset(Instant now) {
  if (!is_started_) return;  // what waits for the first epoch has lost nothing
  is_started_ = false;
  for (uint32_t place = 0; place < config_.messages; ++place) {
    Message& message = messages_[place];
    if (!message.is_posted || message.is_lost) continue;
    if (message.is_opened) {
      seat_->of(message.seq).ended(message.seq.value(), place, now);
      --open_count_;
    }
    tally_.given_up += message.missing();
    end_life(message);
    placing_.close(message);
    message.is_lost = true;
    message.is_opened = message.is_touched = false;
    end_with(message, MessageStatus::PeerLost);
  }
  begin_sequences();
  slot_limit_ = 0;
  codes_.drop_all();
  notes_.clear();
  clear_due_ = Instant::never();
  seat_->end_epoch(now);
  if (is_read_along()) end_receives();
}

void RecvStream::begin_sequences() { next_seq_ = retired_seq_ = heard_seq_ = config_.first_seq; }

void RecvStream::on_opened(const Opened& opened, Instant now) {
  Message* message = find_live(opened.seq);
  if (message == nullptr) return make_clear_due(now);
  // The geometry is settled by [pair] keys and the policy, and guessed by nobody [C-37]
  // [C-62].
  const BlockShape& shape = shape_of(*message);
  if (opened.data_slots_max != config_.data_slots_max || opened.rows != shape.rows ||
      opened.k != shape.k || opened.m_cap != shape.m_cap) {
    return drops_.add(DropReason::record_body);
  }
  open(*message, now);
}

void RecvStream::on_closed(const Closed& closed, Instant now) {
  Message* message = find_live(closed.seq);
  // Already complete here: the sender has not heard so yet.
  if (message == nullptr) return make_clear_due(now);
  open(*message, now);
  if (message->is_closed) {
    // The first stands [C-39].
    const bool is_same = closed.slots == message->slots && closed.message_bytes == message->bytes;
    return is_same ? void() : drops_.add(DropReason::record_body);
  }
  // Any slot may be short, but none is empty.
  const bool is_sound =
      uint64_t{closed.slots} * config_.payload_bytes >= closed.message_bytes &&
      closed.slots <= closed.message_bytes && closed.slots >= message->blocks_reach &&
      closed.frames <= closed.message_bytes && closed.slots <= config_.data_slots_max;
  if (!is_sound) return drops_.add(DropReason::record_body);
  message->is_closed = true;
  message->slots = closed.slots;
  message->frames = closed.frames;
  message->bytes = closed.message_bytes;
  message->has_immediate = (closed.flags & Closed::has_immediate) != 0;
  message->immediate = closed.immediate;
  advance_sequences();
  make_clear_due(now);
  const bool is_too_long = closed.message_bytes > message->memory_bytes ||
                           closed.slots > config_.slots_for(message->memory_bytes);
  if (is_too_long || closed.slots < message->highest) {
    // Longer than its receive: what fits is there, and the rest has nowhere to go. Or a slot is in
    // place that it does not have: a stray packet was taken for one of its own, and more may be.
    end_with(*message, MessageStatus::GivenUp);
  } else {
    map_.set_length(place_of(*message), closed.slots);
    finish_if_over(*message);
    seat_->of(message->seq)
        .closed({.message = closed.seq.value(), .slots = closed.slots, .state = state_of(*message)},
                now);
  }
  note_news(*message, UINT32_MAX, 0);
}

void RecvStream::on_abandoned(const Abandoned& abandoned, Instant now) {
  flush_facts(now);  // what has come in this burst has come
  Message* message = find_live(abandoned.seq);
  if (message == nullptr) return make_clear_due(now);
  open(*message, now);
  // A policy may look at every slot it is told of: none may lie beyond the bitmap.
  const uint32_t limit = message->is_closed ? message->slots : config_.data_slots_max;
  const uint64_t said = uint64_t{abandoned.first_slot} + abandoned.slots;
  const auto end = static_cast<uint32_t>(std::min<uint64_t>(said, limit));
  // Holes grow from the front [C-38]; of anything else it is enough to know that it will not be
  // whole.
  const bool is_front = abandoned.first_slot <= message->abandoned_end;
  if (!is_front && message->status != MessageStatus::Open) return;
  const uint32_t first = is_front ? message->abandoned_end : abandoned.first_slot;
  if (is_front) message->abandoned_end = std::max(first, end);
  if (is_front && abandoned.slots != slots_unknown) {
    finish_if_over(*message);
  } else {
    end_with(*message, MessageStatus::GivenUp);
  }
  // A sender that gives all of it up has no length to tell any more.
  const bool is_cut = abandoned.slots == slots_unknown && !message->is_closed &&
                      !std::exchange(message->is_cut, true);
  const uint32_t count = end - std::min(first, end);
  if (count > 0) {
    seat_->of(message->seq)
        .expired({.message = abandoned.seq.value(),
                  .first = first,
                  .count = count,
                  .reserved = 0,
                  .state = state_of(*message)},
                 now);
  }
  if (count > 0) note_gone(*message, first, end);
  if (is_cut) note_news(*message, UINT32_MAX, 0);
}

void RecvStream::on_probe(Instant now) { make_clear_due(now); }

void RecvStream::on_note(const Note& note, Instant now) {
  seat_->numbered(note.policy_epoch)
      ->note({.count = static_cast<uint32_t>(note.bytes.size()),
              .reserved = 0,
              .bytes = note.bytes.data()},
             now);
}

void RecvStream::on_lost(const MissingSlots& slots, uint16_t path, Instant now) {
  const Message& message = messages_[slots.place];
  const bool is_known = slots.first < config_.data_slots_max && message.is_posted &&
                        message.is_opened && message.seq == slots.seq;
  const cw_fact_lost fact{.message = is_known ? slots.seq.value() : CW_UNKNOWN,
                          .first = slots.first,
                          .count = slots.count,
                          .path = path,
                          .stride = static_cast<uint16_t>(slots.stride),
                          .state = is_known ? state_of(message) : nullptr};
  return is_known ? seat_->of(slots.seq).lost(fact, now) : seat_->lost(fact, now);
}

void RecvStream::on_link(const cw_fact_link& fact, Instant now) {
  rtt_ = Duration::from_ns(std::max<int64_t>(fact.rtt_ns, 1));
  const bool is_first = seat_->is_fresh();
  seat_->link(fact, now);
  if (!is_first || !seat_->is_swapping()) return;
  // What was opened beyond its boundary before it began: it has not been told yet.
  for (uint32_t place = 0; place < config_.messages; ++place) {
    Message& message = messages_[place];
    if (!message.is_posted || !message.is_opened || message.is_lost) continue;
    if (&seat_->of(message.seq) == &seat_->current()) tell_again(message, now);
  }
}

// ---- decisions ----

void RecvStream::on_send(const cw_send& send, Instant) {
  // A sink has nothing to send.
  seat_->of(send.message)
      .refuse({.message = send.message,
               .first = send.first,
               .count = send.count,
               .stride = send.stride,
               .decision = CW_DECIDE_SEND,
               .reason = CW_REFUSED_SEAT,
               .reserved = 0,
               .state = nullptr});
}

void RecvStream::on_note(const cw_note& note, std::span<const uint8_t> bytes,
                         uint16_t policy_epoch) {
  if (!notes_.try_push(bytes, note.repeat, policy_epoch)) counters_.add(Counter::notes_refused);
}

void RecvStream::on_release(const cw_release&, Instant) {
  // A sink retains nothing: the memory is the application's.
}

void RecvStream::on_finish(const cw_finish& finish, Instant) {
  Message* message = find_told(finish.message);
  if (message == nullptr || finish.status == CW_FINISH_OK) return;
  end_with(*message, MessageStatus::GivenUp);
}

void RecvStream::on_quarantine(PolicyHost& host, Instant now) {
  counters_.add(Counter::policies_quarantined);
  seat_->on_quarantine(host);
  codes_.drop_if([&](const CodeRequest& each) { return &seat_->of(each.code.message) == &host; });
  for (uint32_t place = 0; place < config_.messages; ++place) {
    Message& message = messages_[place];
    if (!message.is_posted || !message.is_opened || message.is_lost) continue;
    if (&seat_->of(message.seq) == &host) tell_again(message, now);
  }
}

/// No source that keeps to the rules is further than that ahead of what is retired here.
bool RecvStream::may_begin_at(MessageSeq boundary) const {
  const int64_t ahead = retired_seq_.distance_to(boundary);
  return ahead >= 0 && ahead <= int64_t{config_.messages} * 2;
}

bool RecvStream::try_begin_swap(const Swap& swap, Instant now) {
  if (!is_started_) return false;
  PolicyHost& before = seat_->current();
  if (!seat_->try_begin(swap, now)) return false;
  // Nobody who keeps to the rules has opened one beyond the boundary; a stray packet may have. The
  // next hears of it after the link.
  for (uint32_t place = 0; place < config_.messages; ++place) {
    Message& message = messages_[place];
    if (!message.is_posted || !message.is_opened || message.is_lost) continue;
    if (&seat_->of(message.seq) == &before) continue;
    codes_.drop_if(
        [&](const CodeRequest& each) { return each.code.message == message.seq.value(); });
    before.ended(message.seq.value(), place, now);
  }
  advance_sequences();
  return true;
}

/// As if it had just been opened, with all that has come.
void RecvStream::tell_again(Message& message, Instant now) {
  --open_count_;
  tell_opened(message, now);
  for (uint32_t block = 0; block < shape_of(message).blocks; ++block) {
    if (block_of(message, block).slots > 0) tell_block(message, block, now);
  }
  touch_all(message);
}

// ---- credit ----

void RecvStream::advance_sequences() {
  const auto is_complete = [&](MessageSeq seq) {
    const Message& message = messages_[config_.place_of(seq)];
    return !message.is_posted || message.seq != seq;
  };
  while (retired_seq_.is_before(next_seq_) && is_complete(retired_seq_)) ++retired_seq_;
  if (heard_seq_.is_before(retired_seq_)) heard_seq_ = retired_seq_;
  const auto is_heard = [&](MessageSeq seq) {
    const Message& message = messages_[config_.place_of(seq)];
    return is_complete(seq) || (message.is_closed && has_blocks(message));
  };
  while (heard_seq_.is_before(next_seq_) && is_heard(heard_seq_)) ++heard_seq_;
  if (seat_->is_swapping() && !retired_seq_.is_before(seat_->boundary())) seat_->end_swap();
}

bool RecvStream::offer(EnvelopeWriter& writer, Instant now) {
  if (!is_started_ || clear_due_ > now) return true;
  ClearToSend clear;
  clear.qp = config_.qp;
  clear.retired_seq = retired_seq_;
  clear.message_limit = next_seq_;
  clear.heard_seq = heard_seq_;
  clear.slot_limit = slot_limit_;
  if (clear != clear_said_) {
    clear_said_ = clear;
    clear_repeats_ = 0;
  }
  std::array<Placement, placements_said_max> placements;
  if (placing_.has_begun()) {
    const size_t room =
        (writer.body_room() - std::min(writer.body_room(), clear_bytes)) / sizeof(Placement);
    const size_t count =
        take_placements(std::span(placements).first(std::min(room, placements.size())));
    clear.placements = Row<Placement>(placements.data(), count);
  }
  if (!writer.try_add(clear)) return false;
  counters_.add(Counter::clears_sent);
  clear_due_ = open_count_ > 0 ? now + repeat_after(rtt_, clear_repeats_) : Instant::never();
  if (clear_repeats_ < UINT8_MAX) ++clear_repeats_;
  return true;
}

}  // namespace cw::sdr
