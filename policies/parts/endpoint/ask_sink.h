// Asks for exactly what is missing. What counts as missing, and when, a policy says by four times:
//
//   hole    something behind a slot has come   --hole_wait-->   ask for the run that is missing
//   rest    nothing of a message has come for  --quiet_wait-->  ask for what is behind the highest
//   silent  nothing of a message has come      --silent_due-->  ask for all of it
//   asked   and not come                       --again_wait-->  ask for what of it is missing still
//
// Holes wait in groups: those that showed within a quarter of their wait are asked for together,
// the youngest in its time and the eldest so much late. A message keeps three groups; holes that
// show while all wait join the youngest.
#pragma once

#include "policies/parts/endpoint/asks.h"
#include "policies/parts/endpoint/receiver.h"

namespace cw::policy {

/// Kept by the core.
struct AskedMessage : OpenMessage {
  struct Group {
    uint32_t end;  // the holes below, and not below the group before
    Instant at;    // when the last of them showed
    Duration wait;
  };
  static constexpr uint32_t groups_max = 3;

  Ask* asks;
  Group groups[groups_max];
  Instant begun_at;     // the youngest group
  uint32_t scanned;     // holes below are in a group, or were
  uint32_t due_end;     // holes below have waited
  uint32_t asked_end;   // and these have been asked for
  uint32_t turn_slots;  // asked for since it had its turn last
  uint32_t departed;    // slots below have left, says its source
  uint16_t early;       // came sooner after an ask than any answer: their copies will follow
  uint8_t group_count;
  bool wants_rest, wants_again;
  bool was_asked, was_rest_asked;

  /// What is missing below has been passed by something: it is lost, or late.
  uint32_t passed() const { return std::max(received.highest, departed); }
  bool is_end_passed() const { return received.slots != CW_UNKNOWN && passed() >= received.slots; }
};
static_assert(sizeof(AskedMessage) <= 256);

class AskSink : public Receiver {
 public:
  explicit AskSink(const cw_env& env) : Receiver(env), asks_(env) {}
  bool is_ready() const { return Receiver::is_ready() && asks_.is_ready(); }

 protected:
  ~AskSink() = default;

  // ---- what a policy says, beside silent_due() ----
  virtual Duration hole_wait(const AskedMessage& message, Instant now) const = 0;
  virtual Duration quiet_wait(const AskedMessage& message) const = 0;
  /// After an ask that was the `tries`-th again. What waits longer than the first time is not
  /// outstanding any more.
  virtual Duration again_wait(const AskedMessage& message, uint32_t tries) const = 0;
  /// Whether what a source says of having left shows holes, as what comes does.
  virtual bool believes_sources() const { return false; }
  /// Slots that may be outstanding, of all messages.
  virtual uint32_t outstanding_max() const { return CW_UNKNOWN; }
  /// So many slots were asked for, as holes or as the rest of a message.
  virtual void on_asked(uint32_t /*slots*/, bool /*is_rest*/) {}
  /// So many of them had not been lost.
  virtual void on_spurious(uint32_t /*slots*/, bool /*is_rest*/) {}

  void on_silence(OpenMessage& message) final;
  void on_heard(OpenMessage& message, const cw_fact_arrived& fact, uint32_t highest_before,
                Instant now) final;
  bool hears_departed(OpenMessage& message, const cw_fact_departed& fact, Instant now) final;
  void on_end_known(OpenMessage& message) final;
  Instant attend(OpenMessage& message, Instant now) final;
  Asked ask(OpenMessage& message, Instant now, Out& out) final;
  void on_ask_refused(OpenMessage& message, const cw_fact_refused& fact, bool is_hopeless,
                      Instant now) final;
  void on_over(OpenMessage& message) final;

 private:
  static AskedMessage& own(OpenMessage& message) { return static_cast<AskedMessage&>(message); }
  uint32_t room() const {
    const uint32_t most = outstanding_max();
    return most > asks_.outstanding() ? most - asks_.outstanding() : 0;
  }
  /// What a message may ask for in one turn.
  uint32_t turn_max() const { return std::max(outstanding_max() / 4, 16u); }
  static Ask* rest_of(const AskedMessage& message);

  void scan(AskedMessage& message, Instant now);
  void suspect(AskedMessage& message, Duration wait, Instant now);
  void hurry(AskedMessage& message, Instant now);
  Instant attend_holes(AskedMessage& message, Instant now);
  Instant attend_asks(AskedMessage& message, Instant now);
  void give_up_answer(AskedMessage& message, Ask& ask);
  Instant lost_at(const AskedMessage& message, const Ask& ask, Instant now) const;
  Instant again_at(const AskedMessage& message, const Ask& ask, Instant now) const;
  Instant attend_rest(AskedMessage& message, Instant now);
  void count_in(AskedMessage& message, Ask& ask, Instant now);
  void count_copies(AskedMessage& message, uint32_t copies);
  Asked ask_again(AskedMessage& message, Instant now, Out& out);
  void leave_over(AskedMessage& message, Ask& ask, SlotRun slots);
  Asked ask_holes(AskedMessage& message, Instant now, Out& out);
  Asked ask_rest(AskedMessage& message, Instant now, Out& out);
  Asked out_of_room(const AskedMessage& message) const {
    return message.turn_slots > 0 ? Asked::NotAll : Asked::NoRoom;
  }
  bool say(AskedMessage& message, SlotRun slots, bool is_rest, Out& out);

  Asks asks_;
};

}  // namespace cw::policy
