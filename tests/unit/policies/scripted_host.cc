#include "tests/unit/policies/scripted_host.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw::policy_test {

Host::Host(const cw_policy_ops& ops, std::map<std::string, double> values, Line line,
           uint32_t messages, uint32_t slots_max, uint32_t decision_capacity)
    : line_(std::move(line)), ops_(ops), slots_max_(slots_max) {
  for (uint32_t i = 0; i < ops.param_count; ++i) {
    const auto value = values.find(ops.params[i].name);
    params_.push_back(value == values.end() ? ops.params[i].initial : value->second);
  }
  const cw_env bare = make_env(CW_SOURCE, messages);
  cw_path_facts path{};
  const cw_fact_link link{1, 0, bare.rate_bps, line_.rtt.ns(), &path};
  if (line_.is_coded && ops.limits != nullptr) ops.limits(&bare, &link, &needs_);
  layout_ = {0, static_cast<uint16_t>(needs_.rows), static_cast<uint8_t>(needs_.k),
             static_cast<uint8_t>(needs_.rows == 0 ? 0 : needs_.m_cap / needs_.rows)};
  for (uint32_t role : {CW_SOURCE, CW_SINK}) {
    End& end = ends_[role];
    end.env = make_env(role, messages);
    end.decisions.resize(decision_capacity);
    end.note_bytes.resize(4096);
    char why[256] = "";
    CW_ASSERT(ops.create(&end.env, &end.policy, why, sizeof why) == 0);
  }
  tell_link();
}

Host::~Host() {
  for (End& end : ends_) ops_.destroy(end.policy);
}

