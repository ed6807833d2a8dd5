#include <algorithm>
#include <array>

#include "dataplane/base/assert.h"
#include "dataplane/message/messages.h"

namespace cw::group {
namespace {

constexpr uint32_t word_bits = 64;
/// What STATUS says of a message that has come whole [18.15].
constexpr uint32_t all_slots = limits::slots_per_message_max;
constexpr size_t fetch_bytes_min = 12;

/// Runs for a FETCH, in order and apart.
class FetchRuns {
 public:
  explicit FetchRuns(std::span<Run> runs) : runs_(runs) {}

  /// What is missing of slots of which none lies before those of the last one added.
  void add_missing(const AskedRun& asked, const Landing& landing) {
    const SlotBits& bits = landing.bits();
    const uint32_t end = asked.first + asked.count;
    uint32_t slot = std::max(asked.first, end_);
    while (true) {
      slot = SlotBits::first_of_neither(bits, bits, slot, end);
      if (slot >= end) return;
      uint32_t after = slot + 1;
      while (after < end && !landing.has(after)) ++after;
      if (!try_add(slot, after - slot)) return;
      slot = after;
    }
  }
  size_t count() const { return count_; }
  uint32_t slots() const { return slots_; }

 private:
  bool try_add(uint32_t first, uint32_t count) {
    if (count_ > 0 && first == end_) {
      runs_[count_ - 1].count = be32(runs_[count_ - 1].count.host() + count);
    } else if (count_ == runs_.size()) {
      return false;
    } else {
      runs_[count_++] = {be32(first), be32(count)};
    }
    end_ = first + count;
    slots_ += count;
    return true;
  }

