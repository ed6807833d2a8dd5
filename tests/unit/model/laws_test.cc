// Laws, chains of losses and tries against dice and against each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "control/model/law/tries.h"
#include "control/model/policy/announce.h"
#include "control/model/policy/coding.h"
#include "control/model/policy/go_back_n.h"
#include "control/model/policy/repeat.h"
#include "dataplane/base/prng.h"
#include "dataplane/port/impair/losses.h"
#include "dataplane/sdr/stream/repeat_after.h"

namespace cw::model {
namespace {

constexpr uint64_t seed = 42;

/// Within five standard errors of a share that was thrown so often.
void expect_share(double share, uint64_t hits, uint64_t throws) {
  const double thrown = double(hits) / double(throws);
  const double error = std::sqrt(std::max(share, thrown) / double(throws));
  EXPECT_NEAR(share, thrown, 5 * error + 1e-4);
}

// ---- Laws ----

TEST(Law, takes_mean_deviation_and_quantiles_from_its_steps) {
  const Law law = Law::of_steps({{10, 0.5}, {20, 0.9}, {40, 1}});
  EXPECT_DOUBLE_EQ(law.mean_ms(), 0.5 * 10 + 0.4 * 20 + 0.1 * 40);
  EXPECT_DOUBLE_EQ(law.deviation_ms(), std::sqrt(0.5 * 49 + 0.4 * 9 + 0.1 * 529));
  EXPECT_EQ(law.quantile_ms(0.5), 10);
  EXPECT_EQ(law.quantile_ms(0.51), 20);
  EXPECT_EQ(law.quantile_ms(0.999), 40);
  EXPECT_EQ(law.share_at(9.9), 0);
  EXPECT_EQ(law.share_at(20), 0.9);
}

TEST(Law, gives_what_its_last_step_lacks_to_it) {
  EXPECT_EQ(Law::of_steps({{10, 0.5}, {20, 0.999999}}).share_at(20), 1);
}

TEST(Law, sorts_outcomes_and_adds_equal_ones) {
  const Law law = Law::of_outcomes({{30, 0.2}, {10, 0.5}, {30, 0.3}});
  ASSERT_EQ(law.steps().size(), 2u);
  EXPECT_EQ(law.steps()[0].ms, 10);
  EXPECT_DOUBLE_EQ(law.steps()[0].share, 0.5);
}

TEST(Law, of_two_is_done_when_both_are) {
  const Law law = both_of(Law::of_steps({{10, 0.5}, {20, 1}}), Law::of_steps({{5, 0.8}, {15, 1}}));
  EXPECT_EQ(law.share_at(5), 0);
  EXPECT_DOUBLE_EQ(law.share_at(10), 0.4);
  EXPECT_DOUBLE_EQ(law.share_at(15), 0.5);
  EXPECT_DOUBLE_EQ(law.share_at(20), 1);
}

// ---- Losses ----

TEST(LossChain, loses_the_share_and_in_the_bursts_that_it_was_made_of) {
  const LossChain gilbert = LossChain::gilbert_elliott(GilbertElliott::from_burst(5, 0.01));
  EXPECT_NEAR(gilbert.loss(), 0.01, 1e-12);
  EXPECT_NEAR(gilbert.burst(), 5, 1e-9);
  const LossChain independent = LossChain::independent(0.01);
  EXPECT_NEAR(independent.loss(), 0.01, 1e-15);
  EXPECT_NEAR(independent.burst(), 1 / 0.99, 1e-12);
  for (const BurstProfile& profile : burst_profiles) {
    EXPECT_NEAR(LossChain::bursts({.loss = 1e-3, .profile = profile}).loss(), 1e-3, 1e-9);
  }
}

/// P(no slot of `slots` is lost; no more than two are), as the wire of the simulator does it.
template <class Loses>
void expect_wire(const LossChain& chain, uint64_t slots, Loses&& loses) {
  constexpr uint64_t throws = 20'000;
  uint64_t whole = 0, nearly = 0;
  for (uint64_t i = 0; i < throws; ++i) {
    uint64_t lost = 0;
    for (uint64_t slot = 0; slot < slots; ++slot) lost += loses();
    whole += lost == 0;
    nearly += lost <= 2;
    // What follows knows nothing of it.
    for (int slot = 0; slot < 200; ++slot) loses();
  }
  Missing missing(slots + 1, States(chain.state_count(), 0));
  missing[slots] = chain.steady();
  missing = try_again(chain, missing, 0);
  expect_share(sum_of(missing[0]), whole, throws);
  double share = 0;
  for (size_t n = 0; n <= 2; ++n) share += sum_of(missing[n]);
  expect_share(share, nearly, throws);
}

TEST(LossChain, loses_what_the_simulated_wire_loses) {
  const auto gilbert = GilbertElliott::from_burst(4, 0.02);
  GilbertElliottLoss wire{Prng(seed)};
  expect_wire(LossChain::gilbert_elliott(gilbert), 60, [&] { return wire.loses_next(gilbert); });
  const BurstLoss events{.loss = 0.02, .profile = *find_burst_profile("google")};
  BurstEvents event_wire{Prng(seed)};
  const double probability = events.event_probability();
  expect_wire(LossChain::bursts(events), 60,
              [&] { return event_wire.loses_next(events, probability); });
}

TEST(LossChain, of_chunks_loses_a_chunk_with_any_of_its_packets) {
  const LossChain packets = LossChain::gilbert_elliott(GilbertElliott::from_burst(3, 0.01));
  States kept = packets.steady();
  for (int i = 0; i < 16; ++i) kept = packets.after_one(kept, false);
  EXPECT_NEAR(packets.of_chunks(16).loss(), 1 - sum_of(kept), 1e-12);
  EXPECT_NEAR(LossChain::independent(1e-3).of_chunks(16).loss(), chunk_loss(1e-3, 16), 1e-15);
}

// ---- Tries ----

TEST(Tries, are_independent_where_losses_are) {
  const auto whole = whole_after(LossChain::independent(0.01), 100, {});
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(whole[i], std::pow(1 - std::pow(0.01, double(i + 1)), 100), 1e-12);
  }
}

TEST(Tries, of_a_chain_without_memory_are_those_of_none) {
  const LossChain flat = LossChain::gilbert_elliott({.to_bad = 0.02, .to_good = 0.98});
  const auto expected = whole_after(LossChain::independent(0.02), 200, {});
  const auto whole = whole_after(flat, 200, {});
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(whole[i], expected[i], 1e-9);
}

// By which longer ones are told from those that are followed.
TEST(Tries, of_long_messages_grow_by_the_same_for_each_part) {
  const LossChain chain = LossChain::gilbert_elliott(GilbertElliott::from_burst(4, 1e-3));
  const auto log_at = [&](uint64_t slots, size_t tries) {
    return std::log(whole_after(chain, slots, {.found = 2, .again = 1})[tries]);
  };
  for (size_t tries = 0; tries < 2; ++tries) {
    const double first = log_at(4096, tries), second = log_at(8192, tries) - first;
    EXPECT_NEAR(first + 3 * second, log_at(4 * 4096, tries), 1e-6);
    EXPECT_NEAR(second / (2 * (first - log_at(2048, tries))), 1, 0.1) << tries;
  }
}

TEST(Tries, meet_the_burst_again_that_stands_behind_them) {
  const LossChain chain = LossChain::gilbert_elliott(GilbertElliott::from_burst(10, 0.01));
  EXPECT_LT(whole_after(chain, 4, {.found = 0})[1], whole_after(chain, 4, {.found = 50})[1]);
}

// ---- What is said again ----

TEST(Announce, comes_when_the_stream_says_it_again) {
  const double loss = 0.1, rtt_ms = 25;
  const Law law = announce_law({.rtt_ms = rtt_ms, .sent_ms = 3, .lost = loss, .loss = loss});
  Duration at = Duration::from_ms(3);
  double unheard = 1;
  for (uint8_t said = 0; said < 8; ++said) {
    unheard *= loss;
    EXPECT_NEAR(law.share_at(at.ms() + rtt_ms + 1e-6), 1 - unheard, 1e-9) << int(said);
    at += sdr::repeat_after(Duration::from_ms(25), said);
  }
}

TEST(Announce, is_seldom_lost_behind_a_message_that_was_not) {
  EXPECT_NEAR(lost_behind(LossChain::independent(0.01), 100), 0.01, 1e-12);
  const auto bursts = GilbertElliott::from_burst(10, 0.01);
  EXPECT_NEAR(lost_behind(LossChain::gilbert_elliott(bursts), 5), bursts.to_bad, 1e-12);
}

// ---- Policies, by dice ----

/// The latest of slots that are tried until they come, as if they did not meet on the line.
void expect_repeat(const RepeatTimes& it, double loss, std::initializer_list<double> at_ms) {
  Prng prng(seed);
  std::vector<double> times(20'000);
  for (double& time : times) {
    for (uint64_t slot = 1; slot <= it.slots; ++slot) {
      double at = double(slot) * it.slot_ms;
      double wait = it.found_ms;
      for (; prng.chance(loss); wait = it.again_ms) at += wait + it.slot_ms;
      time = std::max(time, at + it.rtt_ms);
    }
  }
  const Law law = repeat_law(it, LossChain::independent(loss));
  for (const double ms : at_ms) {
    const auto done = std::ranges::count_if(times, [&](double time) { return time <= ms; });
    expect_share(law.share_at(ms), static_cast<uint64_t>(done), times.size());
  }
}

TEST(RepeatLaw, agrees_with_dice) {
  expect_repeat({.slots = 300, .slot_ms = 0.01, .rtt_ms = 10, .found_ms = 10, .again_ms = 12}, 0.01,
                {13.0, 14.0, 22.0, 23.01, 23.1, 34.0, 36.0});
}

// Where losses are found before all has left, later tries of first slots and first tries of later
// ones are in the same times; and in a long message no first try of all is ever whole.
TEST(RepeatLaw, agrees_with_dice_where_tries_overlap) {
  expect_repeat({.slots = 300, .slot_ms = 0.01, .rtt_ms = 10, .found_ms = 1, .again_ms = 1.2}, 0.01,
                {13.0, 13.3, 13.7, 14.02, 14.5, 15.3});
  expect_repeat({.slots = 500, .slot_ms = 0.01, .rtt_ms = 10, .found_ms = 1, .again_ms = 1}, 0.2,
                {15.5, 16.0, 17.0, 18.0, 19.0});
}

TEST(RepeatLaw, is_a_bound_where_a_loss_is_found_before_all_has_left) {
  RepeatTimes it{.slots = 1000, .slot_ms = 0.01, .rtt_ms = 10, .found_ms = 10, .again_ms = 10};
  EXPECT_FALSE(it.is_bound());
  it.slots = 2000;
  EXPECT_TRUE(it.is_bound());
  // Still a law: nothing is done before all has left.
  const Law law = repeat_law(it, LossChain::independent(1e-3));
  EXPECT_EQ(law.share_at(29.99), 0);
  EXPECT_GT(law.share_at(30.1), 0.13);
}

/// P(a message's rows are whole after r resends): rows of k and m, of which `lost` decides.
TEST(CodingLaw, finishes_as_dice_do) {
  const Code code{.k = 8, .m = 2, .rows = 2};
  const double loss = 0.08;
  const CodingTimes it{.slots = 64, .slot_ms = 1e-4, .rtt_ms = 10, .block_ms = 0, .again_ms = 10};
  constexpr uint64_t throws = 20'000;
  uint64_t fell_back = 0, twice = 0;
  Prng prng(seed);
  for (uint64_t i = 0; i < throws; ++i) {
    int resends = 0;
    for (int row = 0; row < 8; ++row) {
      uint32_t data = 0, repair = 0;
      for (uint32_t slot = 0; slot < code.k; ++slot) data += prng.chance(loss);
      for (uint32_t slot = 0; slot < code.m; ++slot) repair += prng.chance(loss);
      for (int round = 1; data + repair > code.m && data > 0; ++round) {
        uint32_t left = 0;
        for (uint32_t slot = 0; slot < data; ++slot) left += prng.chance(loss);
        data = left;
        resends = std::max(resends, round);
      }
    }
    fell_back += resends > 0;
    twice += resends > 1;
  }
  const Coding coding = keeping_law(it, code, LossChain::independent(loss));
  expect_share(coding.fallback, fell_back, throws);
  expect_share(1 - coding.law.share_at(20), fell_back, throws);
  expect_share(1 - coding.law.share_at(30), twice, throws);
}

// All chunks of a row that failed leave again, each until it comes, a timeout apart.
TEST(CodingLaw, of_the_paper_agrees_with_dice) {
  const CodingTimes it{.slots = 128, .slot_ms = 0.01, .rtt_ms = 10, .again_ms = 20};
  for (const Code& code :
       {Code{.k = 16, .m = 2, .rows = 1}, Code{.is_xor = true, .k = 16, .m = 4}}) {
    const double loss = 0.05, first_ms = 128 * (1 + double(code.m) / code.k) * it.slot_ms + 10;
    const uint32_t groups = code.is_xor ? code.m : 1, repair = code.m / groups;
    Prng prng(seed);
    double sum = 0, squares = 0;
    constexpr int throws = 20'000;
    for (int i = 0; i < throws; ++i) {
      uint32_t failed = 0;
      for (int row = 0; row < 8; ++row) {
        bool has_failed = false;
        for (uint32_t group = 0; group < groups; ++group) {
          uint32_t lost = 0, data = 0;
          for (uint32_t slot = 0; slot < code.k / groups; ++slot) data += prng.chance(loss);
          for (uint32_t slot = 0; slot < repair; ++slot) lost += prng.chance(loss);
          has_failed |= data > 0 && data + lost > repair;
        }
        failed += has_failed;
      }
      double latest = 0;
      for (uint32_t slot = 1; slot <= failed * code.k; ++slot) {
        double at = slot * it.slot_ms;
        while (prng.chance(loss)) at += it.again_ms + it.slot_ms;
        latest = std::max(latest, at);
      }
      const double ms = first_ms + (failed > 0 ? (it.fallback + 1) * it.rtt_ms + latest : 0);
      sum += ms;
      squares += ms * ms;
    }
    const double mean = sum / throws, error = std::sqrt((squares / throws - mean * mean) / throws);
    EXPECT_NEAR(paper_law(it, code, loss).law.mean_ms(), mean,
                5 * error + 0.01 * it.slots * it.slot_ms);
  }
}

// One state or two of one kind: the same code paths would not be compared else.
TEST(CodingLaw, is_the_same_by_either_way_where_losses_know_nothing_of_each_other) {
  const CodingTimes it{.slots = 640, .slot_ms = 1e-3, .rtt_ms = 10, .again_ms = 10};
  const LossChain flat = LossChain::gilbert_elliott({.to_bad = 0.03, .to_good = 0.97});
  for (const Code& code : {Code{.k = 16, .m = 2, .rows = 2}, Code{.k = 16, .m = 2, .rows = 20},
                           Code{.is_xor = true, .k = 16, .m = 4, .rows = 2}}) {
    const Coding known = keeping_law(it, code, LossChain::independent(0.03));
    const Coding followed = keeping_law(it, code, flat);
    EXPECT_NEAR(followed.fallback, known.fallback, 1e-6);
    EXPECT_NEAR(followed.law.mean_ms(), known.law.mean_ms(), 1e-3 * known.law.mean_ms());
    EXPECT_NEAR(followed.sent, known.sent, 1e-6);
  }
}

TEST(CodingLaw, bursts_hurt_rows_less_the_more_there_are) {
  const CodingTimes it{.slots = 1024, .slot_ms = 1e-3, .rtt_ms = 10, .again_ms = 10};
  const LossChain chain = LossChain::gilbert_elliott(GilbertElliott::from_burst(6, 1e-3));
  double last = 1;
  for (const uint32_t rows : {1u, 2u, 4u, 8u}) {
    const double fallback = keeping_law(it, {.k = 16, .m = 2, .rows = rows}, chain).fallback;
    EXPECT_LT(fallback, last);
    last = fallback;
  }
}

TEST(GoBackNLaw, costs_a_round_trip_where_a_later_slot_tells_of_a_loss_and_a_timeout_where_none) {
  const GoBackNTimes it{.slots = 2, .slot_ms = 1e-3, .rtt_ms = 10, .alpha = 2};
  const double loss = 0.01;
  const Law law = go_back_n_law(it, LossChain::independent(loss)).law;
  EXPECT_NEAR(law.share_at(15), (1 - loss) * (1 - loss), 1e-9);
  // The first alone is asked for by the second; the second alone waits.
  EXPECT_NEAR(law.share_at(25), (1 - loss) * (1 - loss) + loss * (1 - loss) * (1 - loss), 2e-4);
  EXPECT_NEAR(law.quantile_ms(0.995), 10 * (1 + 1.0 / 8 + 3 + 1), 0.1);
}

TEST(GoBackNLaw, sends_half_a_message_again_per_lonely_loss) {
  const GoBackNTimes it{.slots = 1000, .slot_ms = 1e-3, .rtt_ms = 10};
  EXPECT_NEAR(go_back_n_law(it, LossChain::independent(1e-6)).sent, 1 + 0.001 / 2, 1e-5);
}

}  // namespace
}  // namespace cw::model
