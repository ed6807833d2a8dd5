#include "tests/unit/policies/endpoint_world.h"

#include <algorithm>
#include <string>

namespace cw::policy_test {
namespace {

std::vector<double> params_of(const cw_policy_ops& ops,
                              const std::map<std::string, double>& wanted) {
  std::vector<double> values;
  for (uint32_t i = 0; i < ops.param_count; ++i) {
    const auto found = wanted.find(ops.params[i].name);
    values.push_back(found == wanted.end() ? ops.params[i].initial : found->second);
  }
  return values;
}

bool has(const std::vector<uint64_t>& bits, uint32_t slot) {
  return (bits[slot / 64] >> slot % 64 & 1) != 0;
}

}  // namespace

EndpointWorld::EndpointWorld(const cw_policy_ops& ops, Surroundings surroundings,
                             const cw_policy_ops& fallback)
    : around(std::move(surroundings)),
      ops_(ops),
      params_(params_of(ops, around.params)),
      fallback_params_(params_of(fallback, {})) {
  const sdr::EndpointSeatOptions options{.policy = choice(),
                                         .fallback = {&fallback, fallback_params_},
                                         .quota = around.quota,
                                         .peers = around.peers,
                                         .messages = around.messages,
                                         .data_slots_max = around.slots_max,
                                         .payload_bytes = payload_bytes,
                                         .slot_wire_bytes = wire_bytes,
                                         .paths = 2,
                                         .rate = around.line};
  auto made = sdr::EndpointSeat::make(options, *this, now);
  CW_ASSERT(made);
  seat = std::move(*made);
  tell_link();
}

void EndpointWorld::tell_link() {
  cw_path_facts paths[2] = {};
  for (cw_path_facts& path : paths) {
    path.rtt_min_ns = path.rtt_smooth_ns = around.rtt.ns();
    path.rtt_var_ns = around.rtt_var.ns();
    path.reorder_ns = around.reorder.ns();
    path.is_up = 1;
  }
  seat->link({.paths = 2,
              .reserved = 0,
              .rate_bps = around.line.bps(),
              .rtt_ns = around.rtt.ns(),
              .path = paths},
             now);
}

// ---- what is sent ----

void EndpointWorld::open_step(uint32_t number, const std::vector<Sending>& list, Instant deadline,
                              bool tells_slots) {
  Step& step = steps_[number];
  step.deadline = deadline;
  for (const Sending& each : list) {
    step.expected += uint64_t{each.slots} * payload_bytes;
    ++step.sources;
  }
  for (const Sending& each : list) {
    Message& message = messages_[each.message];
    message.peer = each.peer;
    message.slots = each.slots;
    message.step = number;
    message.tells_slots = tells_slots;
    message.bits.assign((around.slots_max + 63) / 64, 0);
    open.insert(each.message);
    seat->opened(each.message, tells_slots ? each.slots : CW_UNKNOWN, now);
    tell_message_step(each.message);
  }
  tell_step(number);
  end_finished();
}

void EndpointWorld::send(const Sending& sending) {
  const uint32_t number = sending.message;
  messages_[number].peer = sending.peer;
  messages_[number].slots = sending.slots;
  const Duration pace = std::max(sending.pace, slot_time());
  for (uint32_t slot = 0; slot < sending.slots; ++slot) {
    at(sending.begins + pace * slot, [this, number, slot] {
      messages_[number].sent_end = std::max(messages_[number].sent_end, slot + 1);
      leave(number, slot);
      if (slot + 1 == messages_[number].slots) say_departed(number, Instant());
    });
  }
}

void EndpointWorld::run_step(uint32_t step, uint32_t peers, uint32_t slots) {
  // All at once, each at its share of the line, which is left a tenth for answers.
  const Duration pace = slot_time() * peers * 11 / 10;
  std::vector<Sending> list;
  for (uint32_t peer = 0; peer < peers; ++peer)
    list.push_back({step * peers + peer, peer, slots, now + slot_time() * peer, pace});
  open_step(step, list);
  for (const Sending& each : list) send(each);
  run();
}

void EndpointWorld::leave(uint32_t number, uint32_t slot) {
  Message& message = messages_[number];
  const Datagram datagram{number, message.peer, slot, message.attempts[slot]++, now};
  resent += datagram.attempt > 0;
  const bool is_lost = around.is_lost(datagram);
  lost += is_lost;
  if (is_lost) return;
  // Into the queue before the receiver's line, which is a FIFO; lateness comes behind it.
  line_free_ = std::max(line_free_, now + around.rtt / 2) + slot_time();
  const Instant arrives = line_free_ + around.lateness(datagram);
  const int count = around.is_doubled(datagram) ? 2 : 1;
  for (int i = 0; i < count; ++i) at(arrives, [this, number, slot] { arrive(number, slot); });
}

void EndpointWorld::arrive(uint32_t number, uint32_t slot) {
  if (!open.contains(number)) return;  // dropped: nobody expects it
  Message& message = messages_[number];
  ++arrivals;
  if (touched_.insert(number).second) {
    message.word_first = CW_UNKNOWN;
    message.word_end = message.duplicates = 0;
  }
  if (has(message.bits, slot)) {
    ++copies;
    ++message.duplicates;
    return;
  }
  message.bits[slot / 64] |= uint64_t{1} << slot % 64;
  message.word_first = std::min(message.word_first, slot / 64);
  message.word_end = std::max(message.word_end, slot / 64 + 1);
  message.highest = std::max(message.highest, slot + 1);
  while (message.first_missing < message.slots && has(message.bits, message.first_missing)) {
    ++message.first_missing;
  }
  outstanding -= message.asked.erase(slot);
  Step& step = steps_[message.step];
  step.received += payload_bytes;
  step.done += ++message.in_place == message.slots;
  moved_steps_.insert(message.step);
}

// ---- what is asked for ----

bool EndpointWorld::try_ask(const cw_ask& ask, Instant) {
  Message& message = messages_.at(ask.message);
  if (around.is_ask_refused(ask)) return false;
  asks_of_others += ask.peer != message.peer;
  settle_outstanding();
  const uint32_t end =
      ask.count == CW_UNKNOWN ? message.slots : std::min(ask.first + ask.count, message.slots);
  Asked asked{ask, now, 0};
  std::vector<uint32_t> wanted;
  for (uint32_t slot = ask.first; slot < end; ++slot) {
    if (has(message.bits, slot)) continue;
    ++asked.missing;
    wanted.push_back(slot);
    outstanding += message.asked.emplace(slot, now).second;
    message.asked[slot] = now;
    overdue_.emplace(now + answer_time, std::pair(ask.message, slot));
  }
  outstanding_most = std::max(outstanding_most, outstanding);
  asked_slots += asked.missing;
  asks_for_nothing += asked.missing == 0;
  asks.push_back(asked);
  if (around.is_ask_lost(ask)) return true;
  at(now + around.rtt / 2,
     [this, number = ask.message, wanted, asked_at = now] { answer(number, wanted, asked_at); });
  return true;
}

void EndpointWorld::settle_outstanding() {
  while (!overdue_.empty() && overdue_.begin()->first <= now) {
    const auto [number, slot] = overdue_.begin()->second;
    overdue_.erase(overdue_.begin());
    auto& asked = messages_[number].asked;
    const auto found = asked.find(slot);
    if (found == asked.end() || found->second + answer_time > now) continue;
    asked.erase(found);
    --outstanding;
  }
}

/// What has not left yet leaves in its turn.
void EndpointWorld::answer(uint32_t number, const std::vector<uint32_t>& wanted, Instant asked_at) {
  for (const uint32_t slot : wanted) {
    if (slot < messages_[number].sent_end) leave(number, slot);
  }
  say_departed(number, asked_at);
}

/// Behind all that is in the queue by now.
void EndpointWorld::say_departed(uint32_t number, Instant answered) {
  if (!around.tells_departed) return;
  const cw_fact_departed fact{.message = number,
                              .slots = messages_[number].sent_end,
                              .answered_ns = answered.ns(),
                              .state = nullptr};
  at(std::max(line_free_, now + around.rtt / 2), [this, fact] {
    tell_burst();
    if (open.contains(fact.message)) seat->departed(fact, now);
  });
}

void EndpointWorld::on_finish(const cw_finish& finish, Instant) {
  CW_ASSERT(open.contains(finish.message));
  const Message& message = messages_[finish.message];
  CW_ASSERT(message.in_place == message.slots);  // whole, if it says so
  finished.emplace(finish.message, now);
  to_end_.push_back(finish.message);
}

void EndpointWorld::on_quarantine(Instant) {
  ++quarantines;
  for (const uint32_t number : open) {
    Message& message = messages_[number];
    seat->opened(number, message.tells_slots ? message.slots : CW_UNKNOWN, now);
    tell_message_step(number);
    message.word_first = message.duplicates = 0;
    message.word_end = static_cast<uint32_t>(message.bits.size());
    if (message.in_place > 0) tell_arrived(number, message);
  }
  for (const auto& [number, step] : steps_) tell_step(number);
}

// ---- what the policy is told ----

void EndpointWorld::tell_message_step(uint32_t number) {
  const Message& message = messages_[number];
  seat->step({.step = message.step,
              .message = number,
              .peer = message.peer,
              .sources = 1,
              .expected_bytes = uint64_t{message.slots} * payload_bytes,
              .received_bytes = uint64_t{message.in_place} * payload_bytes,
              .rate_bps = around.line.bps(),
              .deadline_ns = steps_[message.step].deadline.ns(),
              .rtt_ns = around.rtt.ns(),
              .rtt_var_ns = around.rtt_var.ns()},
             now);
}

void EndpointWorld::tell_step(uint32_t number) {
  const Step& step = steps_[number];
  seat->step({.step = number,
              .message = CW_UNKNOWN,
              .peer = CW_UNKNOWN,
              .sources = step.sources,
              .sources_done = step.done,
              .expected_bytes = step.expected,
              .received_bytes = step.received,
              .rate_bps = around.line.bps(),
              .deadline_ns = step.deadline.ns(),
              .rtt_ns = around.rtt.ns(),
              .rtt_var_ns = around.rtt_var.ns()},
             now);
}

void EndpointWorld::tell_arrived(uint32_t number, Message& message) {
  const bool has_new = message.word_end > 0;
  seat->arrived({.message = number,
                 .word_first = has_new ? message.word_first : 0,
                 .word_count = has_new ? message.word_end - message.word_first : 0,
                 .first_missing = message.first_missing,
                 .highest = message.highest,
                 .slots = message.slots,
                 .duplicates = static_cast<uint16_t>(message.duplicates),
                 .data = message.bits.data()},
                now);
}

void EndpointWorld::tell_burst() {
  const std::set<uint32_t> touched = std::exchange(touched_, {});
  for (const uint32_t number : touched) {
    if (open.contains(number)) tell_arrived(number, messages_[number]);
  }
  for (const uint32_t number : std::exchange(moved_steps_, {})) tell_step(number);
}

void EndpointWorld::end_finished() {
  for (const uint32_t number : std::exchange(to_end_, {})) end(number);
}

void EndpointWorld::end(uint32_t number) {
  if (open.erase(number) == 0) return;
  outstanding -= messages_[number].asked.size();
  messages_[number].asked.clear();
  touched_.erase(number);
  seat->ended(number, now);
}

void EndpointWorld::restart() {
  auto next = seat->make_instance(choice());
  CW_ASSERT(next);
  open.clear();
  touched_.clear();
  seat->restart(std::move(*next), now);
  tell_link();
}

void EndpointWorld::run(Instant until) {
  for (;;) {
    const Instant next =
        events_.empty() ? seat->next_due() : std::min(events_.begin()->first, seat->next_due());
    if (next > until || next == Instant::never()) break;
    now = std::max(now, next);
    while (!events_.empty() && events_.begin()->first <= now) {
      const auto action = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      action();
    }
    tell_burst();
    seat->on_time(now);
    end_finished();
  }
  if (until < Instant::from_ns(600'000'000'000)) now = std::max(now, until);
}

}  // namespace cw::policy_test
