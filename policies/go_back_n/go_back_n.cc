// go_back_n: what RC hardware does. The baseline of every figure.
//
// Idea. All slots of a stream stand in one row: message after message, slot after slot. The sink
// acknowledges the point up to which the row is whole. When something comes in beyond that point it
// asks, once, for everything from there on; the source then sends again all that it had already
// sent after it. When nothing moves for RTO = RTT + alpha x RTT the source goes back by itself, and
// waits twice as long the next time.
//
//   note: version 2 | kind 1 (0 acknowledge, 1 go back) | first 4 | message 4 | slot 4, big-endian.
//         "From message `first` on, everything before this slot of this message is in place." Of
//         messages before `first` the sink has never heard, and says nothing about them.
//
// Source. Steady: new slots are sent, the timer runs from the departure of the oldest outstanding
// slot. Going back: `back_` walks over the row and resends; then steady again. Sink. Whole, or
// waiting for the slot it has asked for.
//
// Endpoint. Each message is a row of its own: at its first hole everything from there on is asked
// for, once per round trip as long as there is a hole, and by the same timeouts when nothing comes.
//
// Parameters: alpha = 2, the timeout as in selective_repeat; repeat = 1, how many round trips an
// endpoint waits before it asks for the same again. Acknowledgements go at once when a
// message is whole, and every RTT/8 otherwise. The sink asks 32 times per RTT at most, and not for
// what has come while it waited: slots that only overtook each other are no loss. The source goes
// back once in 7/8 of the fastest RTT, the soonest that an answer can be missed.
//
// Weaknesses, which are the point: one loss costs a bandwidth-delay product of resends, so goodput
// falls as 1 / (1 + loss x slots in flight); reordering looks like loss. One thing flatters it: RC
// throws away what comes behind a gap, the bitmap here keeps it, so only the wire is wasted. A loss
// within what is being sent again is found by the timeout alone. One sink per stream.
#include <algorithm>
#include <cstring>

#include "dataplane/base/endian.h"
#include "dataplane/base/serial.h"
#include "policies/parts/adapt.h"
#include "policies/parts/array.h"
#include "policies/parts/endpoint/restart_sink.h"
#include "policies/parts/messages.h"
#include "policies/parts/range_fifo.h"
#include "policies/parts/received.h"
#include "policies/parts/timing.h"

namespace cw::policy {
namespace {

constexpr uint8_t note_version = 2;
constexpr uint32_t ticks_per_rtt = 8, askings_per_rtt = 32;

enum class Kind : uint8_t { Acknowledge = 0, GoBack = 1 };

struct Note {
  uint8_t version;
  Kind kind;
  be32 first, message, slot;
};
static_assert(sizeof(Note) == 14);

struct Message {
  uint32_t sequence;
  uint32_t appended_end, sent_end;  // source
  uint32_t released;                // source
  Received received;                // at the source: what the sink has
  bool is_over, is_finished;
  bool was_given_up;
};

/// A place in the row.
struct Place {
  uint32_t message = 0, slot = 0;
  bool operator==(const Place&) const = default;
};

/// Both ends: the messages in the order of their opening, which at the source is that of their
/// sequences.
class End {
 public:
  explicit End(const cw_env& env)
      : alpha_(env.params[0]), messages_(env), row_(env, 2 * size_t{env.messages}) {}
  bool is_ready() const { return messages_.is_ready() && row_.is_ready(); }

  void on_opened(const cw_fact_opened& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    message = {};
    message.sequence = fact.message;
    message.received.slots = fact.slots;
    if (messages_.try_add(fact.message, &message)) row_.try_push(fact.message);
  }
  void on_link(const cw_fact_link& fact, Instant) { link_ = LinkTiming::from(fact); }
  void on_drain(Instant by, Instant now) {
    give_up_at_ = by - std::min(link_.rtt / 8, (by - now) / 8);
  }
  void on_timer(uint64_t, Instant now) {
    armed_at_ = Instant::never();
    if (now < give_up_at_) return;
    give_up_at_ = Instant::never();
    for (size_t i = 0; i < row_.count(); ++i) {
      Message* message = messages_.find(row_.at(i));
      if (message != nullptr && !message->is_over) message->is_over = message->was_given_up = true;
    }
  }
  void on_ended(uint32_t sequence, void*, Instant) { messages_.remove(sequence); }

