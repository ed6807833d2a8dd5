// The simplest policy that keeps every property of the suite: a message that is not acknowledged
// three RTTs after its last slot left is sent again as a whole. The broken policies beside this
// file are each this one with one thing changed.
//
//   note: message 4, big-endian. "All of it is in place."
#pragma once

#include <algorithm>
#include <cstring>

#include "dataplane/base/endian.h"
#include "policies/parts/adapt.h"
#include "policies/parts/array.h"
#include "policies/parts/messages.h"
#include "policies/parts/range_fifo.h"
#include "policies/parts/received.h"

namespace cw::conformance::broken {

using policy::Out;
using policy::SlotRun;

struct Message {
  uint32_t sequence;
  policy::Received received;  // at the source: only how many slots there are
  uint32_t appended_end, sent_end;
  Instant due;  // source: sent again as a whole then
  bool is_over, is_finished, was_given_up;
  bool needs_telling;  // sink
};

/// Both ends.
class End {
 public:
  explicit End(const cw_env& env) : messages_(env.messages) {}
  bool is_ready() const { return messages_.is_ready(); }

  void on_opened(const cw_fact_opened& fact, Instant) {
    Message& message = *policy::state_of<Message>(fact);
    message = {};
    message.sequence = fact.message;
    message.due = Instant::never();
    message.received.slots = fact.slots;
    messages_.try_add(fact.message, &message);
  }
  void on_expired(const cw_fact_expired& fact, Instant) {
    Message& message = *policy::state_of<Message>(fact);
    message.received.on_expired({fact.first, fact.first + fact.count});
    message.is_over |= message.received.is_complete();
  }
  void on_link(const cw_fact_link& fact, Instant) { rtt_ = Duration::from_ns(fact.rtt_ns); }
  void on_drain(Instant by, Instant now) { give_up_at_ = by - (by - now) / 8; }
  void on_timer(uint64_t, Instant now) {
    armed_at_ = Instant::never();
    if (now < give_up_at_) return;
    give_up_at_ = Instant::never();
    messages_.for_each([](Message& message) {
      message.was_given_up = !message.is_over;
      message.is_over = true;
    });
  }
  void on_ended(uint32_t sequence, void*, Instant) { messages_.remove(sequence); }

 protected:
  void finish(Out& out) {
    messages_.for_each([&](Message& message) {
      if (!message.is_over || message.is_finished) return;
      const auto status = message.was_given_up ? CW_FINISH_GIVEN_UP : CW_FINISH_OK;
      message.is_finished = out.finish(message.sequence, status);
    });
  }
  void arm(Instant at, Out& out) {
    at = std::min(at, give_up_at_);
    if (at != armed_at_ && out.timer(0, at)) armed_at_ = at;
  }

  policy::Messages<Message> messages_;
  Duration rtt_ = Duration::from_ms(200);
  Instant give_up_at_ = Instant::never();
  Instant armed_at_ = Instant::never();
};

class PlainSource : public End {
 public:
  explicit PlainSource(const cw_env& env) : End(env), unsent_(1024) {}
  bool is_ready() const { return End::is_ready() && unsent_.is_ready(); }

  void on_appended(const cw_fact_appended& fact, Instant now) {
    const SlotRun slots{fact.first, fact.first + fact.count};
    Message& message = *policy::state_of<Message>(fact);
    message.appended_end = std::max(message.appended_end, slots.end);
    unsent_.try_push(fact.message, slots, now, Duration::max());
  }
  void on_closed(const cw_fact_closed& fact, Instant) {
    Message& message = *policy::state_of<Message>(fact);
    message.received.slots = fact.slots;
    message.is_over |= fact.slots == 0;
  }
  void on_sent(const cw_fact_sent& fact, Instant) {
    Message& message = *policy::state_of<Message>(fact);
    const uint32_t end = fact.first + (fact.count - 1) * fact.stride + 1;
    message.sent_end = std::max(message.sent_end, end);
    message.due = Instant::from_ns(fact.departed_ns) + rtt_ * 3;
  }
  void on_refused(const cw_fact_refused& fact, Instant now) {
    if (fact.state != nullptr) policy::state_of<Message>(fact)->due = now + rtt_ * 3;
  }
  void on_note(const cw_fact_note& fact, Instant) {
    be32 sequence;
    if (fact.count != sizeof sequence) return;
    std::memcpy(&sequence, fact.bytes, sizeof sequence);
    Message* message = messages_.find(sequence.host());
    if (message == nullptr || message->sent_end < message->received.slots) return;
    message->is_over = true;
  }

