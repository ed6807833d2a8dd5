#include "policies/parts/repeat/repeat_source.h"

#include <algorithm>

namespace cw::policy {
namespace {

// 128 bursts per RTT while one message flows; a row of small messages takes an entry each, and a
// resend two. What is held in all is many timeouts of the line: where a 32nd of it has entries, a
// tenth of all slots may be lost. When it is full, ranges are swept together (sweep_oldest): later,
// never lost.
constexpr uint32_t departure_slots = 32;
constexpr size_t departures_max = 16'384;
// A note of 1,024 bytes can name 4,000 separate holes. What does not fit is asked for again.
constexpr size_t wanted_max = 4'096;
constexpr size_t queue_max = 1'024;
// The oldest and the youngest: enough to be heard through 50 % loss, too little to flood a link
// that is down.
constexpr uint32_t probe_slots = 8;
// Four round trips of them.
constexpr size_t witnesses_max = 64;

}  // namespace

RepeatSource::RepeatSource(const cw_env& env, const RepeatSettings& settings)
    : times_(settings, link_),
      has_paths_(env.paths > 1),
      settings_(settings),
      slots_max_(env.data_slots_max),
      messages_(env),
      marks_(env),
      unsent_(env, queue_max),
      refused_(env, queue_max),
      wanted_(env, ranges_for(env, 2 * departure_slots, wanted_max)),
      departed_(env, std::max<size_t>(ranges_for(env, departure_slots, departures_max),
                                      4 * size_t{env.messages})),
      fresh_(env, ranges_for(env, 2 * departure_slots, departures_max)),
      resent_(env, ranges_for(env, 2 * departure_slots, departures_max)),
      settled_(env, 2 * size_t{env.messages}),
      witnesses_(env, witnesses_max) {}

bool RepeatSource::is_ready() const {
  return messages_.is_ready() && marks_.is_ready() && unsent_.is_ready() && refused_.is_ready() &&
         wanted_.is_ready() && departed_.is_ready() && fresh_.is_ready() && resent_.is_ready() &&
         settled_.is_ready() && witnesses_.is_ready();
}

// ---- facts --------------------------------------------------------------------------------------

void RepeatSource::on_opened(const cw_fact_opened& fact, Instant) {
  SourceMessage& message = *state_of<SourceMessage>(fact);
  message = {};
  message.sequence = fact.message;
  message.slots = CW_UNKNOWN;
  message.deadline = Instant::from_ns(fact.deadline_ns);
  if (messages_.try_add(fact.message, &message)) {
    deadline_next_ = std::min(deadline_next_, message.deadline);
  }
}

void RepeatSource::on_appended(const cw_fact_appended& fact, Instant now) {
  SourceMessage& message = *state_of<SourceMessage>(fact);
  const SlotRun slots{fact.first, fact.first + fact.count};
  CW_ASSERT(slots.end <= slots_max_);
  // Appended out of order: the sink may take the gap for a loss before we may send it.
  marks_.set(message.marks, Young, {message.appended_end, slots.first});
  message.appended_end = std::max(message.appended_end, slots.end);
  if (unsent_.try_push(fact.message, slots, now, Duration::max())) return;
  depart(fact.message, slots, now, Any);  // treated as lost: the timeout sends it
}

void RepeatSource::on_closed(const cw_fact_closed& fact, Instant) {
  SourceMessage& message = *state_of<SourceMessage>(fact);
  message.slots = fact.slots;
  if (message.cumulative >= message.slots) settle(message);
}

void RepeatSource::on_sent(const cw_fact_sent& fact, Instant) {
  SourceMessage& message = *state_of<SourceMessage>(fact);
  const uint32_t stride = std::max(fact.stride, 1u);
  const SlotRun slots{fact.first, fact.first + (fact.count - 1) * stride + 1};
  if (message.is_over || fact.kind == CW_SEND_REPAIR || slots.end > slots_max_) return;
  // New ones take turns over the paths: kept as the run that covers them. What lies between two
  // that were sent again left at another time.
  if (fact.kind == CW_SEND_DATA || stride == 1) return left(message, fact, slots);
  for (uint32_t slot = slots.first; slot < slots.end; slot += stride) {
    left(message, fact, {slot, slot + 1});
  }
}

void RepeatSource::left(SourceMessage& message, const cw_fact_sent& fact, SlotRun slots) {
  const Instant at = Instant::from_ns(fact.departed_ns);
  const bool is_first = fact.kind == CW_SEND_DATA;
  // A slot below what has left before may be missed already, like one that is resent.
  const bool is_in_order = is_first && slots.first >= message.sent_end;
  message.sent_end = std::max(message.sent_end, slots.end);
  depart(fact.message, slots, at, is_first ? First : Any);
  witness({fact.message, slots.end - 1, at, is_first});
  if (is_first) {
    back_off_.on_first_sent(fact.message, slots.end - 1);
    marks_.set(message.marks, Young, slots);
  }
  wait_for_age(is_in_order ? fresh_ : resent_,
               {fact.message, slots, uint8_t{is_first ? First : Any}, at});
}

/// Without room it waits with what left last, or what left first counts as old already.
void RepeatSource::wait_for_age(RangeFifo& fifo, const RangeFifo::Entry& entry) {
  const auto try_push = [&] {
    return fifo.try_push(entry.message, entry.slots, entry.at, times_.grain, entry.kind);
  };
  if (try_push() || fifo.try_cover(entry)) return;
  grow_old(fifo.pop());
  (void)try_push();
}

void RepeatSource::on_refused(const cw_fact_refused& fact, Instant now) {
  if (fact.decision != CW_DECIDE_SEND || find_open(fact.message) == nullptr) return;
  const bool is_hopeless = fact.reason == CW_REFUSED_EXPIRED || fact.reason == CW_REFUSED_RANGE ||
                           fact.reason == CW_REFUSED_MESSAGE;
  const SlotRun slots{fact.first, fact.first + fact.count};
  if (is_hopeless || slots.end > slots_max_) return;
  if (refused_.try_push(fact.message, slots, now, times_.grain)) return;
  depart(fact.message, slots, now, Any);
}

void RepeatSource::on_expired(const cw_fact_expired& fact, Instant) {
  SourceMessage* message = find_open(fact.message);
  if (message == nullptr) return;
  const SlotRun slots{fact.first, std::min(fact.first + fact.count, slots_max_)};
  marks_.set(message->marks, Acknowledged, slots);
  // It may never have left; the sink counts it as settled all the same.
  message->sent_end = std::max(message->sent_end, slots.end);
  if (slots.first <= message->cumulative)
    message->cumulative = std::max(message->cumulative, slots.end);
  advance(*message);
}

void RepeatSource::on_link(const cw_fact_link& fact, Instant) {
  link_ = LinkTiming::from(fact);
  times_ = RepeatTimes(settings_, link_);
}

void RepeatSource::on_timer(uint64_t, Instant now) {
  armed_at_ = Instant::never();
  if (now >= give_up_at_) give_up_all();
  if (now >= deadline_next_) give_up_late(now);
}

void RepeatSource::on_drain(Instant by, Instant now) {
  // A little early, so that the answer is there before the core stops asking.
  give_up_at_ = by - std::min(link_.rtt / 8, (by - now) / 8);
}

void RepeatSource::on_ended(uint32_t sequence, void* state, Instant) {
  SourceMessage& message = *static_cast<SourceMessage*>(state);
  marks_.release_all(message.marks);
  message.is_over = true;
  forget_deadline(message);
  messages_.remove(sequence);
}

// ---- what the sink says -------------------------------------------------------------------------

void RepeatSource::on_note(const cw_fact_note& fact, Instant now) {
  NoteReader reader({fact.bytes, fact.count});
  uint32_t sequence = 0;
  Section section;
  bool made_sense = false;
  while (reader.next_completed(sequence)) {
    SourceMessage* message = find_open(sequence);
    // A sink cannot know that it has everything before everything has left.
    if (message == nullptr || message->slots == CW_UNKNOWN || message->sent_end < message->slots) {
      continue;
    }
    message->cumulative = message->slots;
    settle(*message);
    made_sense = true;
  }
  while (reader.next_section(section)) {
    read_section(section, reader);
    made_sense |= find_open(section.message) != nullptr;
  }
  if (!made_sense) return;
  hear_witnesses(now);
  back_off_.on_heard([this](uint32_t m, uint32_t slot) { return is_acknowledged(m, slot); });
}

void RepeatSource::read_section(const Section& section, NoteReader& reader) {
  SourceMessage* message = find_open(section.message);
  const bool makes_sense = message != nullptr && section.cumulative <= message->sent_end &&
                           section.word_first <= slots_max_ / 64;
  if (makes_sense) message->cumulative = std::max(message->cumulative, section.cumulative);
  const bool tells_wanted = section.overdue == note_layout::wanted;
  for (uint32_t i = 0; i < section.word_count; ++i) {
    uint64_t word = 0;
    if (!reader.next_word(word)) break;
    if (!makes_sense) continue;
    if (tells_wanted) {
      want(*message, section.word_first + i, word);
    } else {
      read_word(*message, section.word_first + i, word, section.overdue);
    }
  }
  if (makes_sense) advance(*message);
}

void RepeatSource::read_word(SourceMessage& message, uint32_t index, uint64_t word,
                             uint32_t overdue) {
  const uint64_t valid = mask_of(index, message.cumulative, message.sent_end);
  if (valid == 0) return;
  marks_.set_word(message.marks, Acknowledged, index, word & valid);
  if (!settings_.asks) return;
  want(message, index, ~word & mask_of(index, 0, overdue));
}

void RepeatSource::want(SourceMessage& message, uint32_t index, uint64_t bits) {
  bits &= mask_of(index, message.cumulative, message.sent_end);
  const auto word_at = [&](uint32_t) { return bits; };
  const uint32_t end = (index + 1) * 64;
  for (SlotRun run = next_run(word_at, index * 64, end); !run.is_empty();
       run = next_run(word_at, run.end, end)) {
    wanted_.try_push(message.sequence, run, Instant(), Duration::max());
  }
}

void RepeatSource::advance(SourceMessage& message) {
  const auto acknowledged = [&](uint32_t i) { return marks_.word(message.marks, Acknowledged, i); };
  message.cumulative = next_clear(acknowledged, message.cumulative,
                                  std::max(message.cumulative, message.appended_end));
  marks_.release_below(message.marks, message.cumulative);
  if (message.slots != CW_UNKNOWN && message.cumulative >= message.slots) {
    settle(message);
  } else if (message.cumulative > message.released) {
    queue(message);
  }
}

void RepeatSource::settle(SourceMessage& message) {
  message.is_over = true;
  forget_deadline(message);
  marks_.release_all(message.marks);
  queue(message);
}

bool RepeatSource::is_acknowledged(uint32_t sequence, uint32_t slot) const {
  const SourceMessage* message = find_open(sequence);
  if (message == nullptr || slot < message->cumulative) return true;
  return marks_.has(message->marks, Acknowledged, slot);
}

void RepeatSource::give_up_all() {
  give_up_at_ = Instant::never();
  messages_.for_each([this](SourceMessage& message) {
    if (!message.is_over) give_up(message);
  });
}

void RepeatSource::give_up_late(Instant now) {
  messages_.for_each([&](SourceMessage& message) {
    if (!message.is_over && message.deadline <= now) give_up(message);
  });
}

/// A message that is over waits for nothing; the next deadline is another's.
void RepeatSource::forget_deadline(const SourceMessage& message) {
  if (message.deadline == Instant::never() || message.deadline > deadline_next_) return;
  deadline_next_ = Instant::never();
  messages_.for_each([&](const SourceMessage& other) {
    if (!other.is_over) deadline_next_ = std::min(deadline_next_, other.deadline);
  });
}

// ---- decisions ----------------------------------------------------------------------------------

void RepeatSource::decide(Instant now, Out& out) {
  age(fresh_, times_.first_age, now);
  age(resent_, times_.resent_age, now);
  ripen(now);
  if (tell_settled(out) && send_unsent(out) && send_wanted(out) && retry_refused(now, out) &&
      send_overdue(now, out)) {
    arm(out);
  }
}

bool RepeatSource::tell_settled(Out& out) {
  while (!settled_.is_empty()) {
    SourceMessage* message = messages_.find(settled_.front());
    if (message != nullptr) {
      if (message->cumulative > message->released) {
        if (!out.release(message->sequence, message->cumulative)) return false;
        message->released = message->cumulative;
      }
      if (message->is_over && !message->is_finished) {
        const auto status = message->was_given_up ? CW_FINISH_GIVEN_UP : CW_FINISH_OK;
        if (!out.finish(message->sequence, status)) return false;
        message->is_finished = true;
      }
      message->is_queued = false;
    }
    settled_.pop();
  }
  return true;
}

bool RepeatSource::send(SourceMessage& message, SlotRun slots, bool is_first, Out& out) {
  const bool avoids_path = !is_first && has_paths_;
  const bool has_room = out.send(
      {.message = message.sequence,
       .first = slots.first,
       .count = slots.count(),
       .stride = 1,
       .kind = static_cast<uint16_t>(is_first ? CW_SEND_DATA : CW_SEND_RESEND),
       .path_choice = static_cast<uint16_t>(avoids_path ? CW_CHOOSE_NOT_LAST : CW_CHOOSE_ANY),
       .path = 0,
       .not_before_ns = 0,
       .drop_after_ns = 0});
  if (has_room && !is_first) {
    marks_.set(message.marks, Young, slots);
    marks_.set(message.marks, Again, slots);
  }
  return has_room;
}

bool RepeatSource::send_unsent(Out& out) {
  while (!unsent_.is_empty()) {
    SourceMessage* message = find_open(unsent_.front().message);
    if (message != nullptr && !send(*message, unsent_.front().slots, true, out)) return false;
    unsent_.pop();
  }
  return true;
}

bool RepeatSource::retry_refused(Instant now, Out& out) {
  while (refused_.due(times_.retry) <= now) {
    RangeFifo::Entry& entry = refused_.front();
    if (drop_acknowledged(entry)) {
      SourceMessage& message = *find_open(entry.message);
      if (!send(message, entry.slots, entry.slots.first >= message.sent_end, out)) return false;
    }
    refused_.pop();
  }
  return true;
}

bool RepeatSource::send_wanted(Out& out) {
  while (!wanted_.is_empty()) {
    RangeFifo::Entry& entry = wanted_.front();
    SourceMessage* message = find_open(entry.message);
    if (message != nullptr && !resend(entry, *message, false, out)) return false;
    wanted_.pop();
  }
  return true;
}

/// Resends what of the entry is missing and not on its way; shortens the entry as it goes.
bool RepeatSource::resend(RangeFifo::Entry& entry, SourceMessage& message, bool spares_again,
                          Out& out) {
  const auto is_due = [&](uint32_t index) {
    return ~(marks_.word(message.marks, Acknowledged, index) |
             marks_.word(message.marks, Young, index) |
             (spares_again ? marks_.word(message.marks, Again, index) : 0));
  };
  entry.slots.first = std::max(entry.slots.first, message.cumulative);
  for (;;) {
    const SlotRun run = next_run(is_due, entry.slots.first, entry.slots.end);
    if (run.is_empty()) return true;
    if (!send(message, run, false, out)) return false;
    entry.slots.first = run.end;
  }
}

bool RepeatSource::send_overdue(Instant now, Out& out) {
  while (!departed_.is_empty()) {
    RangeFifo::Entry& entry = departed_.front();
    if (!drop_acknowledged(entry)) {
      departed_.pop();
      continue;
    }
    if (overdue_at() > now) return true;
    if (!is_proven(entry.at)) return probe(now, out);
    SourceMessage& message = *find_open(entry.message);
    if (!resend(entry, message, entry.kind == First, out)) return false;
    if (message.swept_at == entry.at) message.swept_at = Instant();
    departed_.pop();
  }
  return true;
}

/// Nothing says whether the oldest entry was lost: the end of a row may be, or the link be down.
/// Its first slots ask, and the youngest, whose arrival speaks for all before; the rest waits, and
/// while nothing is heard every further question waits twice as long. The next one is about the
/// next slots: of a message that is complete at the sink nobody need answer any more.
bool RepeatSource::probe(Instant now, Out& out) {
  RangeFifo::Entry& oldest = departed_.front();
  const RangeFifo::Entry youngest = departed_.back();
  const SlotRun last = youngest.slots;
  const uint32_t asked_end = std::min(oldest.slots.end, oldest.slots.first + probe_slots);
  if (!ask(oldest.message, {oldest.slots.first, asked_end}, out) ||
      !ask(youngest.message, {last.end - std::min(last.count(), probe_slots), last.end}, out)) {
    return false;
  }
  SourceMessage& message = *find_open(oldest.message);
  if (message.swept_at == oldest.at) message.swept_at = Instant();  // it covers no longer all
  oldest.slots.first = asked_end;  // they wait by their new departure
  if (heard_.heard <= youngest.at) back_off_.on_timeout();
  probed_at_ = now;
  return true;
}

bool RepeatSource::ask(uint32_t sequence, SlotRun slots, Out& out) {
  SourceMessage* message = find_open(sequence);
  RangeFifo::Entry entry{.message = sequence, .slots = slots};
  return message == nullptr || resend(entry, *message, false, out);
}

void RepeatSource::arm(Out& out) {
  const Instant at =
      earliest(overdue_at(), refused_.due(times_.retry), give_up_at_, deadline_next_);
  if (at != armed_at_ && out.timer(0, at)) armed_at_ = at;
}

}  // namespace cw::policy
