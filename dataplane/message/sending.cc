#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/message/messages.h"

namespace cw::group {
namespace {

constexpr uint32_t row_slots = 16;  // of one message, before it is another one's turn
constexpr uint32_t window_min = 16;
constexpr Duration probe_max = Duration::from_ms(64);
constexpr uint32_t told_lost_max = 64;  // slots of a run of which paths are told

uint32_t status_every(uint32_t window) { return std::max(1u, window / 4); }

}  // namespace

Outgoing* Messages::find_send(uint16_t to, uint32_t message) {
  const uint32_t place = send_index_.find(to, message);
  return place == MessageIndex::none ? nullptr : &sends_[place];
}

/// What a round trip holds, with what leaves until the next STATUS does.
uint32_t Messages::window_of(uint16_t to) const {
  const uint64_t bytes = line_rate().bytes_in(endpoint_.rtt(to) * 4 / 3).count();
  const uint64_t slots = bytes / endpoint_.packet_bytes();
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(slots, window_min, limits::slots_per_message_max));
}

MessageMarks Messages::marks_of(const SendPosting& posting, uint32_t window) const {
  const uint64_t step_slots = (posting.step_bytes + payload_bytes() - 1) / payload_bytes();
  return {.status_every = status_every(window),
          .source_slots = static_cast<uint32_t>(std::min<uint64_t>(step_slots, UINT32_MAX)),
          .is_last_message = posting.is_last};
}

void Messages::begin_sending(Outgoing& out, Instant now) {
  const MemberRow& row = membership().row(out.to);
  // Rank 0 knows keys before their owners know of the epoch.
  if (row.key != 0 && (row.is_in_epoch || out.to == 0)) {
    out.stage = Outgoing::Stage::Sending;
    out.window = window_of(out.to);
    endpoint_.want_status_every(endpoint_.outbox_of(place_of(out)), status_every(out.window));
    list(out);
    send_rows(now);
    out.probe_wait = probe_first(out, now);
  } else {
    out.stage = Outgoing::Stage::Waiting;
    out.next = peers_[out.to].waiting;
    peers_[out.to].waiting = place_of(out);
    out.probe_wait = endpoint_.rtt(out.to) * 2;
    if (out.next == PeerRow::none) say(RecordType::Offer, out.to, out.message, now);
  }
  out.probe_due = local(now) + out.probe_wait;
  arm(out);
}

/// Of a peer something has come, and so its key is known.
void Messages::wake_waiting(uint16_t from, Instant now) {
  if (peers_[from].waiting == PeerRow::none || membership().row(from).key == 0) return;
  uint32_t place = std::exchange(peers_[from].waiting, PeerRow::none);
  while (place != PeerRow::none) {
    Outgoing& out = sends_[place];
    place = std::exchange(out.next, PeerRow::none);
    timers_.cancel(out.timer);
    begin_sending(out, now);
  }
}

void Messages::forget_waiting(const Outgoing& out) {
  uint32_t* link = &peers_[out.to].waiting;
  while (*link != place_of(out)) link = &sends_[*link].next;
  *link = out.next;
}

/// What is ahead of an answer: slots that wait for our line, and the way there and back.
Duration Messages::probe_first(const Outgoing& out, Instant now) const {
  const Duration trip = endpoint_.rtt(out.to) + endpoint_.deviation(out.to) * 4;
  const bool has_left = endpoint_.outbox_left(endpoint_.outbox_of(place_of(out))) == out.slots;
  return has_left ? trip : endpoint_.backlog(now) + trip;
}

void Messages::arm(Outgoing& out) {
  out.armed_for = std::min(out.probe_due, out.deadline);
  out.timer = timers_.arm(uint64_t{place_of(out)} << 1 | 1, out.armed_for);
}

/// Its receiver speaks: OFFER is due when it has been silent for long enough again. A timer that
/// fires earlier is armed anew then.
void Messages::expect_answer(Outgoing& out, Instant now) {
  out.probe_wait = probe_first(out, now);
  out.probe_due = local(now) + out.probe_wait;
  if (out.armed_for <= out.probe_due) return;
  timers_.cancel(out.timer);
  arm(out);
}

