// The frame of every policy at an endpoint: which messages and steps are open, who is due when, who
// waits for room to ask, and which messages are whole. What is asked for, and when, is the
// policy's.
//
//   opened, step --> silent, in its step's row --arrived--> heard --> whole --> finish
//                        |  its step is due                   |  it is due
//                        '--------------> waiting <-----------'
//                                            |  room
//                                           ask
//
// Costs are per message that something happened to: a burst touches the messages that it brought
// something of, a timer those that are due.
#pragma once

#include "policies/parts/endpoint/due_heap.h"
#include "policies/parts/endpoint/open_message.h"
#include "policies/parts/endpoint/open_steps.h"
#include "policies/parts/messages.h"
#include "policies/parts/out.h"

namespace cw::policy {

/// `wait`, doubled so many times, but to no more than `most`.
inline Duration doubled(Duration wait, uint32_t times, Duration most) {
  for (; times > 0 && wait < most; --times) wait = std::min(wait * 2, most);
  return wait;
}

class Receiver {
 public:
  explicit Receiver(const cw_env& env);
  bool is_ready() const;

  void on_opened(const cw_fact_opened& fact, Instant now);
  void on_step(const cw_fact_step& fact, Instant now);
  void on_arrived(const cw_fact_arrived& fact, Instant now);
  void on_departed(const cw_fact_departed& fact, Instant now);
  void on_closed(const cw_fact_closed& fact, Instant now);
  void on_expired(const cw_fact_expired& fact, Instant now);
  void on_refused(const cw_fact_refused& fact, Instant now);
  void on_link(const cw_fact_link& fact, Instant now);
  void on_timer(uint64_t cookie, Instant now);
  void on_ended(uint32_t sequence, void* state, Instant now);
  void decide(Instant now, Out& out);

 protected:
  ~Receiver() = default;

  enum class Asked {
    Enough,   // there is nothing more that it wants now
    NotAll,   // it has had its turn
    NoRoom,   // for nobody, until something has come
    OutFull,  // the output is full
  };

  // ---- what a policy says ----

  /// When the oldest silent message of a step is to be asked for; looked at again at that time.
  virtual Instant silent_due(const OpenStep& step, const OpenMessage& oldest,
                             Instant now) const = 0;
  /// Nothing has come of it, and it is due.
  virtual void on_silence(OpenMessage& message) = 0;
  /// Something has come of it. `highest_before`: as it was.
  virtual void on_heard(OpenMessage& message, const cw_fact_arrived& fact, uint32_t highest_before,
                        Instant now) = 0;
  /// Its source has said that so much of it has left. False: that is not listened to.
  virtual bool hears_departed(OpenMessage&, const cw_fact_departed&, Instant /*now*/) {
    return false;
  }
  /// Its end is known now.
  virtual void on_end_known(OpenMessage&) {}
  /// Its time has come, or something has changed: says when it is due next, and waits if it wants
  /// to ask.
  virtual Instant attend(OpenMessage& message, Instant now) = 0;
  virtual Asked ask(OpenMessage& message, Instant now, Out& out) = 0;
  /// The core did not take what was asked for; `is_hopeless`: and will not.
  virtual void on_ask_refused(OpenMessage& message, const cw_fact_refused& fact, bool is_hopeless,
                              Instant now) = 0;
  /// It is whole or gone: nothing of it is wanted any more.
  virtual void on_over(OpenMessage&) {}

  // ---- what it may use ----

  /// Looks at it again at once.
  void look_at(OpenMessage& message, Instant now);
  void wait_for_room(OpenMessage& message);
  /// To its peer, or of the slowest path.
  Duration rtt_of(const OpenMessage& message) const {
    return message.rtt > Duration() ? message.rtt : timing_.rtt;
  }
  Duration rtt_var_of(const OpenMessage& message) const {
    return message.rtt > Duration() ? message.rtt_var : timing_.rtt_var;
  }
  /// After that time an answer is lost: S + `deviations` V.
  Duration answer_of(const OpenMessage& message, double deviations) const {
    return rtt_of(message) + rtt_var_of(message).scaled(deviations);
  }

  const cw_env env_;  // but for its parameters
  EndpointTiming timing_;

 private:
  void begin(OpenMessage& message, const cw_fact_step& fact, Instant now);
  void hear(OpenMessage& message, Instant now);
  void settle(OpenMessage& message, Instant now);
  void leave_silent(OpenMessage& message);
  void attend_step(OpenStep& step, Instant now);
  void attend_due(Instant now);
  bool finish(Out& out);
  bool ask_waiting(Instant now, Out& out);

  Messages<OpenMessage> messages_;
  OpenSteps steps_;
  DueHeap<OpenMessage> due_;
  DueHeap<OpenStep> steps_due_;
  Queue<uint32_t> whole_;  // to be told
  MessageRow waiting_{};   // for room to ask
  Instant armed_at_ = Instant::never();
};

}  // namespace cw::policy