 protected:
  /// Tells the core what is over. False when the output is full.
  bool finish(Out& out) {
    for (size_t i = 0; i < row_.count(); ++i) {
      Message* message = messages_.find(row_.at(i));
      if (message == nullptr || !message->is_over || message->is_finished) continue;
      const auto status = message->was_given_up ? CW_FINISH_GIVEN_UP : CW_FINISH_OK;
      if (!out.finish(message->sequence, status)) return false;
      message->is_finished = true;
    }
    return true;
  }
  void arm(Instant at, Out& out) {
    at = std::min(at, give_up_at_);
    if (at != armed_at_ && out.timer(0, at)) armed_at_ = at;
  }

  const double alpha_;
  LinkTiming link_;
  Messages<Message> messages_;
  Queue<uint32_t> row_;
  Instant give_up_at_ = Instant::never();

 private:
  Instant armed_at_ = Instant::never();
};

class Source : public End {
 public:
  explicit Source(const cw_env& env) : End(env), unsent_(env, 1024), refused_(env, 1024) {}
  bool is_ready() const { return End::is_ready() && unsent_.is_ready() && refused_.is_ready(); }

  void on_appended(const cw_fact_appended& fact, Instant now) {
    Message& message = *state_of<Message>(fact);
    const SlotRun slots{fact.first, fact.first + fact.count};
    message.appended_end = std::max(message.appended_end, slots.end);
    unsent_.try_push(fact.message, slots, now, Duration::max());
  }
  void on_closed(const cw_fact_closed& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    message.received.on_closed(fact.slots);
    message.is_over |= message.received.is_complete();
  }
  void on_sent(const cw_fact_sent& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    const SlotRun slots{fact.first, fact.first + (fact.count - 1) * std::max(fact.stride, 1u) + 1};
    const Message* front = oldest();
    const bool is_oldest = front == &message && slots.first <= message.received.cumulative;
    if (is_oldest || !has_outstanding()) moved_at_ = Instant::from_ns(fact.departed_ns);
    message.sent_end = std::max(message.sent_end, slots.end);
  }
  void on_refused(const cw_fact_refused& fact, Instant now) {
    const bool is_hopeless = fact.reason == CW_REFUSED_EXPIRED || fact.reason == CW_REFUSED_RANGE ||
                             fact.reason == CW_REFUSED_MESSAGE;
    const bool is_open = messages_.find(fact.message) != nullptr;
    if (fact.decision != CW_DECIDE_SEND || is_hopeless || !is_open) return;
    refused_.try_push(fact.message, {fact.first, fact.first + fact.count}, now, link_.rtt / 128);
  }
  void on_expired(const cw_fact_expired& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    const SlotRun slots{fact.first, fact.first + fact.count};
    message.received.on_expired(slots);
    // It may never have left; the sink counts it as settled all the same.
    message.sent_end = std::max(message.sent_end, slots.end);
    message.is_over |= message.received.is_complete();
  }

  void on_note(const cw_fact_note& fact, Instant now) {
    Note note;
    if (fact.count != sizeof note || fact.bytes[0] != note_version) return;
    std::memcpy(&note, fact.bytes, sizeof note);
    const MessageSeq first(note.first.host());
    if (!acknowledge(first, {note.message.host(), note.slot.host()}, now)) return;
    const bool may_go = wents_ == 0 || now - went_at_ >= link_.rtt_min - link_.rtt_min / 8;
    if (note.kind == Kind::GoBack && may_go) go_back(now);
  }