void Messages::on_probe(Outgoing& out, Instant now) {
  const Clock at = local(now);
  if (at >= out.deadline) return end_send(out, {.reason = Reason::Late}, now);
  if (at >= out.probe_due) {
    say(RecordType::Offer, out.to, out.message, now);
    out.probe_wait = std::min(out.probe_wait * 2, probe_max);
    out.probe_due = at + out.probe_wait;
  }
  arm(out);
}

// ---- slots ----

uint32_t Messages::allowed(const Outgoing& out) const {
  const uint64_t end = std::min<uint64_t>(out.slots, uint64_t{out.in_place} + out.window);
  return end > out.sent ? static_cast<uint32_t>(end - out.sent) : 0;
}

void Messages::list(Outgoing& out) {
  if (out.is_listed || allowed(out) == 0) return;
  out.is_listed = listed_.try_push(place_of(out));
  CW_ASSERT(out.is_listed);
}

/// One row of each message in turn, as far as the line has little to do.
void Messages::send_rows(Instant now) {
  while (!listed_.is_empty() && endpoint_.queued_slots() < queued_slots_min) {
    Outgoing& out = sends_[listed_.front()];
    const uint32_t count = std::min(allowed(out), row_slots);
    if (out.stage == Outgoing::Stage::Sending && count > 0) {
      const SlotRow row{.landing = static_cast<uint16_t>(endpoint_.outbox_of(place_of(out))),
                        .is_message = true,
                        .kind = Kind::Unicast,
                        .to = out.to,
                        .first = out.sent,
                        .count = count};
      if (!endpoint_.try_push(row, now)) return;
      out.sent += count;
      endpoint_.spray().note_sent(out.to, count);
    }
    listed_.pop();
    out.is_listed = false;
    if (out.stage == Outgoing::Stage::Sending) list(out);
  }
}

// ---- what its receiver says ----

void Messages::on_status(uint16_t from, const Status& status, Instant now) {
  Outgoing* const out = find_send(from, status.message);
  if (out == nullptr) return;
  note_rtt(from, status, now);
  if (status.slots >= out->slots) return end_send(*out, {.is_whole = true}, now);
  // An answer that brings nothing new is no reason to ask as often as before.
  if (status.slots > out->in_place) expect_answer(*out, now);
  out->in_place = std::max(out->in_place, status.slots);
  if (out->stage != Outgoing::Stage::Sending) return;
  list(*out);
  send_rows(now);
}

void Messages::note_rtt(uint16_t from, const Status& status, Instant now) {
  constexpr uint32_t sample_max_us = 10'000'000;
  if (status.held_us == Status::held_unknown) return;
  const uint32_t sample_us = clock_us_of(now) - status.clock_us - status.held_us;
  if (sample_us > sample_max_us) return;  // hostile, or a datagram handed out ahead of its time
  const Duration sample = Duration::from_us(sample_us);
  endpoint_.membership().row(from).note_rtt(sample);
  rtt_.add(sample, now);
  const Duration change = link_rtt() > told_rtt_ ? link_rtt() - told_rtt_ : told_rtt_ - link_rtt();
  if (change * 4 > told_rtt_) tell_link(now);
}

void Messages::on_fetch(uint16_t from, const Fetch& fetch, Instant now) {
  if (fetch.source != rank() || fetch.message == 0) return;
  Outgoing* const out = find_send(from, fetch.message);
  if (out == nullptr) {
    const OpenNumbers& numbers = peers_[from].sent[is_for_pool(fetch.message) ? 1 : 0];
    if (numbers.is_past(number_of(fetch.message))) {
      say(RecordType::Cancel, from, fetch.message, now);
    }
    return;
  }
  if (fetch.step != out->step) {
    return end_send(*out, {.reason = Reason::UnlikeStep}, now);
  }
  if (out->stage != Outgoing::Stage::Sending) return;
  expect_answer(*out, now);
  bool is_answered = true;
  for (const Run& run : fetch.runs) is_answered &= try_resend(*out, run, now);
  if (is_answered) out->answered = fetch.number;
}

