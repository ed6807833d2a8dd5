// What holds for every policy that serves streams, whatever it does about loss.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "policies/policies.h"
#include "tests/unit/policies/scripted_host.h"

namespace cw::policy_test {
namespace {
using namespace literals;

bool does_repair(const cw_policy_ops* ops) { return std::string(ops->name) != "passthrough"; }

std::vector<const cw_policy_ops*> all_that_repair() {
  std::vector<const cw_policy_ops*> result;
  std::ranges::copy_if(policy::for_streams(), std::back_inserter(result), does_repair);
  return result;
}

class EveryPolicy : public testing::TestWithParam<const cw_policy_ops*> {
 protected:
  const cw_policy_ops& ops() const { return *GetParam(); }
  bool repairs() const { return does_repair(GetParam()); }
};
class EveryRepairingPolicy : public EveryPolicy {};

std::string name_of(const testing::TestParamInfo<const cw_policy_ops*>& ops) {
  return ops.param->name;
}
INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, testing::ValuesIn(policy::for_streams()), name_of);
INSTANTIATE_TEST_SUITE_P(Policies, EveryRepairingPolicy, testing::ValuesIn(all_that_repair()),
                         name_of);

std::vector<uint8_t> random_note(Prng& prng) {
  std::vector<uint8_t> bytes(prng.below(1025));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng.next());
  if (bytes.size() >= 4 && prng.chance(0.9)) {
    bytes[0] = 1;
    bytes[2] = 0;
    bytes[3] = static_cast<uint8_t>(prng.below(4));
  }
  // Numbers near those in use, so that many sections name an open message.
  for (size_t at = 4; at + 4 <= bytes.size() && prng.chance(0.95); at += 4) {
    bytes[at] = bytes[at + 1] = bytes[at + 2] = prng.chance(0.8) ? 0 : 0xff;
    bytes[at + 3] &= 0x0f;
  }
  return bytes;
}

TEST_P(EveryPolicy, lossless_messages_cost_no_resend_and_leave_no_timer) {
  Host host(ops());
  for (uint32_t m = 0; m < 8; ++m) host.send(m, 1000);
  host.run();
  EXPECT_EQ(host.sent.size(), 8000u);
  EXPECT_EQ(host.finished_at_source.size(), 8u);
  EXPECT_EQ(host.finished_at_sink.size(), 8u);
  // One that repairs nothing knows of nothing that has arrived.
  const bool knows = &ops() != cw_policy_passthrough();
  EXPECT_EQ(host.released_up_to > 0, knows);
  EXPECT_FALSE(host.has_timer());
}

TEST_P(EveryPolicy, messages_of_no_slots_end) {
  Host host(ops());
  host.send(1, 0);
  host.run();
  EXPECT_EQ(host.finished_at_source.size() + host.finished_at_sink.size(), 2u);
}

TEST_P(EveryRepairingPolicy, any_loss_is_repaired_once_the_line_is_calm) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Prng prng(seed);
    Host host(
        ops(), {},
        {.reorder = 100_us,
         .is_lost = [&](auto& t) { return t.departed.ns() < 400'000'000 && prng.chance(0.3); },
         .lateness = [&](auto&) { return prng.chance(0.1) ? 300_us : 0_us; },
         .is_doubled = [&](auto&) { return prng.chance(0.05); },
         .is_note_lost = [&](uint64_t, bool) { return prng.chance(0.2); }});
    for (uint32_t m = 0; m < 6; ++m) host.send(m, static_cast<uint32_t>(prng.between(1, 800)));
    host.run(Instant::from_ns(20'000'000'000));
    EXPECT_EQ(host.finished_at_sink.size(), 6u) << seed;
    EXPECT_EQ(host.finished_at_source.size(), 6u) << seed;
    EXPECT_FALSE(host.has_timer()) << seed;
    EXPECT_EQ(host.open_count(CW_SOURCE), 0u) << seed;
  }
}

TEST_P(EveryPolicy, room_for_one_decision_at_a_time_changes_nothing) {
  const auto story = [&](uint32_t capacity) {
    Host host(ops(), {}, {.is_lost = [&](auto& t) { return t.attempt == 0 && t.slot % 13 == 5; }},
              16, 4096, capacity);
    for (uint32_t m = 0; m < 5; ++m) host.send(m, 700);
    host.run();
    std::vector<std::array<int64_t, 4>> told;
    for (const Transmission& t : host.sent)
      told.push_back({t.message, t.slot, t.kind, t.departed.ns()});
    return told;
  };
  const auto wide = story(256);
  EXPECT_EQ(wide, story(1));
  EXPECT_EQ(wide, story(3));
}

TEST_P(EveryPolicy, an_rtt_of_nearly_nothing_still_ends_every_turn) {
  Host host(ops(), {},
            {.rtt = 2_ns,
             .slot_time = 1_ns,
             .is_lost = [](auto& t) { return t.attempt == 0 && t.slot == 9; }},
            16, 4096, 1);
  for (uint32_t m = 0; m < 5; ++m) host.send(m, 700);
  host.run(host.now() + 1_ms);
  EXPECT_EQ(host.finished_at_sink.size(), repairs() ? 5u : 0u);
}

TEST_P(EveryPolicy, sequences_wrap) {
  Host host(ops(), {},
            {.is_lost = [&](auto& t) { return repairs() && t.attempt == 0 && t.slot == 3; }});
  for (uint32_t i = 0; i < 8; ++i) host.send(0xffffffff - 3 + i, 200);
  host.run();
  EXPECT_EQ(host.finished_at_sink.size(), 8u);
  EXPECT_EQ(host.finished_at_source.size(), 8u);
}