  void decide(Instant now, Out& out) {
    if (!finish(out)) return;
    drop_settled();
    if (!release(out) || !send_unsent(out) || !send_refused(now, out)) return;
    if (!is_going_back_ && overdue_at() <= now) {
      back_off_.on_timeout();
      moved_at_ = now;
      go_back(now);
    }
    if (send_again(out)) arm(std::min(overdue_at(), refused_.due(link_.rtt / 8)), out);
  }

 private:
  /// The oldest message that is still wanted; null when there is none.
  Message* oldest() const {
    for (size_t i = 0; i < row_.count(); ++i) {
      Message* message = messages_.find(row_.at(i));
      if (message != nullptr && !message->is_over) return message;
    }
    return nullptr;
  }
  void drop_settled() {
    while (!row_.is_empty()) {
      const Message* message = messages_.find(row_.front());
      if (message != nullptr && !message->is_finished) return;
      row_.pop();
    }
  }
  bool has_outstanding() const {
    for (size_t i = 0; i < row_.count(); ++i) {
      const Message* message = messages_.find(row_.at(i));
      if (message == nullptr || message->is_over) continue;
      if (message->sent_end > message->received.cumulative) return true;
    }
    return false;
  }
  Instant overdue_at() const {
    return has_outstanding() ? moved_at_ + back_off_.of(link_.rto(alpha_)) : Instant::never();
  }

  /// From `first` on, everything before `place` is in place at the sink. False when that cannot be.
  bool acknowledge(MessageSeq first, Place place, Instant now) {
    const MessageSeq end(place.message);
    bool has_moved = false, is_known = false;
    for (size_t i = 0; i < row_.count(); ++i) {
      Message* message = messages_.find(row_.at(i));
      if (message == nullptr || message->is_over) continue;
      if (MessageSeq(message->sequence).is_before(first)) continue;
      const bool is_whole = MessageSeq(message->sequence).is_before(end);
      const bool is_place = message->sequence == place.message;
      if (!is_whole && !is_place) break;
      Received& received = message->received;
      const uint32_t up_to = is_whole ? received.slots : place.slot;
      if (up_to == CW_UNKNOWN || up_to > message->sent_end) return false;
      has_moved |= up_to > received.cumulative;
      received.cumulative = std::max(received.cumulative, up_to);
      message->is_over = received.is_complete();
      is_known |= is_place;
    }
    if (has_moved) {
      moved_at_ = now;
      back_off_ = BackOff();
    }
    return is_known;
  }

  void go_back(Instant now) {
    const Message* front = oldest();
    if (front == nullptr) return;
    is_going_back_ = true;
    back_ = {front->sequence, front->received.cumulative};
    went_at_ = now;
    ++wents_;
  }
  /// Resends the row from `back_` on, a message at a time.
  bool send_again(Out& out) {
    if (!is_going_back_) return true;
    for (size_t i = 0; i < row_.count(); ++i) {
      Message* message = messages_.find(row_.at(i));
      const bool is_done = message == nullptr || message->is_over ||
                           MessageSeq(message->sequence).is_before(MessageSeq(back_.message));
      if (is_done) continue;
      const uint32_t first = message->sequence == back_.message ? back_.slot : 0;
      const SlotRun slots{std::max(first, message->received.cumulative), message->sent_end};
      if (!slots.is_empty() && !send(message->sequence, slots, CW_SEND_RESEND, out)) return false;
      back_ = {message->sequence + 1, 0};
    }
    is_going_back_ = false;
    return true;
  }

