// What holds for every policy at an endpoint, whatever it does about loss; what one of them does
// not promise is said in its row. What is csa_ud's own is in csa_ud_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "dataplane/base/prng.h"
#include "policies/policies.h"
#include "tests/unit/policies/endpoint_world.h"
#include "tests/unit/policies/narrow_table.h"

namespace cw::policy_test {
namespace {
using namespace literals;

/// A row of the table. What a policy does not promise is said here and nowhere else.
struct Profile {
  const char* name;
  bool repairs = true;
  bool bears_reordering = true;  // what overtakes within the reorder budget is not taken for loss
  bool bears_silence = false;    // nobody is asked long before his turn
  /// Copies per slot that was asked for, at 1 % loss in order.
  double spurious_share_max = 0;
};
constexpr Profile profiles[] = {
    {.name = "passthrough", .repairs = false, .bears_silence = true},
    // Whatever is behind a hole and on its way comes twice.
    {.name = "go_back_n", .bears_reordering = false, .spurious_share_max = 1},
    // Two losses in a row look like the end of what comes.
    {.name = "csa_ud", .bears_silence = true, .spurious_share_max = 0.05},
    {.name = "irn", .bears_reordering = false, .spurious_share_max = 0.01},
    // An answer that has to queue is asked for twice.
    {.name = "nack_fixed", .spurious_share_max = 1},
    {.name = "rto_only", .spurious_share_max = 0.01},
};

/// Every policy has one.
const Profile& profile_of(const cw_policy_ops* ops) {
  const auto found = std::ranges::find_if(
      profiles, [&](const Profile& it) { return std::strcmp(it.name, ops->name) == 0; });
  CW_ASSERT(found != std::end(profiles));
  return *found;
}

class EveryEndpointPolicy : public testing::TestWithParam<const cw_policy_ops*> {
 protected:
  const cw_policy_ops& ops() const { return *GetParam(); }
  const Profile& profile() const { return profile_of(GetParam()); }
  EndpointWorld world(Surroundings around = {}) const {
    return EndpointWorld(ops(), std::move(around), *cw_policy_passthrough());
  }
};
class EveryRepairingEndpointPolicy : public EveryEndpointPolicy {};
class EverySteadyEndpointPolicy : public EveryEndpointPolicy {};
class EveryPatientEndpointPolicy : public EveryEndpointPolicy {};

std::string name_of(const testing::TestParamInfo<const cw_policy_ops*>& ops) {
  return ops.param->name;
}
std::vector<const cw_policy_ops*> those_that(bool Profile::* promise) {
  std::vector<const cw_policy_ops*> result;
  for (const cw_policy_ops* ops : policy::for_endpoints())
    if (profile_of(ops).*promise) result.push_back(ops);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Policies, EveryEndpointPolicy, testing::ValuesIn(policy::for_endpoints()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Policies, EveryRepairingEndpointPolicy,
                         testing::ValuesIn(those_that(&Profile::repairs)), name_of);
INSTANTIATE_TEST_SUITE_P(Policies, EverySteadyEndpointPolicy,
                         testing::ValuesIn(those_that(&Profile::bears_reordering)), name_of);
INSTANTIATE_TEST_SUITE_P(Policies, EveryPatientEndpointPolicy,
                         testing::ValuesIn(those_that(&Profile::bears_silence)), name_of);

/// What must be so at the end of every story: all is whole, and no ask was out of place.
void expect_whole(const EndpointWorld& world, size_t messages) {
  EXPECT_EQ(world.finished.size(), messages);
  EXPECT_TRUE(world.open.empty());
  EXPECT_TRUE(world.is_idle()) << "a timer was left behind";
  EXPECT_EQ(world.asks_for_nothing, 0u);
  EXPECT_EQ(world.asks_of_others, 0u);
}

// ---- no loss ----

TEST_P(EveryEndpointPolicy, asks_for_nothing_when_nothing_is_lost) {
  EndpointWorld it = world();
  for (uint32_t step = 0; step < 4; ++step) it.run_step(step, 4, 100);
  expect_whole(it, 16);
  EXPECT_TRUE(it.asks.empty());
}

TEST_P(EverySteadyEndpointPolicy, does_not_take_reordering_within_the_budget_for_loss) {
  Prng prng(21);
  EndpointWorld it = world({.lateness = [&](auto&) { return 1_us * int64_t(prng.below(9)); }});
  for (uint32_t step = 0; step < 8; ++step) it.run_step(step, 4, 100);
  expect_whole(it, 32);
  EXPECT_TRUE(it.asks.empty());
}

TEST_P(EveryEndpointPolicy, a_message_of_no_slots_is_over_at_once) {
  EndpointWorld it = world();
  it.open_step(1, {{.message = 7, .peer = 2, .slots = 0}});
  it.run();
  expect_whole(it, 1);
}

// Sources that send one after the other, so that the last is silent for many round trips. Who knows
// the step asks none before what is to come of the others takes less than a fetch.
TEST_P(EveryPatientEndpointPolicy, leaves_those_alone_whose_turn_has_not_come) {
  EndpointWorld it = world({.peers = 16});
  std::vector<Sending> list;
  for (uint32_t peer = 0; peer < 16; ++peer)
    list.push_back({peer, peer, 50, it.now + it.slot_time() * 50 * peer, {}});
  it.open_step(1, list);
  for (const Sending& each : list) it.send(each);
  it.run();
  expect_whole(it, 16);
  for (const auto& [ask, at, missing] : it.asks)
    EXPECT_GE(at + it.around.rtt + it.slot_time() * 2, list[ask.peer].begins) << ask.peer;
  EXPECT_EQ(it.copies, 0u);
}

// ---- loss ----

/// Everything at once for a while, and then calm: steps that overlap, sources that begin late or
/// before their step is posted, loss, copies, disorder, and asks that are lost or refused.
void run_storm(EndpointWorld& it, uint64_t seed) {
  auto prng = std::make_shared<Prng>(seed);
  const Instant calm = it.now + 20_ms;
  const auto rages = [&it, prng, calm](double chance) {
    return prng->chance(chance) && it.now < calm;
  };
  it.around.is_lost = [=](auto&) { return rages(0.3); };
  it.around.is_doubled = [=](auto&) { return rages(0.05); };
  it.around.lateness = [=](auto&) { return rages(0.1) ? 60_us : 0_us; };
  it.around.is_ask_lost = [=](auto&) { return rages(0.3); };
  it.around.is_ask_refused = [=](auto&) { return rages(0.2); };
  for (uint32_t step = 0; step < 4; ++step) {
    it.at(it.now + 400_us * step, [&it, prng, step] {
      std::vector<Sending> list;
      for (uint32_t peer = 0; peer < 8; ++peer) {
        const auto slots = static_cast<uint32_t>(prng->between(1, 120));
        const Duration late = 1_us * static_cast<int64_t>(prng->below(3000));
        const Instant begins = it.now + late - (prng->chance(0.2) ? it.now - Instant() : 0_us) / 2;
        list.push_back({step * 8 + peer, peer, slots, std::max(begins, it.now - 300_us),
                        1_us * static_cast<int64_t>(prng->below(40))});
      }
      for (const Sending& each : list) it.send(each);
      const bool tells_slots = prng->chance(0.5);
      it.open_step(step, list, prng->chance(0.5) ? it.now + 2_ms : Instant::never(), tells_slots);
    });
  }
}

TEST_P(EveryRepairingEndpointPolicy, all_is_whole_once_the_network_is_calm) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EndpointWorld it = world();
    run_storm(it, seed);
    it.run(it.now + 60_s);
    expect_whole(it, 32);
  }
}

TEST_P(EveryRepairingEndpointPolicy, what_comes_twice_is_no_more_than_its_row_says) {
  Prng prng(31);
  EndpointWorld it = world({.is_lost = [&](auto&) { return prng.chance(0.01); }});
  for (uint32_t step = 0; step < 20; ++step) it.run_step(step, 8, 100);
  expect_whole(it, 160);
  EXPECT_GE(it.asked_slots, it.lost);
  EXPECT_LE(static_cast<double>(it.copies),
            profile().spurious_share_max * static_cast<double>(it.asked_slots));
}

TEST_P(EveryRepairingEndpointPolicy, a_source_of_which_all_is_lost_is_asked_for_all_of_it) {
  EndpointWorld it =
      world({.is_lost = [](const Datagram& d) { return d.peer == 3 && d.attempt == 0; }});
  it.run_step(1, 4, 12);
  expect_whole(it, 4);
  ASSERT_FALSE(it.asks.empty());
  EXPECT_EQ(it.asks[0].ask.peer, 3u);
  EXPECT_EQ(it.asks[0].ask.first, 0u);
  EXPECT_EQ(it.asks[0].ask.count, 12u);
}

TEST_P(EveryRepairingEndpointPolicy, what_came_before_its_step_was_posted_is_asked_for) {
  EndpointWorld it = world();
  std::vector<Sending> list;
  for (uint32_t peer = 0; peer < 8; ++peer) list.push_back({peer, peer, 30, it.now, {}});
  for (const Sending& each : list) it.send(each);
  it.run_for(500_us);  // half of it
  it.open_step(1, list);
  it.run();
  expect_whole(it, 8);
}

TEST_P(EveryEndpointPolicy, an_incast_of_a_thousand_peers_ends) {
  Prng prng(41);
  const double loss = profile().repairs ? 0.02 : 0;
  EndpointWorld it = world(
      {.peers = 1000, .messages = 1024, .slots_max = 64, .line = 100_Gbps, .is_lost = [&](auto&) {
         return prng.chance(loss);
       }});
  std::vector<Sending> list;
  for (uint32_t peer = 0; peer < 1000; ++peer) list.push_back({peer, peer, 8, it.now, {}});
  it.open_step(1, list);
  for (const Sending& each : list) it.send(each);
  it.run(it.now + 60_s);
  expect_whole(it, 1000);
}

// ---- room, refusals, ends ----

using Trace = std::vector<std::array<int64_t, 4>>;
Trace storm_of(const cw_policy_ops& ops) {
  EndpointWorld it(ops, {}, *cw_policy_passthrough());
  run_storm(it, 51);
  it.around.is_ask_refused = [](auto&) { return false; };  // of several, when told depends on room
  it.run(it.now + 60_s);
  Trace trace;
  for (const auto& [ask, at, missing] : it.asks)
    trace.push_back({ask.message, ask.first, ask.count, at.ns()});
  return trace;
}

TEST_P(EveryEndpointPolicy, room_for_one_decision_at_a_time_changes_nothing) {
  const Trace wide = storm_of(ops()), narrow = storm_of(NarrowTable(ops()).table());
  EXPECT_EQ(wide.size(), narrow.size());
  EXPECT_TRUE(wide == narrow);
}

TEST_P(EveryEndpointPolicy, may_be_destroyed_in_any_state) {
  for (int moment = 0; moment < 12; ++moment) {
    EndpointWorld it = world();
    run_storm(it, 61);
    it.run_for(250_us * moment);
  }
}

TEST_P(EveryEndpointPolicy, messages_may_be_cancelled_in_any_state) {
  for (int moment = 0; moment < 12; ++moment) {
    EndpointWorld it = world();
    run_storm(it, 71);
    it.run_for(250_us * moment);
    const std::set<uint32_t> open = it.open;
    for (const uint32_t message : open) {
      if (message % 3 != 0) it.end(message);
    }
    it.run(it.now + 60_s);
    EXPECT_TRUE(it.open.empty() || !profile().repairs) << moment;
    EXPECT_EQ(it.asks_of_others, 0u);
  }
}

TEST_P(EveryEndpointPolicy, serves_a_new_group_after_the_last) {
  EndpointWorld it = world();
  run_storm(it, 81);
  it.run_for(2_ms);
  it.restart();
  it.around.is_lost = [](auto&) { return false; };
  it.run(it.now + 1_s);  // what was on its way is nobody's
  const size_t before = it.finished.size();
  it.run_step(100, 8, 50);
  EXPECT_EQ(it.finished.size(), before + 8);
  EXPECT_TRUE(it.is_idle());
}

/// Where nothing holds it, an instance that exceeds its quota is replaced by this one in the
/// middle.
TEST_P(EveryRepairingEndpointPolicy, takes_over_from_one_that_was_quarantined) {
  static cw_policy_ops insatiable = *cw_policy_passthrough();
  insatiable.arrived = [](cw_policy*, const cw_fact_arrived* fact, int64_t, cw_out* out) {
    out->more = fact->highest > 20;
  };
  insatiable.resume = [](cw_policy*, int64_t, cw_out* out) { out->more = 1; };
  insatiable.message_state_bytes = 0;
  insatiable.opened = nullptr;
  insatiable.ended = nullptr;
  EndpointWorld it(insatiable,
                   {.is_lost = [](const Datagram& d) { return d.attempt == 0 && d.slot % 7 == 3; }},
                   ops());
  it.run_step(1, 4, 40);
  EXPECT_EQ(it.quarantines, 1);
  expect_whole(it, 4);
}

TEST_P(EveryEndpointPolicy, numbers_of_messages_and_steps_wrap) {
  EndpointWorld it = world(
      {.is_lost = [&](auto& d) { return profile().repairs && d.attempt == 0 && d.slot == 3; }});
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t number = 0xfffffffc + i;
    if (number == CW_UNKNOWN) continue;
    const Sending sending{number, i, 20, it.now, {}};
    it.open_step(number, {sending});
    it.send(sending);
  }
  it.run();
  expect_whole(it, 7);
}

TEST_P(EveryEndpointPolicy, hundreds_of_steps_pass_through_few_places) {
  EndpointWorld it = world({.messages = 8, .is_lost = [&](auto& d) {
                              return profile().repairs && d.message % 50 == 0 && d.attempt == 0;
                            }});
  for (uint32_t step = 0; step < 400; ++step) it.run_step(step, 8, 3);
  expect_whole(it, 3200);
}

TEST_P(EveryEndpointPolicy, a_stream_is_served_or_refused_in_a_sentence) {
  const auto streams = policy::for_streams();
  std::vector<double> params;
  for (uint32_t i = 0; i < ops().param_count; ++i) params.push_back(ops().params[i].initial);
  const auto made = sdr::PolicyInstance::make(
      {&ops(), params}, {.seat = CW_SEAT_STREAM, .messages = 4, .note_bytes_max = 1024});
  EXPECT_EQ(made.has_value(), std::ranges::count(streams, &ops()) == 1);
  if (made) return;
  EXPECT_EQ(made.error().sentence, "policy " + std::string(ops().name) + " refused to start: " +
                                       ops().name + ": serves endpoints only");
}

}  // namespace
}  // namespace cw::policy_test
