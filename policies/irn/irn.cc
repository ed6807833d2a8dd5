// irn: selective repeat as RNICs without a lossless fabric would do it ("Revisiting Network Support
// for RDMA", SIGCOMM 2018). There the receiver says what it has and the sender knows what to
// resend; here the receiver asks for it, at the same moment. The timeouts, there the sender's, run
// here.
//
// Idea. A slot is lost as soon as something behind it has come, and is asked for once. All else is
// for timeouts: the end of a message, and what was asked for and lost again. RTO_low holds where
// few slots are still to come, because no later ones can show the loss; RTO_high for the others.
//
// Parameters and the arithmetic of their defaults:
//   reorder = 0        the paper's: paths are not sprayed there.
//   rto_low = 100 us, rto_high = 320 us, rto_low_slots = 3   the paper's, for round trips of 24 us
//                      and queues at 40 Gbit/s. Neither is ever below S + 4 V, or every message of
//                      a longer path would be sent twice.
//   doublings = 6      of a timeout that comes again; the paper has none, nor a source that is
//                      expected and has nothing to send yet.
//
// Weaknesses. Reordering looks like loss: with spraying, raise `reorder`. A loss among the last
// slots of a message, or of an answer, costs a timeout. The paper's bound on what is in flight (one
// bandwidth-delay product) is the transport's here, the same under every policy.
#include "policies/parts/adapt.h"
#include "policies/parts/endpoint/ask_sink.h"

namespace cw::policy::irn {
namespace {

enum Param { ReorderParam, RtoLowParam, RtoHighParam, RtoLowSlotsParam, DoublingsParam };

class Endpoint final : public AskSink {
 public:
  explicit Endpoint(const cw_env& env)
      : AskSink(env),
        reorder_(duration(env, ReorderParam)),
        rto_low_(duration(env, RtoLowParam)),
        rto_high_(duration(env, RtoHighParam)),
        rto_low_slots_(static_cast<uint32_t>(env.params[RtoLowSlotsParam])),
        doublings_(static_cast<uint32_t>(env.params[DoublingsParam])) {}

 private:
  static Duration duration(const cw_env& env, Param param) {
    return Duration::from_ns(static_cast<int64_t>(env.params[param]));
  }
  /// By what is still to come, in order: what came before its time is in place here, and would not
  /// be in flight there.
  Duration rto_of(const OpenMessage& message) const {
    const uint32_t to_come = message.end(env_) - message.received.cumulative;
    return std::max(to_come <= rto_low_slots_ ? rto_low_ : rto_high_, answer_of(message, 4));
  }
  Instant silent_due(const OpenStep&, const OpenMessage& oldest, Instant) const override {
    return oldest.heard_at + rto_of(oldest);
  }
  Duration hole_wait(const AskedMessage&, Instant) const override { return reorder_; }
  Duration quiet_wait(const AskedMessage& message) const override { return rto_of(message); }
  Duration again_wait(const AskedMessage& message, uint32_t tries) const override {
    const Duration rto = rto_of(message);
    return doubled(rto, tries, rto * (int64_t{1} << doublings_));
  }

  const Duration reorder_, rto_low_, rto_high_;
  const uint32_t rto_low_slots_, doublings_;
};

struct Irn {
  using Endpoint = irn::Endpoint;
  static constexpr const char* name = "irn";
  static constexpr const char* version = "1.0";
  static constexpr const char* summary =
      "At endpoints: asks for a hole as soon as it shows, and for the rest by two timeouts.";
  static constexpr cw_param params[] = {
      {"reorder", "ns", nullptr, "How long a hole may stay when something behind it has come.",
       CW_PARAM_DURATION, 0, 0, 0, 1e9},
      {"rto_low", "ns", nullptr, "Timeout where few slots are to come; S + 4 V at least.",
       CW_PARAM_DURATION, 0, 100e3, 0, 10e9},
      {"rto_high", "ns", nullptr, "Timeout where more are to come; S + 4 V at least.",
       CW_PARAM_DURATION, 0, 320e3, 0, 10e9},
      {"rto_low_slots", "", nullptr, "How many slots are few.", CW_PARAM_INT, 0, 3, 0, 65536},
      {"doublings", "", nullptr, "How often a timeout doubles while nothing comes.", CW_PARAM_INT,
       0, 6, 0, 16},
  };
  static constexpr uint32_t wire_version = 1;
  static constexpr uint32_t message_state_bytes = sizeof(AskedMessage);

  static const char* refusal(const cw_env&) { return nullptr; }
  static void limits(const cw_env&, const cw_fact_link&, cw_policy_limits& limits) { limits = {}; }
};

}  // namespace
}  // namespace cw::policy::irn

CW_POLICY(cw::policy::irn::Irn)