  bool release(Out& out) {
    Message* front = oldest();
    if (front == nullptr || front->received.cumulative <= front->released) return true;
    if (!out.release(front->sequence, front->received.cumulative)) return false;
    front->released = front->received.cumulative;
    return true;
  }
  bool send_unsent(Out& out) {
    while (!unsent_.is_empty()) {
      const RangeFifo::Entry& entry = unsent_.front();
      if (!send(entry.message, entry.slots, CW_SEND_DATA, out)) return false;
      unsent_.pop();
    }
    return true;
  }
  bool send_refused(Instant now, Out& out) {
    while (refused_.due(link_.rtt / 8) <= now) {
      const RangeFifo::Entry& entry = refused_.front();
      const Message* message = messages_.find(entry.message);
      if (message != nullptr && !message->is_over) {
        const bool is_first = entry.slots.first >= message->sent_end;
        if (!send(entry.message, entry.slots, is_first ? CW_SEND_DATA : CW_SEND_RESEND, out))
          return false;
      }
      refused_.pop();
    }
    return true;
  }
  static bool send(uint32_t message, SlotRun slots, cw_send_kind kind, Out& out) {
    return out.send({.message = message,
                     .first = slots.first,
                     .count = slots.count(),
                     .stride = 1,
                     .kind = static_cast<uint16_t>(kind),
                     .path_choice = CW_CHOOSE_ANY,
                     .path = 0,
                     .not_before_ns = 0,
                     .drop_after_ns = 0});
  }

  RangeFifo unsent_, refused_;
  BackOff back_off_;
  Instant moved_at_;  // the oldest outstanding slot left, or was acknowledged, at
  Instant went_at_;   // the last going back
  uint64_t wents_ = 0;
  bool is_going_back_ = false;
  Place back_;
};

class Sink : public End {
 public:
  explicit Sink(const cw_env& env) : End(env), open_max_(env.messages) {}

  /// Messages may open in any order: packets of a later one can come first.
  void on_opened(const cw_fact_opened& fact, Instant now) {
    const MessageSeq sequence(fact.message);
    if (!has_opened_ || sequence.is_before(first_)) {
      first_ = sequence;
      whole_ = {fact.message, 0};
    }
    if (!has_opened_ || sequence.is_after(newest_)) newest_ = sequence;
    if (!has_opened_) asked_end_ = whole_;
    has_opened_ = true;
    if (row_.is_full()) row_.pop();
    End::on_opened(fact, now);
    advance();
  }
  void on_closed(const cw_fact_closed& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    message.received.on_closed(fact.slots);
    look_whether_whole(message);
  }
  void on_arrived(const cw_fact_arrived& fact, Instant now) {
    Message& message = *state_of<Message>(fact);
    message.received.on_arrived(fact);
    look_whether_whole(message);
    tick_at_ = std::min(tick_at_, now + link_.rtt / ticks_per_rtt);
    look_for_gap(message);
  }
  void on_expired(const cw_fact_expired& fact, Instant) {
    Message& message = *state_of<Message>(fact);
    message.received.on_expired({fact.first, fact.first + fact.count});
    look_whether_whole(message);
  }

  void decide(Instant now, Out& out) {
    if (tick_at_ <= now) {
      tick_at_ = Instant::never();
      must_tell_ = true;
    }
    asks_ = asks_ && is_before(whole_, asked_end_);  // or what was only late has come
    if (!finish(out) || !tell(now, out)) return;
    arm(asks_ ? std::min(tick_at_, ask_not_before_) : tick_at_, out);
  }

