// The policies that code, over a line that loses what a test wants lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "dataplane/base/prng.h"
#include "tests/unit/policies/scripted_host.h"
#include "tests/unit/policies/small_codes.h"

namespace cw::policy_test {
namespace {
using namespace literals;

class EveryCodingPolicy : public testing::TestWithParam<const cw_policy_ops*> {
 protected:
  const cw_policy_ops& ops() const { return *GetParam(); }
  std::map<std::string, double> params() const { return params_of(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Policies, EveryCodingPolicy,
                         testing::Values(cw_policy_erasure(), cw_policy_hybrid(),
                                         cw_policy_layered_interleave()),
                         [](auto& ops) { return ops.param->name; });

auto losing(std::set<uint32_t> slots, uint32_t times = 1) {
  return [=](const Transmission& t) { return t.attempt < times && slots.contains(t.slot); };
}

Duration completion(const Host& host, uint32_t message) {
  return host.finished_at_source.at(message) - Instant::from_ns(1'000'000);
}

TEST_P(EveryCodingPolicy, one_loss_costs_no_resend_and_no_round_trip) {
  const auto time_with = [&](std::set<uint32_t> lost) {
    Host host(ops(), params(), {.reorder = 100_us, .is_lost = losing(std::move(lost))});
    host.send(7, 512);
    host.run();
    EXPECT_EQ(host.resent().size(), 0u);
    EXPECT_FALSE(host.has_timer());
    return completion(host, 7);
  };
  const Duration whole = time_with({});
  EXPECT_LT(whole, 26_ms);
  // The first slot, one in the middle, the last: no more than the repair takes to leave.
  for (uint32_t slot : {0u, 200u, 511u}) EXPECT_LE(time_with({slot}), whole + 1_ms) << slot;
}

TEST_P(EveryCodingPolicy, a_burst_as_wide_as_the_weave_is_repaired) {
  std::set<uint32_t> burst;
  for (uint32_t slot = 100; slot < 104; ++slot) burst.insert(slot);
  Host host(ops(), params(), {.reorder = 100_us, .is_lost = losing(burst)});
  host.send(7, 512);
  host.run();
  EXPECT_EQ(host.resent().size(), 0u);
  EXPECT_EQ(host.rebuilt, 4u);
  EXPECT_EQ(host.finished_at_source.size(), 1u);
}

TEST_P(EveryCodingPolicy, repair_leaves_behind_its_data) {
  Host host(ops(), params());
  host.send(7, 512);
  host.run();
  const uint32_t block = ops().name == std::string("layered_interleave") ? 128 : 32;
  const uint32_t repair = ops().name == std::string("layered_interleave") ? 48 : 8;
  EXPECT_EQ(host.repairs.size(), 512 / block * repair);
  for (const Transmission& t : host.repairs) {
    const uint32_t end = ((t.slot - slots_max) / repair + 1) * block;
    const auto last = std::ranges::find(host.sent, end - 1, &Transmission::slot);
    EXPECT_GE(t.departed, last->departed);
  }
}

TEST_P(EveryCodingPolicy, without_any_repair_everything_still_arrives) {
  Host host(ops(), params(), {.reorder = 100_us, .is_lost = [](auto& t) {
                                return t.slot >= slots_max || (t.attempt == 0 && t.slot % 37 == 0);
                              }});
  for (uint32_t m = 0; m < 4; ++m) host.send(m, 500);
  host.run();
  EXPECT_EQ(host.finished_at_source.size(), 4u);
  EXPECT_EQ(host.rebuilt, 0u);
  EXPECT_EQ(host.resent().size(), 4 * 14u);
}

TEST_P(EveryCodingPolicy, a_lost_block_is_resent) {
  Host host(ops(), params(), {.reorder = 100_us, .is_lost = [](auto& t) {
                                return t.attempt == 0 && (t.slot >= slots_max || t.slot >= 256);
                              }});
  host.send(7, 512);
  host.run();
  EXPECT_EQ(host.finished_at_source.size(), 1u);
  EXPECT_EQ(host.resent().size(), 256u);
}

TEST_P(EveryCodingPolicy, lost_notes_and_lost_resends_only_cost_time) {
  for (uint64_t lost_note = 0; lost_note < 6; ++lost_note) {
    Host host(
        ops(), params(),
        {.reorder = 100_us,
         .is_lost =
             [](auto& t) { return t.slot >= slots_max || (t.slot % 50 == 3 && t.attempt < 3); },
         .is_note_lost = [=](uint64_t n, bool) { return n == lost_note || n % 3 == 0; }});
    host.send(7, 300);
    host.run();
    EXPECT_EQ(host.finished_at_source.count(7), 1u) << lost_note;
    EXPECT_LT(completion(host, 7), 600_ms) << lost_note;
    EXPECT_FALSE(host.has_timer());
  }
}

TEST_P(EveryCodingPolicy, short_blocks_and_late_word_of_them_do_no_harm) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Prng prng(seed);
    Host host(
        ops(), params(),
        {.reorder = 300_us,
         .is_lost = [&](auto& t) { return t.departed.ns() < 100'000'000 && prng.chance(0.1); },
         .block_lateness = [&](uint32_t) { return prng.chance(0.2) ? 25_ms : 0_us; }});
    host.open(7);
    uint32_t end = 0;
    for (int piece = 0; piece < 40; ++piece) {
      const auto count = static_cast<uint32_t>(prng.between(1, 60));
      host.append(7, end, count);
      end += count;
      if (prng.chance(0.7)) host.close_block(7);
      host.run(host.now() + 300_us);
    }
    host.close(7, end);
    host.run();
    EXPECT_EQ(host.finished_at_source.count(7), 1u) << seed;
    EXPECT_EQ(host.status_at_sink[7], CW_FINISH_OK) << seed;
    EXPECT_GT(host.rebuilt, 0u) << seed;
    EXPECT_EQ(host.codes_out_of_bounds + host.finished_with_holes, 0u) << seed;
    EXPECT_FALSE(host.has_timer()) << seed;
  }
}

TEST_P(EveryCodingPolicy, codes_that_are_refused_are_asked_for_again) {
  int refusals = 5;
  Host host(ops(), params(),
            {.reorder = 100_us, .is_lost = losing({3, 40, 100}), .is_code_refused = [&](auto&) {
               return refusals-- > 0;
             }});
  host.send(7, 256);
  host.run();
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
  EXPECT_EQ(host.rebuilt, 3u);
}

TEST_P(EveryCodingPolicy, codes_are_asked_for_once_where_they_are_refused_for_good) {
  const auto encodes = [&](bool is_refused) {
    Host host(
        ops(), params(),
        {.is_code_refused = [=](auto&) { return is_refused; }, .code_refusal = CW_REFUSED_RANGE});
    host.send(7, 256);
    host.run();
    return host.encodes.size();
  };
  EXPECT_EQ(encodes(true), encodes(false));
}

TEST_P(EveryCodingPolicy, a_core_that_never_codes_leaves_a_policy_that_resends) {
  Host host(ops(), params(),
            {.reorder = 100_us, .is_lost = losing({3, 40, 100}), .is_code_refused = [](auto&) {
               return true;
             }});
  host.send(7, 256);
  host.run();
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
  EXPECT_EQ(host.repairs.size(), 0u);
  EXPECT_EQ(host.resent().size(), 3u);
  EXPECT_LT(host.encodes.size() + host.decodes.size(), 1500u);
}

TEST_P(EveryCodingPolicy, decodes_that_take_their_time_are_waited_for) {
  Host host(ops(), params(),
            {.reorder = 100_us, .is_lost = losing({3, 40, 100}), .code_time = 2_ms});
  host.send(7, 512);
  host.run();
  EXPECT_EQ(host.resent().size(), 0u);
  EXPECT_EQ(host.decodes.size(), 3u);
}

TEST_P(EveryCodingPolicy, shards_keep_the_distance_of_a_burst) {
  Host host(ops(), params(), {.loss = 0.01, .burst_mean = 24});
  host.send(7, 128);
  host.run();
  // 128 slots: one block of the layered, four of the others; every send is a shard of each row.
  const bool is_layered = &ops() == cw_policy_layered_interleave();
  const size_t shards = is_layered ? 3 : 2, rows = is_layered ? 16 : 4;
  ASSERT_EQ(host.repair_sends.size(), (is_layered ? 1 : 4) * shards);
  for (size_t i = 0; i < host.repair_sends.size(); ++i) {
    EXPECT_EQ(host.repair_sends[i].count, rows);
    if (i % shards == 0) continue;
    const int64_t apart =
        host.repair_sends[i].not_before_ns - host.repair_sends[i - 1].not_before_ns;
    // A burst of 24 less the rows between them, at 25 Gbit/s.
    EXPECT_NEAR(static_cast<double>(apart), (24.0 - rows) * 4170 * 8 / 25, 100);
  }
}

TEST_P(EveryCodingPolicy, on_several_paths_repair_avoids_the_last) {
  Host host(ops(), params(), {.paths = 2});
  host.send(7, 128);
  host.run();
  ASSERT_FALSE(host.repair_sends.empty());
  for (const cw_send& send : host.repair_sends) EXPECT_EQ(send.path_choice, CW_CHOOSE_NOT_LAST);
}

TEST_P(EveryCodingPolicy, a_stream_that_cannot_hold_its_codes_is_refused_in_a_sentence) {
  std::vector<double> values;
  for (uint32_t i = 0; i < ops().param_count; ++i) values.push_back(ops().params[i].initial);
  cw_path_facts path{};
  const cw_fact_link link{1, 0, 1'000'000'000, 20'000'000, &path};
  cw_env env{};
  env.size = sizeof env;
  env.peers = 1;
  env.messages = 16;
  env.data_slots_max = slots_max;
  env.note_bytes_max = 1024;
  env.slot_wire_bytes = 4170;
  env.params = values.data();
  cw_policy_limits needs{};
  ops().limits(&env, &link, &needs);
  env.rows = needs.rows;
  env.k = needs.k;
  env.m_cap = needs.m_cap;
  env.codecs = 2;
  env.repair_slots_max = slots_max / (needs.rows * needs.k) * needs.m_cap;
  const auto answer = [&](const cw_env& it) {
    struct cw_policy* made = nullptr;
    char why[256] = "";
    if (ops().create(&it, &made, why, sizeof why) == 0) ops().destroy(made);
    return std::string(why);
  };
  EXPECT_EQ(answer(env), "");
  cw_env other = env;
  other.k = env.k - 1;
  EXPECT_NE(answer(other).find("larger than the stream's blocks"), std::string::npos);
  other = env;
  other.m_cap = env.m_cap - 1;
  EXPECT_NE(answer(other).find("fewer repair slots"), std::string::npos);
  other = env;
  other.codecs = 0;
  EXPECT_NE(answer(other).find("no such codec"), std::string::npos);
}

// ---- each in its own way ------------------------------------------------------------------------

/// Three losses in row 0 of the second block, which has two repair slots.
const std::set<uint32_t> too_many = {32, 36, 40};

TEST(Erasure, falls_back_a_block_and_a_fallback_after_the_first_slot_of_the_block) {
  std::map<std::string, double> params = small;
  params["fallback"] = 2;
  Host host(*cw_policy_erasure(), params, {.reorder = 100_us, .is_lost = losing(too_many)});
  host.send(7, 128);
  host.run();
  ASSERT_EQ(host.resent().size(), 3u);
  // 1.06 ms the first slot leaves; half an RTT there, two RTTs of patience, half an RTT back.
  const Instant asked = host.resent().front().departed;
  EXPECT_GT(asked, Instant::from_ns(1'000'000) + 75_ms);
  EXPECT_LT(asked, Instant::from_ns(1'000'000) + 77_ms);
}

TEST(Hybrid, asks_within_a_reorder_budget_of_knowing_that_a_row_is_beyond_repair) {
  Host host(*cw_policy_hybrid(), small, {.reorder = 100_us, .is_lost = losing(too_many)});
  host.send(7, 128);
  host.run();
  ASSERT_EQ(host.resent().size(), 3u);
  const Instant asked = host.resent().front().departed;
  EXPECT_LT(asked, Instant::from_ns(1'000'000) + 26_ms);
}

TEST(Hybrid, what_a_path_knows_to_be_lost_needs_no_budget) {
  Host host(*cw_policy_hybrid(), small, {.reorder = 5_ms, .is_lost = losing(too_many)});
  host.send(7, 512);
  host.at(Instant::from_ns(1'000'000) + 13'100_us, [&] { host.lost(7, 32, 9); });
  host.run();
  const Instant asked = host.resent().front().departed;
  EXPECT_LT(asked, Instant::from_ns(1'000'000) + 26_ms);
}

TEST(Erasure, a_resend_lets_the_code_do_the_rest) {
  // Four of row 0 are lost and asked for. Two of them come: the code makes the others, and nothing
  // is asked for twice.
  const std::set<uint32_t> lost = {32, 36, 40, 44};
  Host host(*cw_policy_erasure(), small, {.reorder = 100_us, .is_lost = [=](auto& t) {
                                            return lost.contains(t.slot) &&
                                                   t.attempt < (t.slot <= 36 ? 1u : 2u);
                                          }});
  host.send(7, 128);
  host.run();
  EXPECT_EQ(host.rebuilt, 2u);
  EXPECT_EQ(host.resent().size(), 4u);
  EXPECT_LT(completion(host, 7), 100_ms);
}

// Blocks that close of age are shorter than a full one: what a full one would still hold has not
// left yet when the first of them has waited for long enough.
TEST_P(EveryCodingPolicy, what_comes_slowly_and_overtakes_is_not_asked_for) {
  const auto lateness = [](auto& t) { return Duration::from_ms(t.slot * 7 % 5 * 2); };
  Host host(ops(), params(), {.reorder = 10_ms, .lateness = lateness});
  host.open(7);
  for (uint32_t slot = 0; slot < 60; ++slot) {
    host.at(Instant::from_ns(1'000'000) + Duration::from_ms(slot * 2), [&, slot] {
      host.append(7, slot, 1);
      if (slot % 2 == 1) host.close_block(7);
      if (slot == 59) host.close(7, 60);
    });
  }
  host.run();
  EXPECT_EQ(host.finished_at_source.size(), 1u);
  EXPECT_EQ(host.resent().size(), 0u);
}

TEST_P(EveryCodingPolicy, what_is_not_settled_by_its_deadline_is_given_up) {
  Host host(ops(), params(),
            {.is_lost = [](auto& t) { return t.slot == 5 || t.slot >= slots_max; }});
  host.deadline = Instant::from_ns(1'000'000) + 300_ms;
  host.send(7, 128);
  host.deadline = Instant::from_ns(1'000'000) + 200_ms;
  host.send(8, 128);
  host.deadline = Instant::never();
  host.send(9, 4);
  host.run(Instant::from_ns(1'000'000'000));
  for (const auto& [message, late] : {std::pair{7u, 300_ms}, std::pair{8u, 200_ms}}) {
    EXPECT_EQ(host.status_at_source[message], CW_FINISH_GIVEN_UP);
    EXPECT_EQ(host.finished_at_source[message], Instant::from_ns(1'000'000) + late);
  }
  EXPECT_EQ(host.status_at_source[9], CW_FINISH_OK);
}

TEST_P(EveryCodingPolicy, a_deadline_that_is_met_costs_nothing_and_leaves_no_timer) {
  Host host(ops(), params());
  host.deadline = Instant::from_ns(1'000'000) + 300_ms;
  host.send(7, 128);
  host.run();
  EXPECT_EQ(host.status_at_source[7], CW_FINISH_OK);
  EXPECT_LT(completion(host, 7), 30_ms);
  EXPECT_FALSE(host.has_timer());
}

TEST(Erasure, gives_a_message_up_when_its_deadline_is_over) {
  std::map<std::string, double> params = small;
  params["deadline"] = 0.4e9;
  Host host(*cw_policy_erasure(), params,
            {.is_lost = [](auto& t) { return t.slot == 5 || t.slot >= slots_max; }});
  host.send(7, 128);
  host.run(Instant::from_ns(1'000'000'000));
  EXPECT_EQ(host.status_at_source[7], CW_FINISH_GIVEN_UP);
  EXPECT_EQ(host.finished_at_source[7], Instant::from_ns(1'000'000) + 400_ms);
}

// Deep in a message, where the word of a slot that was late has all of its block.
TEST(Erasure, rebuilds_a_block_as_soon_as_enough_of_it_is_there) {
  const uint32_t first = 32 * 64;  // of the row: every fourth is of it
  Host host(*cw_policy_erasure(), small,
            {.reorder = 10_ms, .is_lost = losing({first, first + 4}), .lateness = [=](auto& t) {
               return t.slot == first + 8 ? 3_ms : 0_ms;
             }});
  host.send(7, 33 * 64);
  host.run();
  EXPECT_EQ(host.rebuilt, 2u);
  EXPECT_LT(completion(host, 7), 25_ms + 3_ms + 3_ms) << "and not only when a hole is doubted";
}

TEST(Hybrid, repair_follows_the_measured_loss_up_to_m_max) {
  std::map<std::string, double> params = {{"k", 32}, {"m", 2}, {"m_max", 9}, {"rows", 4}};
  Host host(*cw_policy_hybrid(), params);
  ASSERT_EQ(host.layouts.size(), 1u);
  EXPECT_EQ(host.layouts.back().m, 2u);
  host.link_says(0.01, 1);
  // More than 6 of 38 lost at 1e-2: once in 2e7.. 5 of 37: once in 5e5; 4 of 36: once in 3e4.
  EXPECT_EQ(host.layouts.back().m, 5u);
  host.link_says(0.2, 1);
  EXPECT_EQ(host.layouts.back().m, 9u);
  host.send(7, 128);
  host.run();
  EXPECT_EQ(host.repairs.size(), 36u);
  host.link_says(0, 1);
  EXPECT_EQ(host.layouts.back().m, 2u);
}

TEST(Erasure, xor_repairs_one_loss_per_group) {
  std::map<std::string, double> params = small;
  params["codec"] = 1;
  // Row 0 of the first block: columns 0 and 1 lie in different groups, 0 and 2 in one.
  Host fine(*cw_policy_erasure(), params, {.reorder = 100_us, .is_lost = losing({0, 4})});
  fine.send(7, 128);
  fine.run();
  EXPECT_EQ(fine.resent().size(), 0u);
  Host beyond(*cw_policy_erasure(), params, {.reorder = 100_us, .is_lost = losing({0, 8})});
  beyond.send(7, 128);
  beyond.run();
  EXPECT_EQ(beyond.resent().size(), 2u);
}

TEST(LayeredInterleave, bursts_up_to_the_widest_layer_cost_no_resend) {
  for (uint32_t length : {1u, 4u, 16u}) {
    for (uint32_t first = 0; first + length <= 512; first += 31) {
      std::set<uint32_t> burst;
      for (uint32_t i = 0; i < length; ++i) burst.insert(first + i);
      Host host(*cw_policy_layered_interleave(), small_layers,
                {.reorder = 100_us, .is_lost = losing(burst)});
      host.send(7, 512);
      host.run();
      EXPECT_EQ(host.resent().size(), 0u) << first << " " << length;
      EXPECT_EQ(host.finished_at_source.count(7), 1u);
    }
  }
}

TEST(CodingLimits, cover_the_shape_and_the_wait) {
  const auto limits_of = [](const cw_policy_ops& ops, std::vector<double> values) {
    for (uint32_t i = static_cast<uint32_t>(values.size()); i < ops.param_count; ++i) {
      values.push_back(ops.params[i].initial);
    }
    cw_env env{};
    env.messages = 16;
    env.note_bytes_max = 1024;
    env.slot_wire_bytes = 4170;
    env.params = values.data();
    cw_path_facts path{};
    const cw_fact_link link{1, 0, 500'000'000, 20'000'000, &path};
    cw_policy_limits limits{};
    ops.limits(&env, &link, &limits);
    return limits;
  };
  const cw_policy_limits erasure = limits_of(*cw_policy_erasure(), {32, 8, 16, 4});
  EXPECT_EQ(erasure.m_cap, 64u);
  EXPECT_EQ(erasure.k, 32u);
  EXPECT_EQ(erasure.rows, 4u);
  const cw_policy_limits hybrid = limits_of(*cw_policy_hybrid(), {32, 3, 8, 4});
  EXPECT_EQ(hybrid.m_cap, 32u);
  // A block, an RTT and a half, a fallback of half an RTT.
  EXPECT_GT(hybrid.recovery_worst_ns, 40'000'000);
  EXPECT_GT(erasure.recovery_worst_ns, hybrid.recovery_worst_ns + 10'000'000);
  EXPECT_LT(erasure.recovery_worst_ns, 100'000'000);
  EXPECT_GT(erasure.retain_ns, erasure.recovery_worst_ns);
}

}  // namespace
}  // namespace cw::policy_test
