// Asks for everything from the first missing slot on: by a timeout, and for a receiver in order
// also at a hole. What is in place is left out by the endpoint, what has yet to leave by the
// source; what is on its way comes twice.
#pragma once

#include "policies/parts/endpoint/receiver.h"

namespace cw::policy {

struct RestartSettings {
  double alpha = 2;          // timeout: S + alpha S without progress
  uint32_t doublings = 6;    // of the timeout, while nothing comes
  bool is_in_order = false;  // a hole is asked for at once
  double repeat = 1;         // and again when it is still there after so many round trips
};

struct RestartMessage : OpenMessage {
  Instant asked_at;
  uint32_t tries;  // timeouts without progress
  bool was_asked, wants, is_overdue;
};

class RestartSink : public Receiver {
 public:
  RestartSink(const cw_env& env, const RestartSettings& settings)
      : Receiver(env), settings_(settings) {}

 protected:
  ~RestartSink() = default;

  Instant silent_due(const OpenStep& step, const OpenMessage& oldest, Instant now) const final;
  void on_silence(OpenMessage& message) final;
  void on_heard(OpenMessage& message, const cw_fact_arrived& fact, uint32_t highest_before,
                Instant now) final;
  Instant attend(OpenMessage& message, Instant now) final;
  Asked ask(OpenMessage& message, Instant now, Out& out) final;
  void on_ask_refused(OpenMessage& message, const cw_fact_refused& fact, bool is_hopeless,
                      Instant now) final;

 private:
  static RestartMessage& own(OpenMessage& message) { return static_cast<RestartMessage&>(message); }
  Duration timeout_of(const OpenMessage& message) const {
    return rtt_of(message) + rtt_of(message).scaled(settings_.alpha);
  }
  Duration gap_of(const OpenMessage& message) const {
    return rtt_of(message).scaled(settings_.repeat) + rtt_var_of(message) * 4;
  }
  Instant hole_due(const RestartMessage& message, Instant now) const;
  Instant overdue_at(const RestartMessage& message) const;

  const RestartSettings settings_;
};

}  // namespace cw::policy
