#include "policies/parts/endpoint/ask_sink.h"

#include <algorithm>
#include <utility>

namespace cw::policy {
namespace {

auto missing_in(const AskedMessage& message) {
  return [&received = message.received](uint32_t index) { return ~received.word(index); };
}

}  // namespace

Ask* AskSink::rest_of(const AskedMessage& message) {
  Ask* ask = message.asks;
  while (ask != nullptr && !ask->is_rest) ask = ask->next;
  return ask;
}

// ---- what comes ----

void AskSink::on_silence(OpenMessage& message) { own(message).wants_rest = true; }

void AskSink::on_heard(OpenMessage& message, const cw_fact_arrived& fact, uint32_t highest_before,
                       Instant now) {
  AskedMessage& it = own(message);
  const uint64_t first = uint64_t{fact.word_first} * 64, end = first + fact.word_count * 64ull;
  for (Ask** at = &it.asks; *at != nullptr;) {
    Ask& ask = **at;
    if (ask.slots.first < end && ask.slots.end > first) count_in(it, ask, now);
    if (ask.missing == 0) {
      asks_.drop(*at);
    } else {
      at = &ask.next;
    }
  }
  if (it.received.highest > highest_before) it.wants_rest = false;
  if (it.was_asked) count_copies(it, fact.duplicates);
}

void AskSink::count_in(AskedMessage& message, Ask& ask, Instant now) {
  const uint32_t missing = message.missing(ask.slots), came = ask.missing - missing;
  // No answer takes less than half of the smoothed round trip: what comes sooner was under way.
  if (came > 0 && !ask.is_answered && now - ask.asked_at < rtt_of(message) / 2) {
    message.early = static_cast<uint16_t>(std::min(message.early + came, 65'535u));
    on_spurious(came, ask.is_rest);
  }
  asks_.set_missing(ask, missing);
  if (ask.is_rest) ask.tries = 0;  // its source speaks
}

/// Copies of what had come early are the answers to asks that have been counted.
void AskSink::count_copies(AskedMessage& message, uint32_t copies) {
  const uint32_t known = std::min<uint32_t>(copies, message.early);
  message.early = static_cast<uint16_t>(message.early - known);
  if (copies > known) on_spurious(copies - known, message.was_rest_asked);
}

bool AskSink::hears_departed(OpenMessage& message, const cw_fact_departed& fact, Instant now) {
  if (!believes_sources()) return false;
  AskedMessage& it = own(message);
  it.departed = std::max(it.departed, std::min(fact.slots, it.end(env_)));
  if (it.departed > it.received.highest) it.wants_rest = false;
  const Instant answered = Instant::from_ns(fact.answered_ns);
  for (Ask** at = &it.asks; *at != nullptr;) {
    Ask& ask = **at;
    const bool is_news = !ask.is_answered && ask.asked_at <= answered;
    if (is_news && ask.is_rest) {
      asks_.drop(*at);  // its holes are like any others
      continue;
    }
    if (is_news) {
      ask.is_answered = true;
      ask.asked_at = now;
      asks_.uncount(ask);
    }
    at = &ask.next;
  }
  return true;
}

void AskSink::on_end_known(OpenMessage& message) {
  AskedMessage& it = own(message);
  for (Ask** at = &it.asks; *at != nullptr;) {
    Ask& ask = **at;
    ask.slots.end = std::min(ask.slots.end, it.received.slots);
    asks_.set_missing(ask, it.missing(ask.slots));
    if (ask.missing == 0) {
      asks_.drop(*at);
    } else {
      at = &ask.next;
    }
  }
}

void AskSink::on_over(OpenMessage& message) {
  AskedMessage& it = own(message);
  while (it.asks != nullptr) asks_.drop(it.asks);
}

// ---- what waits ----

Instant AskSink::attend(OpenMessage& message, Instant now) {
  AskedMessage& it = own(message);
  if (it.step == nullptr) return Instant::never();
  scan(it, now);
  const Instant due = earliest(attend_holes(it, now), attend_asks(it, now), attend_rest(it, now));
  if (it.asked_end < it.due_end || it.wants_again || it.wants_rest) wait_for_room(it);
  return due;
}

void AskSink::scan(AskedMessage& message, Instant now) {
  const uint32_t passed = message.passed();
  if (passed > message.scanned) {
    const uint32_t from = std::max(message.scanned, message.received.cumulative);
    const bool has_hole = next_set(missing_in(message), from, passed) < passed;
    message.scanned = passed;
    if (has_hole) suspect(message, hole_wait(message, now), now);
  }
  if (message.is_end_passed()) hurry(message, now);
}

void AskSink::suspect(AskedMessage& message, Duration wait, Instant now) {
  // Part of an answer: the rest of it may be right behind.
  if (const Ask* rest = rest_of(message); rest != nullptr && rest->is_counted) {
    wait = std::max(wait, rest->asked_at + again_wait(message, 0) - now);
  }
  const bool joins = message.group_count > 0 && (message.group_count == message.groups_max ||
                                                 now - message.begun_at < wait / 4);
  if (!joins) {
    ++message.group_count;
    message.begun_at = now;
  }
  message.groups[message.group_count - 1] = {.end = message.scanned, .at = now, .wait = wait};
}

/// Nothing is to come behind these holes.
void AskSink::hurry(AskedMessage& message, Instant now) {
  if (message.group_count == 0 || rest_of(message) != nullptr) return;
  const Duration wait = hole_wait(message, now);
  for (uint32_t i = 0; i < message.group_count; ++i) {
    message.groups[i].wait = std::min(message.groups[i].wait, wait);
  }
}

Instant AskSink::attend_holes(AskedMessage& message, Instant now) {
  AskedMessage::Group* const groups = message.groups;
  while (message.group_count > 0) {
    const Instant due = groups[0].at + groups[0].wait;
    if (due > now) return due;
    message.due_end = groups[0].end;
    std::copy(groups + 1, groups + message.group_count, groups);
    --message.group_count;
  }
  return Instant::never();
}

Instant AskSink::attend_asks(AskedMessage& message, Instant now) {
  Instant next = Instant::never();
  for (Ask** at = &message.asks; *at != nullptr;) {
    Ask& ask = **at;
    const Instant lost = lost_at(message, ask, now);
    if (lost <= now) {
      give_up_answer(message, ask);
    } else if (ask.is_counted) {
      next = std::min(next, lost);
    }
    if (ask.missing == 0) {
      asks_.drop(*at);
      continue;
    }
    const Instant due = again_at(message, ask, now);
    message.wants_again |= due <= now;
    if (due > now) next = std::min(next, due);
    at = &ask.next;
  }
  return next;
}

void AskSink::give_up_answer(AskedMessage& message, Ask& ask) {
  asks_.uncount(ask);
  if (!ask.is_rest) return;
  // What is missing of its beginning is a hole now.
  ask.slots.first = std::clamp(message.received.highest, ask.slots.first, ask.slots.end);
  asks_.set_missing(ask, ask.slots.count());
}

Instant AskSink::lost_at(const AskedMessage& message, const Ask& ask, Instant now) const {
  return ask.asked_at + (ask.is_answered ? hole_wait(message, now) : again_wait(message, 0));
}

Instant AskSink::again_at(const AskedMessage& message, const Ask& ask, Instant now) const {
  if (ask.is_answered) return lost_at(message, ask, now);
  const Instant due = ask.asked_at + again_wait(message, ask.tries);
  // A source that speaks may well be getting there by itself.
  if (!ask.is_rest || !message.is_heard) return due;
  return std::max(due, message.heard_at + quiet_wait(message));
}

Instant AskSink::attend_rest(AskedMessage& message, Instant now) {
  const bool has_rest = message.passed() < message.end(env_);
  const bool is_cared_for = !message.is_heard || message.wants_rest || rest_of(message) != nullptr;
  if (!has_rest || is_cared_for) return Instant::never();
  const Instant due = message.heard_at + quiet_wait(message);
  if (due > now) return due;
  message.wants_rest = true;
  return Instant::never();
}

// ---- what is asked for ----

bool AskSink::say(AskedMessage& message, SlotRun slots, bool is_rest, Out& out) {
  const bool is_said = out.ask({.message = message.sequence,
                                .peer = message.peer,
                                .first = slots.first,
                                .count = slots.count()});
  if (!is_said) return false;
  message.was_asked = true;
  message.turn_slots += slots.count();
  message.was_rest_asked |= is_rest;
  on_asked(slots.count(), is_rest);
  return true;
}

Receiver::Asked AskSink::ask(OpenMessage& message, Instant now, Out& out) {
  AskedMessage& it = own(message);
  Asked asked = ask_again(it, now, out);
  if (asked == Asked::Enough) asked = ask_holes(it, now, out);
  if (asked == Asked::Enough) asked = ask_rest(it, now, out);
  if (asked != Asked::OutFull) it.turn_slots = 0;
  return asked;
}

Receiver::Asked AskSink::ask_again(AskedMessage& message, Instant now, Out& out) {
  for (Ask* ask = message.wants_again ? message.asks : nullptr; ask != nullptr; ask = ask->next) {
    if (again_at(message, *ask, now) > now) continue;
    give_up_answer(message, *ask);
    SlotRun slots = ask->is_rest ? ask->slots : message.received.holes(ask->slots);
    if (slots.is_empty()) {  // has just come, and is about to be told
      ask->asked_at = now;
      continue;
    }
    if (room() == 0) return out_of_room(message);
    if (slots.count() > room() && asks_.is_empty()) return out_of_room(message);
    const SlotRun all = slots;
    slots.end = std::min<uint64_t>(slots.end, uint64_t{slots.first} + room());
    if (!say(message, slots, ask->is_rest, out)) return Asked::OutFull;
    // What does not fit is due as well. Of the rest of a message it is what is behind.
    if (slots != all && !ask->is_rest) leave_over(message, *ask, {slots.end, all.end});
    ask->slots = slots;
    asks_.set_missing(*ask, message.missing(slots));
    if (!std::exchange(ask->is_answered, false)) {
      ask->tries = static_cast<uint8_t>(std::min(ask->tries + 1, 63));
    }
    asks_.count(*ask, now);
  }
  message.wants_again = false;
  return Asked::Enough;
}

void AskSink::leave_over(AskedMessage& message, Ask& ask, SlotRun slots) {
  Ask& other = asks_.add(ask.next, slots, false);
  other.asked_at = ask.asked_at;
  other.tries = ask.tries;
  other.is_answered = ask.is_answered;
  asks_.set_missing(other, message.missing(slots));
}

Receiver::Asked AskSink::ask_holes(AskedMessage& message, Instant now, Out& out) {
  while (message.asked_end < message.due_end) {
    const uint32_t from = std::max(message.asked_end, message.received.cumulative);
    SlotRun run = next_run(missing_in(message), std::min(from, message.due_end), message.due_end);
    if (run.is_empty()) {
      message.asked_end = message.due_end;
      break;
    }
    if (room() == 0 || asks_.is_empty()) return out_of_room(message);
    if (message.turn_slots >= turn_max()) return Asked::NotAll;
    run.end = std::min<uint64_t>(run.end, uint64_t{run.first} + std::min(room(), turn_max()));
    if (!say(message, run, false, out)) return Asked::OutFull;
    asks_.count(asks_.add(message.asks, run, false), now);
    message.asked_end = run.end;
  }
  return Asked::Enough;
}

Receiver::Asked AskSink::ask_rest(AskedMessage& message, Instant now, Out& out) {
  SlotRun rest{std::max(message.passed(), message.received.cumulative), message.end(env_)};
  if (message.wants_rest && !rest.is_empty()) {
    if (room() == 0 || asks_.is_empty()) return out_of_room(message);
    rest.end = std::min<uint64_t>(rest.end, uint64_t{rest.first} + std::min(room(), turn_max()));
    if (!say(message, rest, true, out)) return Asked::OutFull;
    asks_.count(asks_.add(message.asks, rest, true), now);
  }
  message.wants_rest = false;
  return Asked::Enough;
}

void AskSink::on_ask_refused(OpenMessage& message, const cw_fact_refused& fact, bool is_hopeless,
                             Instant now) {
  AskedMessage& it = own(message);
  Ask* ask = it.asks;
  while (ask != nullptr && !(ask->is_counted && ask->slots.first == fact.first)) ask = ask->next;
  if (ask == nullptr) return;
  asks_.uncount(*ask);
  // Soon again; one that cannot be is left to its back-off.
  if (!is_hopeless) ask->asked_at = now + timing_.rtt / 8 - again_wait(it, ask->tries);
}

}  // namespace cw::policy
