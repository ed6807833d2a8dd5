// nack_fixed: asks by the clock, whatever the step or the message.
//
// Idea. A hole is asked for when it is one interval old, the end of a message when nothing of the
// message has come for one, and what does not come then is asked for again, interval after
// interval.
//
// Parameters and the arithmetic of their defaults:
//   interval = 0    one smoothed round trip to that peer: an answer cannot come sooner, so a
//   shorter
//                   one asks twice for nothing, and a longer one waits for nothing.
//   silent_max      a source of which nothing has come is asked after 1, 2, 4, .. intervals up to
//                   64 ms: it may have nothing to send yet.
//
// Weaknesses. A hole at the end of a step waits as long as one in the middle of it. Nothing bounds
// what is asked for at once: many sources that lost much answer together.
#include "policies/parts/adapt.h"
#include "policies/parts/endpoint/ask_sink.h"

namespace cw::policy::nack_fixed {
namespace {

class Endpoint final : public AskSink {
 public:
  explicit Endpoint(const cw_env& env)
      : AskSink(env),
        interval_(Duration::from_ns(static_cast<int64_t>(env.params[0]))),
        silent_max_(Duration::from_ns(static_cast<int64_t>(env.params[1]))) {}

 private:
  Duration interval_of(const OpenMessage& message) const {
    return interval_ > Duration() ? interval_ : rtt_of(message);
  }
  Instant silent_due(const OpenStep&, const OpenMessage& oldest, Instant) const override {
    return oldest.heard_at + interval_of(oldest);
  }
  Duration hole_wait(const AskedMessage& message, Instant) const override {
    return interval_of(message);
  }
  Duration quiet_wait(const AskedMessage& message) const override { return interval_of(message); }
  Duration again_wait(const AskedMessage& message, uint32_t tries) const override {
    const Duration interval = interval_of(message);
    return message.is_heard ? interval : doubled(interval, tries, silent_max_);
  }

  const Duration interval_, silent_max_;
};

struct NackFixed {
  using Endpoint = nack_fixed::Endpoint;
  static constexpr const char* name = "nack_fixed";
  static constexpr const char* version = "1.0";
  static constexpr const char* summary =
      "At endpoints: asks for holes and ends of messages at a fixed interval.";
  static constexpr cw_param params[] = {
      {"interval", "ns", nullptr,
       "How long a slot may be missing; 0 is the round trip to its peer.", CW_PARAM_DURATION, 0, 0,
       0, 10e9},
      {"silent_max", "ns", nullptr, "To what the interval doubles for a source that is silent.",
       CW_PARAM_DURATION, 0, 64e6, 0, 60e9},
  };
  static constexpr uint32_t wire_version = 1;
  static constexpr uint32_t message_state_bytes = sizeof(AskedMessage);

  static const char* refusal(const cw_env&) { return nullptr; }
  static void limits(const cw_env&, const cw_fact_link&, cw_policy_limits& limits) { limits = {}; }
};

}  // namespace
}  // namespace cw::policy::nack_fixed

CW_POLICY(cw::policy::nack_fixed::NackFixed)