/// Those of the run that have left once. False: the line is busy with answers, and it will be asked
/// again.
bool Messages::try_resend(Outgoing& out, const Run& run, Instant now) {
  const uint32_t first = run.first.host();
  const uint32_t left = endpoint_.outbox_left(endpoint_.outbox_of(place_of(out)));
  const uint64_t end = std::min<uint64_t>(uint64_t{first} + run.count.host(), left);
  if (first >= end) return true;
  const auto count = static_cast<uint32_t>(end - first);
  for (uint32_t slot = first; slot < first + std::min(count, told_lost_max); ++slot) {
    endpoint_.spray().note_lost(out.to, out.message, slot);
  }
  const SlotRow row{.landing = static_cast<uint16_t>(endpoint_.outbox_of(place_of(out))),
                    .is_message = true,
                    .kind = Kind::Fetched,
                    .is_again = true,
                    .to = out.to,
                    .first = first,
                    .count = count};
  return endpoint_.try_push(row, now);
}

/// What leaves right behind the last slot tells the receiver what it need not wait for.
void Messages::on_all_left(size_t nth, bool is_again, Instant now) {
  Outgoing& out = sends_[nth];
  if (out.stage != Outgoing::Stage::Sending) return;
  out.answered_left = out.answered;
  if (is_again || out.sent == out.slots) say(RecordType::Offer, out.to, out.message, now);
}

void Messages::on_refuse(uint16_t from, const Refuse& refuse, Instant now) {
  Outgoing* const out = find_send(from, refuse.message);
  if (out != nullptr) end_send(*out, {.is_of_other_end = true, .reason = refuse.reason}, now);
}

bool Messages::write_offer(const Word& word, EnvelopeWriter& writer) const {
  const uint32_t place = send_index_.find(word.to, word.about);
  if (place == MessageIndex::none) return false;
  const Outgoing& out = sends_[place];
  return writer.try_add(Offer{.step = out.step,
                              .message = out.message,
                              .bytes = out.bytes,
                              .sent_slots = endpoint_.outbox_left(endpoint_.outbox_of(place)),
                              .answered = out.answered_left});
}

// ---- its end ----

void Messages::end_send(Outgoing& out, const Completion& how, Instant now) {
  const bool was_waiting = out.stage == Outgoing::Stage::Waiting;
  if (was_waiting && peers_[out.to].waiting != PeerRow::none) forget_waiting(out);
  timers_.cancel(out.timer);
  send_index_.remove(out.to, out.message);
  endpoint_.close_outbox(endpoint_.outbox_of(place_of(out)));
  out.stage = Outgoing::Stage::Leaving;
  out.is_whole = how.is_whole;
  out.is_of_other_end = how.is_of_other_end;
  out.reason = how.reason;
  const uint32_t row = out.message & pool_bit;
  peers_[out.to].sent[is_for_pool(out.message) ? 1 : 0].settle(
      [&](uint32_t number) { return find_send(out.to, number | row) != nullptr; });
  Completion noted = how;
  noted.message = out.message;
  noted.peer = out.to;
  noted.is_send = true;
  note_ending(noted);
  if (!how.is_whole && !how.is_of_other_end && !was_waiting) {
    say(RecordType::Cancel, out.to, out.message, now);
  }
  leaving_.push_back(place_of(out));
  out.ended_at = now;
  leave_all();
}

/// Its memory is the program's again once no packet names it.
void Messages::leave(Outgoing& out) {
  complete({.cookie = out.cookie,
            .bytes = out.bytes,
            .at = out.ended_at,
            .step = out.step,
            .message = out.message,
            .peer = out.to,
            .is_send = true,
            .is_whole = out.is_whole,
            .is_of_other_end = out.is_of_other_end,
            .reason = out.reason});
  out.stage = Outgoing::Stage::Free;
  free_sends_.push_back(place_of(out));
}

void Messages::leave_all() {
  std::erase_if(leaving_, [&](uint32_t place) {
    Outgoing& out = sends_[place];
    const bool is_named = endpoint_.outbox_under_way_count(endpoint_.outbox_of(place)) > 0;
    if (is_named || out.is_listed) return false;
    leave(out);
    return true;
  });
}

}  // namespace cw::group
