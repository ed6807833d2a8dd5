// A drain ends: by its deadline a policy that repairs has settled every message, repaired or given
// up; what one that does not repair leaves open the core gives up. Then nothing moves any more.
#include "tests/conformance/checks.h"
#include "tests/unit/policies/scripted_host.h"

namespace cw::conformance {
namespace {
using namespace literals;

constexpr uint32_t messages = 3, slots = 100, hopeless_slot = 50;

/// Slot 50 never arrives, so no message can be settled by repair.
policy_test::Line line() {
  return {.is_lost = [](const policy_test::Transmission& t) { return t.slot == hopeless_slot; }};
}

std::string open_messages(const policy_test::Host& host) {
  return std::to_string(host.open_count(CW_SOURCE)) + " messages at the source and " +
         std::to_string(host.open_count(CW_SINK)) + " at the sink";
}

void give_up_at_sink(policy_test::Host& host) {
  for (uint32_t message = 0; message < messages; ++message) {
    if (!host.finished_at_sink.contains(message)) host.expire(CW_SINK, message, hopeless_slot, 1);
  }
  host.run(host.now());
}

std::optional<std::string> complaint_of(const Candidate& candidate, Duration drain_time) {
  policy_test::Host host(*candidate.ops, candidate.traits.params, line());
  for (uint32_t message = 0; message < messages; ++message) host.send(message, slots);
  host.run(host.now() + 30_ms);
  host.drain(drain_time);
  host.run(host.now() + drain_time);
  if (!candidate.traits.repairs) give_up_at_sink(host);
  if (host.open_count(CW_SOURCE) + host.open_count(CW_SINK) > 0) {
    return open_messages(host) + " were open when the time to drain was over";
  }
  const size_t sent = host.sent.size();
  host.run(host.now() + 30_s);
  if (host.sent.size() != sent) return "slots were sent after the drain";
  if (host.has_timer()) return "a timer was armed after the drain";
  return std::nullopt;
}

}  // namespace

Verdict check_drain(const Candidate& candidate, const Scale&) {
  for (const Duration drain_time : {1_ms, 40_ms, 200_ms, 2_s}) {
    if (const auto complaint = complaint_of(candidate, drain_time)) {
      return Refusal{Property::DrainEnds,
                     *complaint + " (" + std::to_string(drain_time.ns()) + " ns)"};
    }
  }
  return std::nullopt;
}

TEST_P(EveryPolicy, ends_a_drain_by_its_deadline) {
  EXPECT_TRUE(accepts(check_drain(GetParam(), scale)));
}

}  // namespace cw::conformance
