// Where a policy sits is what its row says; it refuses every other seat in one sentence.
#include "dataplane/sdr/seat/policy_instance.h"
#include "tests/conformance/checks.h"

namespace cw::conformance {
namespace {

class SeatsOf : public testing::TestWithParam<Candidate> {};
INSTANTIATE_TEST_SUITE_P(Conformance, SeatsOf, testing::ValuesIn(rows()),
                         [](const auto& candidate) { return candidate.param.name; });

/// Empty when it starts, else what it says.
std::string refusal(const Candidate& candidate, cw_seat seat, cw_role role) {
  const std::vector<double> params = candidate.params();
  cw_env env{};
  env.size = sizeof(env);
  env.seat = seat;
  env.role = role;
  env.peers = env.paths = env.chunk_slots = 1;
  env.messages = 4;
  env.data_slots_max = 64;
  env.payload_bytes = env.slot_wire_bytes = env.note_bytes_max = 1024;
  env.rate_bps = 1'000'000'000;
  const auto made = sdr::PolicyInstance::make({candidate.ops, params}, env);
  return made ? "" : made.error().sentence;
}

TEST_P(SeatsOf, is_taken_or_refused_as_the_row_of_a_policy_says) {
  const Candidate& candidate = GetParam();
  const std::string name = candidate.ops->name;
  const auto wanted = [&](bool serves, const char* only) {
    return serves ? "" : "policy " + name + " refused to start: " + name + ": serves " + only;
  };
  const Seats seats = candidate.traits.seats;
  for (const cw_role role : {CW_SOURCE, CW_SINK}) {
    EXPECT_EQ(refusal(candidate, CW_SEAT_STREAM, role),
              wanted(seats != Seats::Endpoints, "endpoints only"));
  }
  EXPECT_EQ(refusal(candidate, CW_SEAT_ENDPOINT, CW_SINK),
            wanted(seats != Seats::Streams, "streams only"));
}

}  // namespace
}  // namespace cw::conformance
