// rto_only: nothing but a timeout. The floor of what recovers, at an endpoint.
//
// Idea. A message of which nothing new has come for RTO = S + alpha S is asked for from its first
// missing slot on, holes and end together; without an answer again, each time after twice as long.
// Holes behind which data flows are left alone until it has stopped.
//
// Parameters and the arithmetic of their defaults: alpha = 2, as the timeouts of the policies for
// streams: a queue of one round trip, and one more for what shares the line. doublings = 6: 64 RTO.
//
// Weaknesses, which are the point: every loss costs what is left of its message and a timeout. A
// source that has nothing to send yet is asked as if all of it had been lost, at 1, 3, 7, .. RTO.
#include "policies/parts/adapt.h"
#include "policies/parts/endpoint/restart_sink.h"

namespace cw::policy::rto_only {
namespace {

struct Endpoint final : RestartSink {
  explicit Endpoint(const cw_env& env)
      : RestartSink(env,
                    {.alpha = env.params[0], .doublings = static_cast<uint32_t>(env.params[1])}) {}
};

struct RtoOnly {
  using Endpoint = rto_only::Endpoint;
  static constexpr const char* name = "rto_only";
  static constexpr const char* version = "1.0";
  static constexpr const char* summary =
      "At endpoints: asks for all that is missing when nothing has come for a timeout.";
  static constexpr cw_param params[] = {
      {"alpha", "", nullptr, "Timeout: S + alpha x S without progress.", CW_PARAM_REAL, 0, 2, 0,
       64},
      {"doublings", "", nullptr, "How often the timeout doubles while nothing comes.", CW_PARAM_INT,
       0, 6, 0, 16},
  };
  static constexpr uint32_t wire_version = 1;
  static constexpr uint32_t message_state_bytes = sizeof(RestartMessage);

  static const char* refusal(const cw_env&) { return nullptr; }
  static void limits(const cw_env&, const cw_fact_link&, cw_policy_limits& limits) { limits = {}; }
};

}  // namespace
}  // namespace cw::policy::rto_only

CW_POLICY(cw::policy::rto_only::RtoOnly)