  std::span<Run> runs_;
  size_t count_ = 0;
  uint32_t end_ = 0, slots_ = 0;
};

}  // namespace

Incoming* Messages::find_receive(uint16_t from, uint32_t message) {
  const uint32_t place = receive_index_.find(from, message);
  return place == MessageIndex::none ? nullptr : &receives_[place];
}

// ---- begin ----

/// There is a place, and the name is free.
Incoming& Messages::open_incoming(const MessageName& name, uint8_t* memory, uint64_t bytes,
                                  Duration time, Instant now) {
  const uint32_t place = free_receives_.back();
  free_receives_.pop_back();
  Incoming& in = receives_[place];
  const Slots slots = *slots_of(bytes);
  const Clock deadline = local(now) + time;
  in = {.is_open = true,
        .from = name.peer,
        .step = name.step,
        .message = name.message,
        .generation = in.generation + 1,
        .step_place = steps_.begin(name.step, name.peer, bytes, deadline),
        .slots = slots.count(),
        .bytes = bytes,
        .deadline = deadline,
        .timer = timers_.arm(uint64_t{place} << 1, deadline)};
  receive_index_.add(name.peer, name.message, place);
  endpoint_.open_inbox(place, name, slots, memory);
  return in;
}

bool Messages::try_open_offered(uint16_t from, uint32_t message, Step step, uint64_t bytes,
                                Instant now) {
  const bool has_room = !pool_.empty() && !free_receives_.empty();
  if (!has_room || bytes > options_.pool_bytes || !slots_of(bytes)) return false;
  if (!peers_[from].try_open_pooled(number_of(message))) return false;
  const PoolPosting posting = pool_.back();
  pool_.pop_back();
  Incoming& in = open_incoming({.step = step, .peer = from, .message = message}, posting.memory,
                               bytes, options_.deadline, now);
  in.cookie = posting.cookie;
  tell_opened(in, now);
  return true;
}

bool Messages::try_open_pooled(const Header& header, Instant now) {
  if (!is_message_number(header.message) || header.message_slots == 0) return false;
  if (header.last_bytes == 0 || header.last_bytes > payload_bytes()) return false;
  const uint64_t bytes = uint64_t{header.message_slots - 1} * payload_bytes() + header.last_bytes;
  return try_open_offered(header.source, header.message, header.step, bytes, now);
}

/// Of what nobody has posted memory for yet; who does so later need not wait to learn of it.
void Messages::on_closed(const Header& header) {
  if (is_past(header.source, header.message)) return;
  early_.note(header.source, header.message, header.slot + 1);
}

/// What is open from a far member was told with a round trip much too short.
void Messages::on_greeted(uint16_t from, Instant now) {
  if (endpoint_.rtt(from) <= link_rtt()) return;
  peers_[from].for_each_receivable([&](uint32_t message) {
    if (const Incoming* const in = find_receive(from, message)) tell_source(*in, now);
  });
}

void Messages::tell_opened(const Incoming& in, Instant now) {
  seat_->opened(policy_number(in), in.slots, now);
  tell_source(in, now);
  tell_step(in.step_place, now);
}

void Messages::tell_source(const Incoming& in, Instant now) {
  const StepRow& step = steps_.row(in.step_place);
  seat_->step({.step = in.step.value(),
               .message = policy_number(in),
               .peer = in.from,
               .sources = step.sources,
               .sources_done = step.sources_done,
               .expected_bytes = in.bytes,
               .received_bytes = in.bytes - missing_bytes(in),
               .rate_bps = arrival_rate_.rate().bps(),
               .deadline_ns = (in.deadline + paused_).ns(),
               .rtt_ns = rtt_to(in.from).ns(),
               .rtt_var_ns = deviation_to(in.from).ns()},
              now);
}

/// Of a step as a whole.
void Messages::tell_step(uint32_t step_place, Instant now) {
  const StepRow& step = steps_.row(step_place);
  seat_->step({.step = step.step.value(),
               .message = CW_UNKNOWN,
               .peer = CW_UNKNOWN,
               .sources = step.sources,
               .sources_done = step.sources_done,
               .expected_bytes = step.expected_bytes,
               .received_bytes = step.received_bytes,
               .rate_bps = arrival_rate_.rate().bps(),
               .deadline_ns = (step.deadline + paused_).ns(),
               .rtt_ns = link_rtt().ns(),
               .rtt_var_ns = link_deviation().ns()},
              now);
}

void Messages::tell_link(Instant now) {
  std::array<cw_path_facts, Spray::paths_max> paths{};
  const uint32_t count = endpoint_.spray().paths();
  for (cw_path_facts& path : std::span(paths).first(count)) {
    path.rtt_min_ns = rtt_.has_sample() ? rtt_.min().ns() : options_.datagrams.rtt.ns();
    path.rtt_smooth_ns = link_rtt().ns();
    path.rtt_var_ns = link_deviation().ns();
    path.burst_mean = 1;
    path.reorder_ns = options_.reorder.ns();
    path.mtu = payload_bytes();
    path.is_up = 1;
  }
  told_rtt_ = link_rtt();
  seat_->link({.paths = count,
               .rate_bps = line_rate().bps(),
               .rtt_ns = std::max<int64_t>(link_rtt().ns(), 1),
               .path = paths.data()},
              now);
}

// ---- what comes ----

void Messages::on_placed(std::span<const Placed> placed, Instant now) {
  for (const Placed& each : placed) note_placed(receives_[each.landing], each, now);
  arrival_rate_.note(placed.size() * endpoint_.packet_bytes(),
                     std::max(link_rtt() / 2, options_.reorder), now);
  for (const uint32_t place : touched_) end_burst(receives_[place], now);
  for (const uint32_t place : touched_steps_) {
    if (!steps_.row(place).is_touched) continue;  // over meanwhile
    steps_.row(place).is_touched = false;
    tell_step(place, now);
  }
  touched_.clear();
  touched_steps_.clear();
  end_given_up(now);
}

void Messages::note_placed(Incoming& in, const Placed& placed, Instant now) {
  if (!in.is_touched) {
    in.is_touched = true;
    in.changed = {};
    in.duplicates = 0;
    touched_.push_back(place_of(in));
  }
  in.clock_us = placed.clock_us;
  in.clock_at = now;
  in.path = placed.path;
  in.wants_status |= placed.wants_status || placed.kind == Kind::Fetched;
  if (!placed.is_new) {
    ++in.duplicates;
    return;
  }
  in.changed.add(placed.slot);
  in.highest = std::max(in.highest, placed.slot + 1);
  StepRow& step = steps_.row(in.step_place);
  step.received_bytes += landing_of(in).slots().bytes_of(placed.slot);
  if (step.is_touched) return;
  step.is_touched = true;
  touched_steps_.push_back(in.step_place);
}

/// All that has come of it in one burst.
void Messages::end_burst(Incoming& in, Instant now) {
  in.is_touched = false;
  const Landing& landing = landing_of(in);
  const SlotBits& bits = landing.bits();
  in.first_missing = SlotBits::first_of_neither(bits, bits, in.first_missing, in.slots);
  tell_arrived(in, in.changed, now);
  if (landing.missing_count() == 0) return end_receive(in, {.is_whole = true}, now);
  if (in.wants_status) say_status(in, now);
}

void Messages::tell_arrived(const Incoming& in, const SlotSpan& changed, Instant now) {
  const bool has_new = !changed.is_empty();
  const uint32_t word = (has_new ? changed.first : in.first_missing) / word_bits;
  seat_->arrived(
      {.message = policy_number(in),
       .word_first = word,
       .word_count = has_new ? (changed.end - 1) / word_bits - word + 1 : 0,
       .first_missing = in.first_missing,
       .highest = in.highest,
       .slots = in.slots,
       .duplicates = static_cast<uint16_t>(std::min<uint32_t>(in.duplicates, UINT16_MAX)),
       .path = in.path,
       .data = landing_of(in).bits().words().data()},
      now);
}

void Messages::tell_departed(const Incoming& in, uint32_t slots, uint16_t answered, Instant now) {
  seat_->departed({.message = policy_number(in),
                   .slots = std::min(slots, in.slots),
                   .answered_ns = in.fetched_when(answered).ns()},
                  now);
}

void Messages::say_status(Incoming& in, Instant now) {
  in.wants_status = false;
  if (in.is_status_said) return;
  in.is_status_said = endpoint_.try_say({RecordType::Status, in.from, in.message}, now);
}

// ---- what its source says ----

bool Messages::has_come(uint16_t from, uint32_t message) const {
  const uint32_t number = number_of(message);
  const PeerRow& peer = peers_[from];
  return is_for_pool(message) ? peer.has_pooled_come(number) : peer.posted.has_come(number);
}

bool Messages::is_past(uint16_t from, uint32_t message) const {
  const uint32_t number = number_of(message);
  const PeerRow& peer = peers_[from];
  return is_for_pool(message) ? peer.is_pooled_past(number) : peer.posted.is_past(number);
}

void Messages::on_offer(uint16_t from, const Offer& offer, Instant now) {
  MemberRow& row = endpoint_.membership().row(from);
  row.has_sent = row.has_sent || offer.sent_slots > 0;
  Incoming* in = find_receive(from, offer.message);
  if (in == nullptr && is_for_pool(offer.message) &&
      try_open_offered(from, offer.message, offer.step, offer.bytes, now)) {
    in = find_receive(from, offer.message);
  }
  if (in != nullptr) {
    const bool is_step_alike = offer.step == in->step;
    if (is_step_alike && offer.bytes == in->bytes) {
      tell_departed(*in, offer.sent_slots, offer.answered, now);
      return say_status(*in, now);
    }
    const Reason reason = is_step_alike ? Reason::UnlikeSize : Reason::UnlikeStep;
    return end_receive(*in, {.reason = reason}, now);
  }
  if (!is_past(from, offer.message)) return early_.note(from, offer.message, offer.sent_slots);
  const bool is_whole = has_come(from, offer.message);
  say(is_whole ? RecordType::Status : RecordType::Refuse, from, offer.message, now);
}

void Messages::on_cancel(uint16_t from, const Cancel& cancel, Instant now) {
  Incoming* const in = find_receive(from, cancel.message);
  if (in != nullptr) end_receive(*in, {.is_of_other_end = true, .reason = cancel.reason}, now);
}

bool Messages::write_status(const Word& word, EnvelopeWriter& writer, Instant now) {
  Incoming* const in = find_receive(word.to, word.about);
  if (in == nullptr) {
    if (!has_come(word.to, word.about)) return false;
    return writer.try_add(
        Status{.message = word.about, .slots = all_slots, .held_us = Status::held_unknown});
  }
  in->is_status_said = false;
  Status status{.step = in->step,
                .message = in->message,
                .slots = landing_of(*in).placed_count(),
                .clock_us = in->clock_us,
                .held_us = Status::held_unknown};
  if (in->clock_at != Instant()) {
    status.held_us = static_cast<uint32_t>((now - in->clock_at).ns() / 1000);
  }
  return writer.try_add(status);
}

// ---- what its policy decides ----

bool Messages::try_ask(const cw_ask& ask, Instant now) {
  Incoming& in = receives_[ask.message & (numbers_ - 1)];
  if (ask.peer != in.from) return false;  // nobody else has it
  // Who has told neither of slots that have left nor when it heard us may not know us yet, and has
  // nothing on the way: a word will do.
  const MemberRow& row = membership().row(in.from);
  if (!row.has_sent && row.rtt_us == 0) {
    (void)endpoint_.try_say({.to = in.from}, now);
    return true;
  }
  const uint32_t count = std::min(ask.count, in.slots - ask.first);
  const bool has_room = asked_pool_.try_add(in.asked, {.first = ask.first, .count = count});
  // What found no room at the line before may have filled this message's.
  if (!in.is_fetch_said && in.asked.count > 0) {
    in.is_fetch_said = endpoint_.try_say({RecordType::Fetch, in.from, in.message}, now);
  }
  return has_room;
}

/// Of what was asked for, what is missing now.
bool Messages::write_fetch(const Word& word, EnvelopeWriter& writer, Instant now) {
  Incoming* const in = find_receive(word.to, word.about);
  if (in == nullptr) return false;
  in->is_fetch_said = false;
  std::array<AskedRun, limits::group_runs_max> all;
  const size_t count = asked_pool_.take(in->asked, all);
  const Landing& landing = landing_of(*in);
  std::array<Run, limits::group_runs_max> runs;
  const size_t room = std::min(runs.size(), (writer.body_room() - fetch_bytes_min) / sizeof(Run));
  FetchRuns wanted({runs.data(), room});
  for (const AskedRun& asked : std::span(all).first(count)) wanted.add_missing(asked, landing);
  if (wanted.count() == 0) return false;
  asked_slots_ += wanted.slots();
  return writer.try_add(Fetch{{.step = in->step,
                               .source = in->from,
                               .number = in->note_fetch(now),
                               .message = in->message,
                               .runs = Row<Run>(runs.data(), wanted.count())}});
}

void Messages::on_finish(const cw_finish& finish, Instant) {
  Incoming& in = receives_[finish.message & (numbers_ - 1)];
  if (finish.status != CW_FINISH_GIVEN_UP || in.is_given_up) return;
  in.is_given_up = true;
  given_up_.push_back(place_of(in));
}

void Messages::end_given_up(Instant now) {
  for (const uint32_t place : given_up_) {
    Incoming& in = receives_[place];
    if (in.is_open && in.is_given_up) end_receive(in, {.reason = Reason::Late}, now);
  }
  given_up_.clear();
}

void Messages::on_quarantine(Instant now) {
  for (const Incoming& in : receives_) {
    if (!in.is_open) continue;
    tell_opened(in, now);
    if (in.highest > 0) tell_arrived(in, {.first = 0, .end = in.highest}, now);
  }
}

// ---- its end ----

/// Of slots, each as long as a full one, but no more than there are.
uint64_t Messages::missing_bytes(const Incoming& in) const {
  return std::min<uint64_t>(in.bytes, uint64_t{landing_of(in).missing_count()} * payload_bytes());
}

/// For its source, should it ask.
void Messages::note_past(const Incoming& in, bool is_whole) {
  PeerRow& peer = peers_[in.from];
  const uint32_t number = number_of(in.message);
  if (is_for_pool(in.message)) {
    if (is_whole) peer.note_pooled_done(number);
    return;
  }
  if (is_whole) peer.posted.note_done(number);
  peer.posted.settle([&](uint32_t each) { return find_receive(in.from, each) != nullptr; });
}

void Messages::end_receive(Incoming& in, const Completion& how, Instant now) {
  in.is_open = false;
  timers_.cancel(in.timer);
  asked_pool_.drop(in.asked);
  const uint64_t missing = missing_bytes(in);
  receive_index_.remove(in.from, in.message);
  endpoint_.close_inbox(place_of(in));
  note_past(in, how.is_whole);
  Completion completion = how;
  completion.cookie = in.cookie;
  completion.bytes = in.bytes;
  completion.at = now;
  completion.step = in.step;
  completion.message = in.message;
  completion.peer = in.from;
  note_ending(completion);
  if (how.is_whole || !how.is_of_other_end) {
    say(how.is_whole ? RecordType::Status : RecordType::Refuse, in.from, in.message, now);
  }
  seat_->ended(policy_number(in), now);
  free_receives_.push_back(place_of(in));
  if (!steps_.try_end(in.step_place, in.from, missing)) {
    steps_.row(in.step_place).is_touched = false;
  } else {
    tell_step(in.step_place, now);
  }
  complete(completion);
}

}  // namespace cw::group