// ---- what the application does -----------------------------------------------------------------
void Host::open(uint32_t message) {
  for (uint32_t role : {CW_SINK, CW_SOURCE}) {
    End& end = ends_[role];
    end.messages[message].state.assign(std::max(ops_.message_state_bytes, 1u), 0);
    // What lies behind the last slot is somebody else's: no policy has any business there.
    auto& bits = end.messages[message].bits;
    bits.assign((slots_max_ + 63) / 64, 0);
    bits.push_back(0xa5a5'a5a5'a5a5'a5a5);
    end.messages[message].repair.assign(end.env.repair_slots_max / 64 + 1, 0);
    cw_fact_opened fact{};
    fact.message = message;
    fact.state = end.messages[message].state.data();
    fact.slots = CW_UNKNOWN;
    fact.deadline_ns = role == CW_SOURCE ? deadline.ns() : CW_NEVER_NS;
    tell(end, ops_.opened, fact);
  }
}

void Host::append(uint32_t message, uint32_t first, uint32_t count) {
  cw_fact_appended fact{message, first, count, 0, state(CW_SOURCE, message)};
  tell(ends_[CW_SOURCE], ops_.appended, fact);
  Message& filling = ends_[CW_SOURCE].messages[message];
  filling.appended = std::max(filling.appended, first + count);
  fill_blocks(message, false);
}

void Host::close(uint32_t message, uint32_t slots) {
  fill_blocks(message, true);
  cw_fact_closed fact{message, slots, state(CW_SOURCE, message)};
  tell(ends_[CW_SOURCE], ops_.closed, fact);
  at(std::max(now_, line_free_) + line_.rtt / 2, [=, this] { close_sink(message, slots); });
}

void Host::close_sink(uint32_t message, uint32_t slots) {
  if (!ends_[CW_SINK].messages.contains(message)) return;
  ends_[CW_SINK].messages[message].slots = slots;
  cw_fact_closed at_sink{message, slots, state(CW_SINK, message)};
  tell(ends_[CW_SINK], ops_.closed, at_sink);
}

void Host::send(uint32_t message, uint32_t slots) {
  open(message);
  append(message, 0, slots);
  close(message, slots);
}

void Host::note(uint32_t role, const std::vector<uint8_t>& bytes) {
  cw_fact_note fact{static_cast<uint32_t>(bytes.size()), 0, bytes.data()};
  tell(ends_[role], ops_.note, fact);
}

void Host::expire(uint32_t role, uint32_t message, uint32_t first, uint32_t count) {
  cw_fact_expired fact{message, first, count, 0, state(role, message)};
  tell(ends_[role], ops_.expired, fact);
}

void Host::lost(uint32_t message, uint32_t first, uint32_t count) {
  cw_fact_lost fact{message, first, count, 0, 0, state(CW_SINK, message)};
  tell(ends_[CW_SINK], ops_.lost, fact);
}

void Host::drain(Duration by) {
  for (End& end : ends_) {
    if (ops_.drain == nullptr) continue;  // like every fact
    call(end, [&](cw_out* out) { ops_.drain(end.policy, (now_ + by).ns(), now_.ns(), out); });
  }
}

// ---- time --------------------------------------------------------------------------------------
void Host::run(Instant until) {
  for (;;) {
    Instant next = events_.empty() ? Instant::never() : events_.begin()->first;
    for (End& end : ends_) {
      for (auto& [cookie, when] : end.timers) next = std::min(next, when);
    }
    if (next > until || next == Instant::never()) break;
    now_ = std::max(now_, next);
    if (!events_.empty() && events_.begin()->first <= now_) {
      const auto action = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      action();
    } else {
      fire_timers();
    }
  }
  if (until < Instant::from_ns(3'600'000'000'000)) now_ = std::max(now_, until);
}

// ---- what was seen -----------------------------------------------------------------------------
std::vector<Transmission> Host::resent() const {
  std::vector<Transmission> result;
  for (const Transmission& t : sent) {
    if (t.kind == CW_SEND_RESEND) result.push_back(t);
  }
  return result;
}

bool Host::has_timer() const {
  for (const End& end : ends_) {
    if (!end.timers.empty()) return true;
  }
  return false;
}

// ---- facts -------------------------------------------------------------------------------------
cw_env Host::make_env(uint32_t role, uint32_t messages) const {
  cw_env env{};
  env.size = sizeof env;
  env.role = role;
  env.seat = CW_SEAT_STREAM;
  env.peers = 1;
  env.messages = messages;
  env.data_slots_max = slots_max_;
  env.chunk_slots = 1;
  env.paths = line_.paths;
  env.note_bytes_max = 1024;
  env.payload_bytes = 4096;
  env.slot_wire_bytes = 4170;
  env.rate_bps = 25'000'000'000;
  env.params = params_.data();
  env.rows = needs_.rows;
  env.k = needs_.k;
  env.m_cap = needs_.m_cap;
  env.codecs = 2;
  const uint32_t block = std::max(env.rows * env.k, 1u);
  env.repair_slots_max = (slots_max_ + block - 1) / block * env.m_cap;
  return env;
}

void Host::tell_link() {
  std::vector<cw_path_facts> paths(line_.paths);
  for (uint32_t i = 0; i < line_.paths; ++i) {
    const int64_t rtt = (line_.rtt + (i == 1 ? line_.skew : Duration())).ns();
    paths[i].rtt_min_ns = paths[i].rtt_smooth_ns = rtt;
    paths[i].reorder_ns = line_.reorder.ns();
    paths[i].is_up = 1;
    paths[i].loss = line_.loss;
    paths[i].burst_mean = line_.burst_mean;
  }
  cw_fact_link fact{line_.paths, 0, 25'000'000'000, line_.rtt.ns(), paths.data()};
  for (End& end : ends_) tell(end, ops_.link, fact);
}

void* Host::state(uint32_t role, uint32_t message) {
  return ends_[role].messages.at(message).state.data();
}

void Host::call(End& end, const std::function<void(cw_out*)>& function) {
  cw_out out{};
  out.decisions = end.decisions.data();
  out.decision_capacity = static_cast<uint32_t>(end.decisions.size());
  out.note_bytes = end.note_bytes.data();
  out.note_capacity = static_cast<uint32_t>(end.note_bytes.size());
  function(&out);
  std::vector<cw_decision> taken;
  std::vector<std::vector<uint8_t>> notes_taken;
  for (uint32_t rounds = 0;; ++rounds) {
    CW_ASSERT(rounds < 200'000);
    for (uint32_t i = 0; i < out.decision_count; ++i) {
      const cw_decision& d = out.decisions[i];
      taken.push_back(d);
      if (d.kind != CW_DECIDE_NOTE) continue;
      CW_ASSERT(d.u.note.offset + d.u.note.count <= out.note_count);
      const uint8_t* bytes = out.note_bytes + d.u.note.offset;
      notes_taken.emplace_back(bytes, bytes + d.u.note.count);
    }
    if (out.more == 0) break;
    out.decision_count = out.note_count = out.more = 0;
    ops_.resume(end.policy, now_.ns(), &out);
  }
  size_t next_note = 0;
  for (const cw_decision& d : taken) {
    ++decisions;
    if (d.kind == CW_DECIDE_NOTE) {
      act_note(end, notes_taken[next_note++]);
    } else {
      act(end, d);
    }
  }
}

// ---- decisions ---------------------------------------------------------------------------------
void Host::act(End& end, const cw_decision& d) {
  switch (d.kind) {
    case CW_DECIDE_SEND:
      return act_send(d.u.send);
    case CW_DECIDE_CODE:
      return act_code(end, d.u.code);
    case CW_DECIDE_LAYOUT:
      layouts.push_back(d.u.layout);
      layout_ = d.u.layout;
      return;
    case CW_DECIDE_RELEASE:
      released_up_to = d.u.release.up_to;
      return;
    case CW_DECIDE_FINISH:
      return act_finish(end, d.u.finish);
    case CW_DECIDE_TIMER:
      if (d.u.timer.at_ns == CW_NEVER_NS) {
        end.timers.erase(d.u.timer.cookie);
      } else {
        end.timers[d.u.timer.cookie] = Instant::from_ns(d.u.timer.at_ns);
      }
      return;
    default:
      CW_ASSERT(false);
  }
}

void Host::act_note(End& end, std::vector<uint8_t> bytes) {
  const uint32_t to = &end == &ends_[CW_SOURCE] ? CW_SINK : CW_SOURCE;
  note_bytes_sent += bytes.size();
  if (line_.is_note_lost(notes++, to == CW_SOURCE)) return;
  at(now_ + line_.rtt / 2, [this, to, bytes = std::move(bytes)] { note(to, bytes); });
}

void Host::act_finish(End& end, const cw_finish& finish) {
  const bool is_source = &end == &ends_[CW_SOURCE];
  CW_ASSERT(finish.first == 0 && end.messages.contains(finish.message));
  if (finish.count != CW_UNKNOWN) {  // its front, which nobody need keep
    CW_ASSERT(is_source && finish.status == CW_FINISH_OK);
    return;
  }
  finished_with_holes +=
      !is_source && finish.status == CW_FINISH_OK && has_holes(end.messages[finish.message]);
  (is_source ? finished_at_source : finished_at_sink)[finish.message] = now_;
  (is_source ? status_at_source : status_at_sink)[finish.message] = finish.status;
  at(now_, [this, &end, message = finish.message] { end_message(end, message); });
  // Clear-to-send says which messages are retired; it is repeated until it gets through.
  if (is_source) return;
  at(now_ + line_.rtt * 20, [this, message = finish.message] {
    if (!ends_[CW_SOURCE].messages.contains(message)) return;
    finished_at_source[message] = now_;
    end_message(ends_[CW_SOURCE], message);
  });
}

bool Host::has_holes(const Message& message) {
  for (uint32_t slot = 0; slot < message.slots; ++slot) {
    if (message.slots == CW_UNKNOWN || !has_bit(message.bits, slot)) return true;
  }
  return false;
}

void Host::end_message(End& end, uint32_t message) {
  const auto open = end.messages.find(message);
  if (open == end.messages.end()) return;
  // The sink may still decode what the source has done with.
  if (&end == &ends_[CW_SOURCE]) ended_codes_[message] = std::move(open->second.codes);
  ops_.ended(end.policy, message, open->second.state.data(), now_.ns());
  end.messages.erase(open);
}

void Host::act_send(const cw_send& send) {
  const bool is_repair = send.kind == CW_SEND_REPAIR;
  const uint32_t first = is_repair ? slots_max_ : 0;
  const uint32_t count = is_repair ? ends_[CW_SOURCE].env.repair_slots_max : slots_max_;
  CW_ASSERT(send.count > 0 && send.stride == 1 && send.first >= first);
  CW_ASSERT(send.first + send.count <= first + count);
  (is_repair ? repair_sends : sends).push_back(send);
  if (line_.is_refused(send)) {
    at(now_, [this, send] { refuse(send, line_.refusal); });
    return;
  }
  const Instant from = std::max(now_, Instant::from_ns(send.not_before_ns));
  if (from > now_) {
    cw_send later = send;
    later.not_before_ns = 0;
    at(from, [this, later] { leave(later); });
  } else {
    leave(send);
  }
}

void Host::leave(const cw_send& send) {
  for (uint32_t first = 0; first < send.count; first += line_.burst) {
    const uint32_t count = std::min(line_.burst, send.count - first);
    line_free_ = std::max(line_free_, now_) + line_.slot_time * count;
    const Instant departed = line_free_;
    at(departed, [this, send, first, count] { depart(send, send.first + first, count); });
  }
}

void Host::refuse(const cw_send& send, cw_refusal reason) {
  if (ops_.refused == nullptr) return;
  const bool has_state =
      reason != CW_REFUSED_QUOTA && ends_[CW_SOURCE].messages.contains(send.message);
  cw_fact_refused fact{send.message,
                       send.first,
                       send.count,
                       1,
                       CW_DECIDE_SEND,
                       static_cast<uint16_t>(reason),
                       0,
                       has_state ? state(CW_SOURCE, send.message) : nullptr};
  tell(ends_[CW_SOURCE], ops_.refused, fact);
}

// ---- the line ----------------------------------------------------------------------------------
void Host::depart(const cw_send& send, uint32_t first, uint32_t count) {
  if (!ends_[CW_SOURCE].messages.contains(send.message)) return;
  std::map<Duration, std::vector<uint32_t>> arriving;
  auto& attempts = ends_[CW_SOURCE].messages[send.message].attempts;
  for (uint32_t slot = first; slot < first + count; ++slot) {
    const Transmission t{send.message, slot, attempts[slot]++, send.kind, now_};
    const bool is_repair = slot >= slots_max_;
    if (is_repair)
      CW_ASSERT(ends_[CW_SOURCE].messages[send.message].codes.is_encoded(slot - slots_max_));
    (is_repair ? repairs : sent).push_back(t);
    if (line_.is_lost(t)) continue;
    arriving[line_.lateness(t)].push_back(slot);
    if (line_.is_doubled(t)) arriving[line_.lateness(t) + line_.rtt / 64].push_back(slot);
  }
  for (auto& [late, slots] : arriving) {
    at(now_ + line_.rtt / 2 + late,
       [this, message = send.message, batch = std::move(slots)] { arrive(message, batch); });
  }
  cw_fact_sent fact{
      send.message, first, count, 1, 0, 0, send.kind, now_.ns(), state(CW_SOURCE, send.message)};
  tell(ends_[CW_SOURCE], ops_.sent, fact);
}

void Host::arrive(uint32_t sequence, const std::vector<uint32_t>& slots) {
  End& sink = ends_[CW_SINK];
  if (!sink.messages.contains(sequence)) return;
  arrivals += slots.size();
  tell_arrived(sequence, slots);
}

void Host::tell_arrived(uint32_t sequence, const std::vector<uint32_t>& slots) {
  End& sink = ends_[CW_SINK];
  Message& message = sink.messages[sequence];
  cw_fact_arrived fact{};
  fact.message = sequence;
  const bool is_repair = slots.front() >= slots_max_;
  const uint32_t base = is_repair ? slots_max_ : 0;
  const uint32_t word_first = (slots.front() - base) / 64;
  const uint32_t word_count = (slots.back() - base) / 64 - word_first + 1;
  for (uint32_t slot : slots) {
    uint64_t& word = (is_repair ? message.repair : message.bits)[(slot - base) / 64];
    const uint64_t bit = uint64_t{1} << ((slot - base) % 64);
    fact.duplicates += (word & bit) != 0;
    word |= bit;
    if (!is_repair) message.highest = std::max(message.highest, slot + 1);
  }
  if (is_repair) {
    fact.repair_word_first = static_cast<uint16_t>(word_first);
    fact.repair_word_count = static_cast<uint16_t>(word_count);
  } else {
    fact.word_first = word_first;
    fact.word_count = word_count;
  }
  while (fact.first_missing < slots_max_ && has_bit(message.bits, fact.first_missing)) {
    ++fact.first_missing;
  }
  fact.highest = message.highest;
  fact.slots = message.slots;
  fact.data = message.bits.data();
  fact.repair = sink.env.repair_slots_max > 0 ? message.repair.data() : nullptr;
  fact.state = message.state.data();
  tell(sink, ops_.arrived, fact);
}

void Host::fire_timers() {
  for (End& end : ends_) {
    for (auto& [cookie, when] : end.timers) {
      if (when > now_) continue;
      const uint64_t fired = cookie;
      end.timers.erase(fired);
      call(end, [&](cw_out* out) { ops_.timer(end.policy, fired, now_.ns(), out); });
      return;
    }
  }
}

}  // namespace cw::policy_test
