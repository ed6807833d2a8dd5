#include "policies/parts/repeat/repeat_sink.h"

#include <algorithm>

#include "policies/parts/repeat/repeat_limits.h"

namespace cw::policy {
namespace {

// Holes under suspicion or asked for. When full, a hole is left to the source's timeout.
constexpr uint32_t hole_slots = 64;
constexpr size_t holes_max = 8'192;

}  // namespace

RepeatSink::RepeatSink(const cw_env& env, const RepeatSettings& settings)
    : settings_(settings),
      rate_(Rate::from_bps(env.rate_bps)),
      slot_wire_bytes_(env.slot_wire_bytes),
      times_(settings_, link_),
      messages_(env),
      suspected_(env, ranges_for(env, hole_slots, holes_max)),
      dirty_(env, 2 * size_t{env.messages}),
      reports_(env, 2 * size_t{env.messages}),
      finished_(env, 2 * size_t{env.messages}),
      completed_(env, std::max<size_t>(64, env.messages)),
      tails_(env, 2 * size_t{env.messages}),
      asked_(env, ranges_for(env, hole_slots, holes_max)) {}

bool RepeatSink::is_ready() const {
  return messages_.is_ready() && dirty_.is_ready() && reports_.is_ready() && finished_.is_ready() &&
         completed_.is_ready() && suspected_.is_ready() && tails_.is_ready() && asked_.is_ready();
}

// ---- facts --------------------------------------------------------------------------------------

void RepeatSink::on_opened(const cw_fact_opened& fact, Instant now) {
  SinkMessage& message = *state_of<SinkMessage>(fact);
  message = {};
  message.sequence = fact.message;
  message.received.slots = fact.slots;
  message.grown_at = now;
  messages_.try_add(fact.message, &message);
}

void RepeatSink::on_closed(const cw_fact_closed& fact, Instant now) {
  SinkMessage& message = *state_of<SinkMessage>(fact);
  if (message.is_over) return;
  message.received.on_closed(fact.slots);
  soil(message, now);
  look_closer(message, now);
}

void RepeatSink::on_arrived(const cw_fact_arrived& fact, Instant now) {
  SinkMessage& message = *state_of<SinkMessage>(fact);
  if (message.is_over) return fact.duplicates > 0 ? name_again(message, now) : void();
  if (fact.highest > message.received.highest) {
    if (message.received.highest > 0)
      message.silence = std::max(message.silence, now - message.grown_at);
    message.grown_at = now;
  }
  message.received.on_arrived(fact);
  soil(message, now);
  look_closer(message, now);
}

/// The path's own numbers say that slots are overdue: no need to wait for the budget, unless slots
/// before them may still be on their way by a slower path, which whoever asks would ask for too.
void RepeatSink::on_lost(const cw_fact_lost& fact, Instant now) {
  if (link_.skew > Duration()) return;
  SinkMessage* message = fact.message == CW_UNKNOWN ? nullptr : find_open(fact.message);
  if (message == nullptr || !settings_.asks) return;
  const SlotRun known{fact.first, std::min(fact.first + fact.count, message->received.highest)};
  if (known.end > message->overdue) doubt(*message, known, now);
}

void RepeatSink::on_expired(const cw_fact_expired& fact, Instant now) {
  SinkMessage* message = find_open(fact.message);
  if (message == nullptr) return;
  message->received.on_expired({fact.first, fact.first + fact.count});
  look_closer(*message, now);
}

void RepeatSink::on_link(const cw_fact_link& fact, Instant) {
  link_ = LinkTiming::from(fact);
  times_ = RepeatTimes(settings_, link_);
  notes_per_report_ = notes_per_report(settings_, rate_, slot_wire_bytes_, link_);
}

void RepeatSink::on_timer(uint64_t, Instant now) {
  armed_at_ = Instant::never();
  if (now >= give_up_at_) give_up_all();
}

void RepeatSink::on_drain(Instant by, Instant now) {
  give_up_at_ = by - std::min(link_.rtt / 8, (by - now) / 8);
}

void RepeatSink::on_ended(uint32_t sequence, void*, Instant) { messages_.remove(sequence); }

void RepeatSink::look_closer(SinkMessage& message, Instant now) {
  if (message.received.is_complete()) return complete(message);
  if (!settings_.asks) return;
  suspect(message, now);
  watch_tail(message, now);
}

void RepeatSink::suspect(SinkMessage& message, Instant now) {
  const Received& received = message.received;
  const SlotRun news{std::max(message.suspected_end, received.cumulative), received.highest};
  // Without room the holes of these slots wait for the next arrival, or for the source's timeout.
  const bool has_hole = !received.holes(news).is_empty();
  if (!has_hole || suspected_.try_push(message.sequence, news, now, times_.budget / 8)) {
    message.suspected_end = std::max(message.suspected_end, received.highest);
  }
}

void RepeatSink::watch_tail(SinkMessage& message, Instant now) {
  const SlotRun tail = tail_of(message);
  if (message.is_tail_watched || tail.is_empty()) return;
  message.is_tail_watched = tails_.try_push(message.sequence, tail, now);
}

void RepeatSink::complete(SinkMessage& message) {
  message.is_over = true;
  finished_.try_push(message.sequence);
  if (completed_.is_full()) drop_oldest_completed();
  message.is_named = completed_.try_push({message.sequence, tellings});
  ++untold_;
}

void RepeatSink::drop_oldest_completed() {
  const Completed oldest = completed_.pop();
  if (oldest.left == tellings) --untold_;
  if (SinkMessage* message = messages_.find(oldest.sequence)) message->is_named = false;
}

/// Its source still sends: it has heard of none of the notes that have named it.
void RepeatSink::name_again(SinkMessage& message, Instant now) {
  if (message.is_named || message.was_given_up || completed_.is_full()) return;
  message.is_named = completed_.try_push({message.sequence, 1});
  tick_at_ = std::min(tick_at_, now + times_.ack_interval);
}

void RepeatSink::give_up_all() {
  give_up_at_ = Instant::never();
  messages_.for_each([this](SinkMessage& message) {
    if (message.is_over) return;
    message.is_over = message.was_given_up = true;
    finished_.try_push(message.sequence);
  });
}

SinkMessage* RepeatSink::find_open(uint32_t sequence) const {
  SinkMessage* message = messages_.find(sequence);
  return message == nullptr || message->is_over ? nullptr : message;
}

// ---- losses -------------------------------------------------------------------------------------

void RepeatSink::find_losses(Instant now) {
  while (std::max(suspected_.due(times_.budget), report_from_) <= now && !suspected_.is_empty()) {
    const RangeFifo::Entry entry = suspected_.pop();
    SinkMessage* message = find_open(entry.message);
    if (message != nullptr) doubt(*message, entry.slots, now);
  }
}

/// A tail is lost when the message has been silent for a while, and for twice as long as it ever
/// was before: CLOSED may overtake the last slots, and a busy pacer sends them now and then.
void RepeatSink::find_lost_tails(Instant now) {
  while (tails_.due(times_.tail_quiet) <= now) {
    const RangeFifo::Entry entry = tails_.pop();
    SinkMessage* message = find_open(entry.message);
    if (message == nullptr) continue;
    const SlotRun tail = tail_of(*message);
    const bool may_come =
        now - message->grown_at < std::max(times_.tail_quiet, message->silence * 2);
    message->is_tail_watched =
        may_come && !tail.is_empty() && tails_.try_push(entry.message, tail, now);
    if (!may_come) {
      message->suspected_end = std::max(message->suspected_end, tail.end);
      on_silence(*message);
      doubt(*message, tail, now);
    }
  }
}

void RepeatSink::ask_again(Instant now) {
  while (asked_.due(times_.nack_repeat) <= now) {
    const RangeFifo::Entry entry = asked_.pop();
    SinkMessage* message = find_open(entry.message);
    if (message != nullptr) doubt(*message, entry.slots, now);
  }
}

void RepeatSink::ask(SinkMessage& message, SlotRun slots, Instant now) {
  if (slots.is_empty()) return;
  message.overdue = std::max(message.overdue, slots.end);
  asked_.try_push(message.sequence, slots, now);
  const SlotRun& wanted = message.wanted;
  message.wanted = wanted.is_empty() ? slots
                                     : SlotRun{std::min(wanted.first, slots.first),
                                               std::max(wanted.end, slots.end)};
  report(message, slots);
}

// ---- reports ------------------------------------------------------------------------------------

/// Every message that something has come for says all that it knows. One with holes says so at
/// every tick until they are filled: the source must be able to tell loss from a dead link.
void RepeatSink::tick(Instant now) {
  if (now < tick_at_) return;
  tick_at_ = Instant::never();
  tells_again_ = !completed_.is_empty();
  for (size_t left = dirty_.count(); left > 0; --left) {
    SinkMessage* message = messages_.find(dirty_.pop());
    if (message == nullptr) continue;
    message->is_dirty = false;
    if (message->is_over) continue;
    const Received& received = message->received;
    report(*message, {received.cumulative, received.highest});
    if (received.holes({received.cumulative, received.end()}).is_empty()) continue;
    soil(*message, now);
  }
}

void RepeatSink::soil(SinkMessage& message, Instant now) {
  if (!message.is_dirty) message.is_dirty = dirty_.try_push(message.sequence);
  tick_at_ = std::min(tick_at_, now + times_.ack_interval);
}

void RepeatSink::report(SinkMessage& message, SlotRun slots) {
  SlotRun& all = message.report;
  // Even a message without a window has a cumulative number to tell.
  slots.end = std::max(slots.end, slots.first + 1);
  message.wanted_report = message.wanted;
  all = all.is_empty() ? slots
                       : SlotRun{std::min(all.first, slots.first), std::max(all.end, slots.end)};
  if (!message.is_reporting) message.is_reporting = reports_.try_push(message.sequence);
}

bool RepeatSink::write_notes(Instant now, Out& out) {
  uint32_t left = report_from_ <= now ? notes_per_report_ : 0;
  const auto has_report = [&] { return left > 0 && !reports_.is_empty(); };
  while (untold_ > 0 || tells_again_ || has_report()) {
    const std::span<uint8_t> space = out.note_space(settings_.note_bytes);
    if (space.empty()) return false;
    NoteWriter writer(space);
    const uint16_t copies = untold_ > 0 ? settings_.note_copies : uint16_t{1};
    write_completed(writer);
    if (has_report()) {
      write_reports(writer);
      report_from_ = now + times_.nack_gap;
      --left;
    }
    if (!writer.is_empty()) out.note(writer.used(), copies);
  }
  return true;
}

void RepeatSink::write_reports(NoteWriter& writer) {
  while (!reports_.is_empty()) {
    SinkMessage* message = find_open(reports_.front());
    if (message != nullptr && !write_sections(*message, writer)) return;
    reports_.pop();
  }
}

/// Names what is complete, each message in `tellings` notes, the untold ones for certain.
void RepeatSink::write_completed(NoteWriter& writer) {
  if (untold_ == 0 && !tells_again_) return;
  tells_again_ = false;
  // At most half of a note, so that sections move on as well.
  const size_t room = settings_.note_bytes / 2 / sizeof(be32);
  const size_t count = std::min(completed_.count(), room);
  for (size_t i = 0; i < count; ++i) {
    Completed message = completed_.pop();
    writer.completed(message.sequence);
    if (message.left == tellings) --untold_;
    if (--message.left > 0) {
      completed_.try_push(message);
    } else if (SinkMessage* const named = messages_.find(message.sequence)) {
      named->is_named = false;
    }
  }
}

/// False when the sections did not fit whole; what is left of them stays in the message.
bool RepeatSink::write_sections(SinkMessage& message, NoteWriter& writer) {
  if (!message.report.is_empty() && !write_state(message, writer)) return false;
  if (names_what_it_wants() && !write_wanted(message, writer)) return false;
  message.is_reporting = false;
  return true;
}

bool RepeatSink::write_state(SinkMessage& message, NoteWriter& writer) {
  const Received& received = message.received;
  // The core's bitmap ends where the message does: of one that is all in place, its last word.
  const uint32_t last = received.end() == 0 ? 0 : (received.end() - 1) / 64;
  const uint32_t first = std::min(std::max(message.report.first, received.cumulative) / 64, last);
  const uint32_t end = std::min((std::max(message.report.end, first * 64 + 1) + 63) / 64, last + 1);
  const uint32_t overdue = names_what_it_wants() ? 0 : message.overdue;
  const Section section{message.sequence, received.cumulative, overdue, first, end - first};
  const auto word_at = [&](uint32_t index) { return received.word(index); };
  const uint32_t written = writer.section(section, word_at);
  message.report.first = (first + written) * 64;
  if (written < section.word_count) return false;
  message.report = {};
  return true;
}

bool RepeatSink::write_wanted(SinkMessage& message, NoteWriter& writer) {
  const Received& received = message.received;
  const SlotRun slots = received.holes(message.wanted_report);
  message.wanted_report = {};
  if (slots.is_empty()) return true;
  const uint32_t first = slots.first / 64, end = (slots.end + 63) / 64;
  const Section section{message.sequence, received.cumulative, note_layout::wanted, first,
                        end - first};
  const auto word_at = [&](uint32_t index) {
    return wanted_word(message, index) & ~received.word(index);
  };
  const uint32_t written = writer.section(section, word_at);
  if (written < section.word_count) message.wanted_report = {(first + written) * 64, slots.end};
  return written == section.word_count;
}

// ---- decisions ----------------------------------------------------------------------------------

void RepeatSink::decide(Instant now, Out& out) {
  find_losses(now);
  find_lost_tails(now);
  ask_again(now);
  tick(now);
  if (finish(out) && write_notes(now, out)) {
    if (!completed_.is_empty()) tick_at_ = std::min(tick_at_, now + times_.ack_interval);
    arm(out);
  }
}

bool RepeatSink::finish(Out& out) {
  while (!finished_.is_empty()) {
    SinkMessage* message = messages_.find(finished_.front());
    if (message != nullptr && !message->is_finished) {
      const auto status = message->was_given_up ? CW_FINISH_GIVEN_UP : CW_FINISH_OK;
      if (!out.finish(message->sequence, status)) return false;
      message->is_finished = true;
    }
    finished_.pop();
  }
  return true;
}

/// What is over leaves no timer behind.
void RepeatSink::drop_stale(RangeFifo& fifo) {
  while (!fifo.is_empty() && find_open(fifo.front().message) == nullptr) fifo.pop();
}

void RepeatSink::arm(Out& out) {
  for (RangeFifo* fifo : {&suspected_, &tails_, &asked_}) drop_stale(*fifo);
  Instant at = std::min(
      {tick_at_, tails_.due(times_.tail_quiet), asked_.due(times_.nack_repeat), give_up_at_});
  if (!suspected_.is_empty())
    at = std::min(at, std::max(suspected_.due(times_.budget), report_from_));
  if (!reports_.is_empty()) at = std::min(at, report_from_);
  if (at != armed_at_ && out.timer(0, at)) armed_at_ = at;
}

}  // namespace cw::policy
