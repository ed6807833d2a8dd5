// passthrough: sends what is appended, once, and repairs nothing.
//
// Idea. The measure of what every other policy costs, and the shelter of a stream whose own policy
// was quarantined: it keeps traffic moving and asks for nothing.
//
// Source. A slot is done when it has left, and a message is settled when it is closed and all of it
// has left or was given up; what is in front is settled before, turn by turn, so that nobody keeps
// it. Nothing is released before, because nothing is known to have arrived:
// where slots are held for a time only, the core tells the sink at its end. Sink. A message is
// settled when every slot is in place; one with holes stays until the core gives them up. There are
// no notes and no timers.
//
// Parameters: none.
//
// Weaknesses: by design every loss reaches the user. A slot whose send is refused is not sent
// again.
#include <algorithm>

#include "policies/parts/adapt.h"
#include "policies/parts/array.h"
#include "policies/parts/messages.h"
#include "policies/parts/range_fifo.h"
#include "policies/parts/received.h"

namespace cw::policy {
namespace {

struct Message {
  uint32_t sequence;
  uint32_t left;      // source: slots that have left or were refused
  uint32_t up_to;     // source: the end of the last slot that has left or was given up
  uint32_t settled;   // source: the core has been told of those below
  Received received;  // sink
  bool is_touched;    // waits in `touched_`
  bool is_finished;
};

/// Both ends: open messages, and those that may have something to say.
class End {
 public:
  explicit End(const cw_env& env)
      : messages_(env), touched_(env, 2 * size_t{env.messages}), unsent_(env, 64) {}
  bool is_ready() const {
    return messages_.is_ready() && touched_.is_ready() && unsent_.is_ready();
  }

  void on_opened(const cw_fact_opened& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    message = {};
    message.sequence = fact.message;
    message.received.slots = fact.slots;
    messages_.try_add(fact.message, &message);
  }
  void on_closed(const cw_fact_closed& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    message.received.on_closed(fact.slots);
    touch(message);
  }
  void on_ended(uint32_t sequence, void*, Instant) { messages_.remove(sequence); }

 protected:
  void touch(Message& message) {
    if (!message.is_touched) message.is_touched = touched_.try_push(message.sequence);
  }

  Messages<Message> messages_;
  Queue<uint32_t> touched_;
  RangeFifo unsent_;
};

class Source : public End {
 public:
  using End::End;

  void on_appended(const cw_fact_appended& fact, Instant now) {
    unsent_.try_push(fact.message, {fact.first, fact.first + fact.count}, now, Duration::max());
  }
  void on_sent(const cw_fact_sent& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    message.left += fact.count;
    message.up_to = std::max(message.up_to, fact.first + (fact.count - 1) * fact.stride + 1);
    touch(message);
  }
  void on_refused(const cw_fact_refused& fact, Instant) {
    // A refusal for quota comes without a state.
    Message* message = messages_.find(fact.message);
    if (fact.decision != CW_DECIDE_SEND || message == nullptr) return;
    if (fact.reason == CW_REFUSED_EXPIRED) {
      give_up(*message, {fact.first, fact.first + fact.count});
    } else {
      message->left += fact.count;
    }
    touch(*message);
  }
  void on_expired(const cw_fact_expired& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    give_up(message, {fact.first, fact.first + fact.count});
    touch(message);
  }

  void decide(Instant, Out& out) {
    while (!unsent_.is_empty()) {
      const RangeFifo::Entry& entry = unsent_.front();
      if (!out.send({.message = entry.message,
                     .first = entry.slots.first,
                     .count = entry.slots.count(),
                     .stride = 1,
                     .kind = CW_SEND_DATA,
                     .path_choice = CW_CHOOSE_ANY,
                     .path = 0,
                     .not_before_ns = 0,
                     .drop_after_ns = 0})) {
        return;
      }
      unsent_.pop();
    }
    while (!touched_.is_empty()) {
      Message* message = messages_.find(touched_.front());
      if (message != nullptr && !settle(*message, out)) return;
      touched_.pop();
      if (message != nullptr) message->is_touched = false;
    }
  }

 private:
  /// What is too old leaves in its turn like the rest, just not over the wire.
  static void give_up(Message& message, SlotRun slots) {
    slots.first = std::max(slots.first, message.up_to);
    if (slots.is_empty()) return;
    message.left += slots.count();
    message.up_to = slots.end;
  }
  static bool settle(Message& message, Out& out) {
    if (message.is_finished) return true;
    if (message.left >= message.received.slots) {
      return message.is_finished = out.finish(message.sequence, CW_FINISH_OK);
    }
    // Not what lies before a slot that was given up, and has still to leave: with all of it settled
    // the message would be over.
    const uint32_t front = std::min(message.left, message.up_to);
    if (message.settled == front) return true;
    if (!out.finish_below(message.sequence, front)) return false;
    message.settled = front;
    return true;
  }
};

class Sink : public End {
 public:
  using End::End;

  void on_arrived(const cw_fact_arrived& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    message.received.on_arrived(fact);
    touch(message);
  }
  void on_expired(const cw_fact_expired& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    message.received.on_expired({fact.first, fact.first + fact.count});
    touch(message);
  }

  void decide(Instant, Out& out) {
    while (!touched_.is_empty()) {
      Message* message = messages_.find(touched_.front());
      const bool ends =
          message != nullptr && !message->is_finished && message->received.is_complete();
      if (ends && !out.finish(message->sequence, CW_FINISH_OK)) return;
      touched_.pop();
      if (message == nullptr) continue;
      message->is_touched = false;
      message->is_finished |= ends;
    }
  }
};

/// Nobody says there that a message is closed: one of no slots is over when it opens.
class Endpoint : public Sink {
 public:
  using Sink::Sink;

  void on_opened(const cw_fact_opened& fact, Instant now) {
    Sink::on_opened(fact, now);
    touch(*state_of<Message>(fact));
  }
};

struct Passthrough {
  using Source = policy::Source;
  using Sink = policy::Sink;
  using Endpoint = policy::Endpoint;
  static constexpr const char* name = "passthrough";
  static constexpr const char* version = "1.0";
  static constexpr const char* summary = "Sends everything once and repairs nothing.";
  static constexpr std::span<const cw_param> params{};
  static constexpr uint32_t wire_version = 1;
  static constexpr uint32_t message_state_bytes = sizeof(Message);

  static const char* refusal(const cw_env&) { return nullptr; }
  static void limits(const cw_env&, const cw_fact_link&, cw_policy_limits& limits) { limits = {}; }
};

}  // namespace
}  // namespace cw::policy

CW_POLICY(cw::policy::Passthrough)