 private:
  void look_whether_whole(Message& message) {
    if (!message.is_over && message.received.is_complete()) message.is_over = must_tell_ = true;
    advance();
  }
  /// A message that was opened once and is no longer known is over as well.
  bool is_over(uint32_t sequence) const {
    const Message* message = messages_.find(sequence);
    if (message != nullptr) return message->is_over;
    for (size_t i = row_.count(); i > 0; --i) {
      if (row_.at(i - 1) == sequence) return true;
    }
    return false;
  }
  /// Moves the point up to which the row is whole. A message that has not been opened is a hole in
  /// it, but not for ever: no more than `open_max_` are open at once, so what lies further back was
  /// given up without a word.
  void advance() {
    const MessageSeq oldest_open = newest_ + 1 - open_max_;
    if (MessageSeq(whole_.message).is_before(oldest_open)) whole_ = {oldest_open.value(), 0};
    while (!MessageSeq(whole_.message).is_after(newest_) && is_over(whole_.message)) {
      whole_ = {whole_.message + 1, 0};
    }
    if (first_.is_before(oldest_open)) first_ = oldest_open;
    const Message* front = messages_.find(whole_.message);
    if (front != nullptr) whole_.slot = front->received.cumulative;
  }
  void look_for_gap(const Message& arrived) {
    const Message* front = messages_.find(whole_.message);
    const bool has_hole = front != nullptr && front->received.highest > whole_.slot;
    const bool is_ahead = MessageSeq(arrived.sequence).is_after(MessageSeq(whole_.message));
    // What was in flight when the last asking went is being sent again, holes and all.
    if ((!has_hole && !is_ahead) || is_before(whole_, asked_end_)) return;
    asks_ = true;
    asked_end_ = {arrived.sequence, arrived.received.highest};
  }
  static bool is_before(Place a, Place b) {
    return a.message == b.message ? a.slot < b.slot
                                  : MessageSeq(a.message).is_before(MessageSeq(b.message));
  }
  bool tell(Instant now, Out& out) {
    const bool asks = asks_ && ask_not_before_ <= now;
    if (!must_tell_ && !asks) return true;
    const std::span<uint8_t> space = out.note_space(sizeof(Note));
    if (space.empty()) return false;
    const Note note{note_version, asks ? Kind::GoBack : Kind::Acknowledge, be32(first_.value()),
                    be32(whole_.message), be32(whole_.slot)};
    std::memcpy(space.data(), &note, sizeof note);
    out.note(sizeof note);
    must_tell_ = false;
    if (asks) {
      asks_ = false;
      ask_not_before_ = now + link_.rtt / askings_per_rtt;
    }
    return true;
  }

  const uint32_t open_max_;
  MessageSeq first_, newest_;  // of all that were opened
  Place whole_, asked_end_;
  bool has_opened_ = false;
  bool must_tell_ = false, asks_ = false;
  Instant tick_at_ = Instant::never();
  Instant ask_not_before_;
};

struct Endpoint final : RestartSink {
  explicit Endpoint(const cw_env& env)
      : RestartSink(env, {.alpha = env.params[0], .is_in_order = true, .repeat = env.params[1]}) {}
};

struct GoBackN {
  using Source = policy::Source;
  using Sink = policy::Sink;
  using Endpoint = policy::Endpoint;
  static constexpr const char* name = "go_back_n";
  static constexpr const char* version = "1.0";
  static constexpr const char* summary =
      "Resends everything from the first loss on, as RC hardware does: the baseline.";
  static constexpr cw_param params[] = {
      {"alpha", "", nullptr, "Timeout: RTT + alpha x RTT without progress.", CW_PARAM_REAL, 0, 2,
       0.5, 32},
      {"repeat", "", nullptr, "At an endpoint: round trips until a hole is asked for again.",
       CW_PARAM_REAL, 0, 1, 0.5, 32},
  };
  static constexpr uint32_t wire_version = note_version;
  static constexpr uint32_t message_state_bytes = std::max(sizeof(Message), sizeof(RestartMessage));

  static const char* refusal(const cw_env& env) {
    if (env.seat == CW_SEAT_STREAM && env.note_bytes_max < sizeof(Note))
      return "notes of 14 bytes must be allowed";
    return nullptr;
  }
  static void limits(const cw_env& env, const cw_fact_link& link, cw_policy_limits& limits) {
    const LinkTiming timing = LinkTiming::from(link);
    limits = {};
    limits.notes_per_rtt = ticks_per_rtt + askings_per_rtt + 2 * env.messages;
    limits.recovery_worst_ns = (timing.rto(env.params[0]) + timing.rtt).ns();
    limits.retain_ns = (timing.rto(env.params[0]) * 2 + timing.rtt).ns();
  }
};

}  // namespace
}  // namespace cw::policy

CW_POLICY(cw::policy::GoBackN)