  void decide(Instant now, Out& out) {
    send_unsent(out);
    finish(out);
    send_overdue(now, out);
    arm(next_due(), out);
  }

 protected:
  static bool send(const Message& message, SlotRun slots, cw_send_kind kind, Out& out) {
    return out.send({.message = message.sequence,
                     .first = slots.first,
                     .count = slots.count(),
                     .stride = 1,
                     .kind = static_cast<uint16_t>(kind),
                     .path_choice = CW_CHOOSE_ANY,
                     .path = 0,
                     .not_before_ns = 0,
                     .drop_after_ns = 0});
  }
  void send_unsent(Out& out) {
    for (; !unsent_.is_empty(); unsent_.pop()) {
      const Message* message = messages_.find(unsent_.front().message);
      if (message == nullptr || message->is_over) continue;
      if (!send(*message, unsent_.front().slots, CW_SEND_DATA, out)) return;
    }
  }
  void send_overdue(Instant now, Out& out) {
    messages_.for_each([&](Message& message) {
      if (message.is_over || message.due > now) return;
      if (send(message, {0, message.appended_end}, CW_SEND_RESEND, out)) {
        message.due = now + rtt_ * 3;
      }
    });
  }
  Instant next_due() {
    Instant due = Instant::never();
    messages_.for_each([&](const Message& message) {
      if (!message.is_over) due = std::min(due, message.due);
    });
    return due;
  }

  policy::RangeFifo unsent_;
};

class PlainSink : public End {
 public:
  using End::End;

  void on_closed(const cw_fact_closed& fact, Instant) {
    Message& message = *policy::state_of<Message>(fact);
    message.received.on_closed(fact.slots);
    look(message);
  }
  void on_arrived(const cw_fact_arrived& fact, Instant) {
    Message& message = *policy::state_of<Message>(fact);
    message.received.on_arrived(fact);
    look(message);
  }
  void decide(Instant, Out& out) {
    finish(out);
    tell(out);
    arm(Instant::never(), out);
  }

 protected:
  static void look(Message& message) {
    if (!message.received.is_complete()) return;
    message.is_over = message.needs_telling = true;
  }
  void tell(Out& out) {
    messages_.for_each([&](Message& message) {
      const be32 sequence(message.sequence);
      if (message.needs_telling) message.needs_telling = !note(&sequence, sizeof sequence, out);
    });
  }
  static bool note(const void* bytes, uint32_t count, Out& out) {
    const std::span<uint8_t> space = out.note_space(count);
    if (space.empty()) return false;
    std::memcpy(space.data(), bytes, count);
    out.note(count);
    return true;
  }
};

/// What a table needs besides the two ends and a name.
template <class SourceEnd, class SinkEnd>
struct Described {
  using Source = SourceEnd;
  using Sink = SinkEnd;
  static constexpr const char* version = "1.0";
  static constexpr const char* summary = "For the conformance suite only.";
  static constexpr std::span<const cw_param> params{};
  static constexpr uint32_t wire_version = 1;
  static constexpr uint32_t message_state_bytes = sizeof(Message);

  static const char* refusal(const cw_env&) { return nullptr; }
  static void limits(const cw_env&, const cw_fact_link&, cw_policy_limits& limits) {
    limits = {};
    limits.notes_per_rtt = 1024;
  }
};

}  // namespace cw::conformance::broken