TEST_P(EveryPolicy, thousands_of_messages_pass_through_few_places) {
  Host host(ops(), {}, {.is_lost = [&](auto& t) {
              return repairs() && t.message % 50 == 0 && t.attempt == 0;
            }});
  for (uint32_t round = 0; round < 500; ++round) {
    for (uint32_t i = 0; i < 8; ++i) host.send(0xfffffff0 + round * 8 + i, 3);
    host.run();
  }
  EXPECT_EQ(host.finished_at_source.size(), 4000u);
  EXPECT_EQ(host.open_count(CW_SINK) + host.open_count(CW_SOURCE), 0u);
}

TEST_P(EveryPolicy, what_is_refused_for_quota_comes_without_a_state_and_is_not_forgotten) {
  int refusals = 3;
  Host host(ops(), {},
            {.is_refused = [&](auto&) { return refusals-- > 0; }, .refusal = CW_REFUSED_QUOTA});
  host.send(7, 100);
  host.run();
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
  EXPECT_EQ(host.sent.size(), repairs() ? 100u : 0u);
}

TEST_P(EveryPolicy, a_refusal_of_a_message_that_is_not_open_causes_no_send) {
  Host host(ops());
  host.refuse({.message = 7, .first = 90, .count = 64, .stride = 1}, CW_REFUSED_QUOTA);
  host.send(7, 100);
  host.run();
  EXPECT_EQ(host.sent.size(), 100u);
  EXPECT_EQ(host.sends.size(), 1u);
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
}

TEST_P(EveryPolicy, hostile_notes_cause_bounded_decisions_and_no_harm) {
  Prng prng(12);
  Host host(ops(), {}, {.slot_time = 10_us});
  for (uint32_t m = 0; m < 4; ++m) host.send(m, 500);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t before = host.decisions;
    host.note(CW_SOURCE, random_note(prng));
    EXPECT_LE(host.decisions - before, 9000u);
    host.note(CW_SINK, random_note(prng));
    host.run(host.now() + 10_us);
  }
  // 30 ms of lies: no slot may have left more than twice.
  EXPECT_LE(host.sent.size(), 2 * 2000u);
}

TEST_P(EveryPolicy, may_be_destroyed_in_any_state) {
  for (int moment = 0; moment < 60; ++moment) {
    Prng prng(static_cast<uint64_t>(moment));
    Host host(ops(), {}, {.is_lost = [&](auto&) { return prng.chance(0.2); }});
    for (uint32_t m = 0; m < 4; ++m) host.send(m, 300);
    host.run(host.now() + 2_ms * moment);
  }
}

TEST_P(EveryPolicy, limits_are_a_pure_function_with_room_for_what_it_does) {
  std::vector<double> params;
  for (uint32_t i = 0; i < ops().param_count; ++i) params.push_back(ops().params[i].initial);
  cw_env env{};
  env.messages = 16;
  env.note_bytes_max = 1024;
  env.slot_wire_bytes = 4170;
  env.params = params.data();
  cw_path_facts path{};
  cw_fact_link link{1, 0, 25'000'000'000, 25'000'000, &path};
  cw_policy_limits first, second;
  ops().limits(&env, &link, &first);
  ops().limits(&env, &link, &second);
  EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0);
  EXPECT_EQ(first.notes_per_rtt > 0, repairs());
}

// The core takes no more notes than were asked for, and quarantines who goes on.
TEST_P(EveryPolicy, notes_stay_within_what_was_asked_for_whatever_the_order) {
  Prng prng(14);
  const Duration rtt = 25_ms;
  Host host(ops(), {},
            {.rtt = rtt,
             .slot_time = 20_us,
             .burst = 1,
             .lateness = [&](auto&) { return 30_us * static_cast<int64_t>(prng.below(3)); }},
            64);
  for (uint32_t m = 0; m < 32; ++m) host.send(m, 400);
  for (int round = 0; round < 12; ++round) {
    const uint64_t before = host.notes;
    host.run(host.now() + rtt);
    EXPECT_LE(host.notes - before, host.notes_per_rtt()) << "round " << round;
  }
}

// What is open and has holes is then many times what leaves in an RTT.
TEST_P(EveryPolicy, notes_stay_within_what_was_asked_for_when_much_is_open_and_torn) {
  Prng prng(15);
  const Duration rtt = 25_ms;
  const auto is_lost = [&](const Transmission& t) { return t.attempt < 4 && prng.chance(0.4); };
  Host host(ops(), {}, {.rtt = rtt, .slot_time = 5_us, .is_lost = is_lost}, 64);
  for (uint32_t m = 0; m < 48; ++m) host.send(m, 1400);
  for (int round = 0; round < 20; ++round) {
    const uint64_t before = host.notes;
    host.run(host.now() + rtt);
    EXPECT_LE(host.notes - before, host.notes_per_rtt()) << "round " << round;
  }
}

TEST_P(EveryPolicy, parameters_are_declared_in_full) {
  for (uint32_t i = 0; i < ops().param_count; ++i) {
    const cw_param& param = ops().params[i];
    EXPECT_NE(param.sentence, nullptr) << param.name;
    EXPECT_LE(param.min, param.initial) << param.name;
    EXPECT_LE(param.initial, param.max) << param.name;
    EXPECT_EQ(param.choices != nullptr, param.type == CW_PARAM_CHOICE) << param.name;
  }
}

}  // namespace
}  // namespace cw::policy_test
