// The model of loss, delay, reordering and rate, and what people write of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/port/impair/impairment.h"
#include "dataplane/port/impair/model.h"

namespace cw {
namespace {
using namespace literals;

// ---- impairment ----

TEST(Impairment, default_is_valid) { EXPECT_TRUE(validate(Impairment{}).has_value()); }

TEST(Impairment, each_nonsense_is_refused_with_a_sentence_naming_its_field) {
  struct Nonsense {
    const char* field;
    Impairment impairment;
  };
  const BurstProfile lopsided{.name = "lopsided", .single = 0.5, .long_burst = 0.4};
  const Nonsense all[] = {
      {"loss", {.loss = 1.01}},
      {"loss", {.loss = -0.01}},
      {"corrupt", {.corrupt = 2}},
      {"duplicate", {.duplicate = -1}},
      {"reorder_delay", {.reorder = 0.1}},
      {"delay", {.delay = -(1_ns)}},
      {"jitter_max", {.jitter_max = 3601_s}},
      {"gilbert_elliott.to_bad", {.gilbert_elliott = {.to_bad = 7}}},
      {"rate", {.rate = Rate::from_bps(999)}},
      {"queue_bytes", {.queue_bytes = 1_MiB}},
      {"mark_above", {.mark_above = 1_ms}},
      {"mtu", {.mtu_from = Instant()}},
      {"copies_max", {.copies_max = 5}},
      {"copies_max", {.copies_max = 0}},
      {"targeted.resends", {.targeted = {.resends = 1}}},
      {"blackout.period", {.blackout = {Instant(), 2_ms, 2_ms}}},
      {"jitter_mean", {.jitter_max = 1_ms, .jitter_shape = JitterShape::Exponential}},
      {"bursts.profile", {.bursts = {.loss = 0.1, .profile = lopsided}}},
      {"window_drops_min", {.bursts = {.loss = 0.1, .window_drops_max = 16}}},
      {"64 packets", {.bursts = {.loss = 0.1, .burst_packets = 62}}},
      {"at most", {.bursts = {.loss = 0.99, .profile = *find_burst_profile("google")}}},
  };
  for (const Nonsense& nonsense : all) {
    const Result<void> result = validate(nonsense.impairment);
    ASSERT_FALSE(result.has_value()) << nonsense.field;
    EXPECT_NE(result.error().sentence.find(nonsense.field), std::string::npos)
        << result.error().sentence;
  }
}

TEST(Impairment, nan_is_not_a_probability) {
  EXPECT_FALSE(validate({.loss = std::numeric_limits<double>::quiet_NaN()}).has_value());
}

TEST(GilbertElliott, built_from_mean_burst_and_mean_loss_has_that_mean_loss) {
  const GilbertElliott chain = GilbertElliott::from_burst(8, 0.02);
  EXPECT_DOUBLE_EQ(chain.to_good, 1.0 / 8);
  EXPECT_NEAR(chain.mean_loss(), 0.02, 1e-12);
}

TEST(BurstProfile, is_found_by_its_name_only) {
  ASSERT_NE(find_burst_profile("amazon"), nullptr);
  EXPECT_EQ(find_burst_profile("Amazon"), nullptr);
}

TEST(BurstLoss, amazon_loses_six_and_three_quarter_packets_per_event) {
  const BurstLoss events{.loss = 1e-4, .profile = *find_burst_profile("amazon")};
  EXPECT_NEAR(events.drops_per_event(), 6.74, 1e-9);
  EXPECT_NEAR(events.event_probability(), 1e-4 / 6.74, 1e-8);
}

TEST(Blackout, covers_its_start_and_not_its_end_in_every_period) {
  const Blackout blackout{Instant::from_ns(100), 10_ns, 50_ns};
  const struct {
    int64_t at;
    bool is_dark;
  } expected[] = {{0, false},   {99, false},  {100, true}, {109, true},
                  {110, false}, {149, false}, {150, true}, {160, false}};
  for (const auto& [at, is_dark] : expected) {
    EXPECT_EQ(blackout.covers(Instant::from_ns(at)), is_dark) << at;
  }
  EXPECT_FALSE((Blackout{Instant::from_ns(100), 10_ns, {}}).covers(Instant::from_ns(150)));
}

// ---- model ----

constexpr Bytes packet_bytes{1000};

Instant at(int64_t ns) { return Instant::from_ns(ns); }

ImpairmentModel model_of(const Impairment& impairment, uint64_t seed = 1) {
  return ImpairmentModel(impairment, Prng(seed));
}

/// One verdict per packet, a packet per microsecond.
std::vector<Verdict> verdicts_of(const Impairment& impairment, size_t packets, uint64_t seed = 1) {
  ImpairmentModel model = model_of(impairment, seed);
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < packets; ++i) {
    verdicts.push_back(model.on_packet(packet_bytes, at(int64_t(i) * 1000), i + 1));
  }
  return verdicts;
}

/// Which of so many packets are lost.
std::vector<bool> losses_of(const Impairment& impairment, size_t packets) {
  ImpairmentModel model = model_of(impairment);
  std::vector<bool> losses;
  for (size_t i = 0; i < packets; ++i) {
    losses.push_back(model.on_packet(packet_bytes, at(0)).lost != LossCause::None);
  }
  return losses;
}

double share_lost(const std::vector<bool>& losses) {
  return double(std::count(losses.begin(), losses.end(), true)) / double(losses.size());
}

/// The lengths of the rows of consecutive losses.
std::vector<size_t> runs_lost(const std::vector<bool>& losses) {
  std::vector<size_t> runs;
  size_t run = 0;
  for (const bool lost : losses) {
    if (lost) {
      ++run;
    } else if (run > 0) {
      runs.push_back(std::exchange(run, 0));
    }
  }
  return runs;
}

double mean_run_lost(const std::vector<bool>& losses) {
  const std::vector<size_t> runs = runs_lost(losses);
  return double(std::accumulate(runs.begin(), runs.end(), size_t{0})) / double(runs.size());
}

TEST(ImpairmentModel, perfect_wire_delivers_each_packet_once_at_once_unhurt) {
  for (const Verdict& verdict : verdicts_of({}, 1000)) {
    ASSERT_EQ(verdict.lost, LossCause::None);
    ASSERT_EQ(verdict.copies, 1);
    ASSERT_FALSE(verdict.is_corrupted || verdict.is_marked);
  }
  EXPECT_EQ(verdicts_of({}, 3)[2].at[0], at(2000));
}

Impairment everything_at_once() {
  return {.targeted = {.first = 10, .every = 100, .resends = 2},
          .rate = 10_Gbps,
          .queue_bytes = 64_KiB,
          .mark_above = 5_us,
          .blackout = {at(1'000'000), 50_us, 500_us},
          .loss = 0.01,
          .gilbert_elliott = GilbertElliott::from_burst(4, 0.01),
          .bursts = {.loss = 0.01, .profile = *find_burst_profile("amazon")},
          .corrupt = 0.01,
          .duplicate = 0.05,
          .copies_max = 4,
          .delay = 5_ms,
          .jitter_max = 100_us,
          .jitter_mean = 10_us,
          .jitter_shape = JitterShape::Exponential,
          .reorder = 0.01,
          .reorder_delay = 50_us};
}

bool is_same(const Verdict& a, const Verdict& b) {
  return a.lost == b.lost && a.copies == b.copies && a.is_corrupted == b.is_corrupted &&
         a.is_marked == b.is_marked && a.corrupt_bit == b.corrupt_bit && a.at == b.at;
}

TEST(ImpairmentModel, same_seed_gives_the_same_verdicts_and_another_seed_others) {
  const auto first = verdicts_of(everything_at_once(), 20'000, 7);
  const auto again = verdicts_of(everything_at_once(), 20'000, 7);
  const auto other = verdicts_of(everything_at_once(), 20'000, 8);
  size_t different = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    ASSERT_TRUE(is_same(first[i], again[i])) << i;
    different += !is_same(first[i], other[i]);
  }
  EXPECT_GT(different, 10'000u);
}

TEST(ImpairmentModel, changed_probability_of_one_cause_leaves_the_draws_of_the_others_alone) {
  // given: the same path, once with many more independent losses, corruptions and duplicates
  Impairment base = everything_at_once();
  base.rate = Rate();
  base.queue_bytes = Bytes(UINT64_MAX);
  base.mark_above = Duration::max();
  Impairment worse = base;
  worse.loss = 0.3;
  worse.corrupt = 0.3;
  worse.reorder = 0.3;
  // expect: whatever neither touched is as it was
  const auto before = verdicts_of(base, 20'000), after = verdicts_of(worse, 20'000);
  size_t losses_elsewhere = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (after[i].lost == LossCause::Uniform || before[i].lost == LossCause::Uniform) continue;
    ASSERT_EQ(before[i].lost, after[i].lost) << i;
    ASSERT_EQ(before[i].copies, after[i].copies) << i;
    losses_elsewhere += before[i].lost != LossCause::None;
  }
  EXPECT_GT(losses_elsewhere, 300u);
}

TEST(ImpairmentModel, a_higher_loss_loses_a_superset) {
  const auto less = verdicts_of({.loss = 0.01}, 50'000), more = verdicts_of({.loss = 0.02}, 50'000);
  for (size_t i = 0; i < less.size(); ++i) {
    if (less[i].lost != LossCause::None) {
      ASSERT_NE(more[i].lost, LossCause::None) << i;
    }
  }
}

TEST(ImpairmentModel, uniform_loss_has_its_rate_and_no_bursts) {
  const auto losses = losses_of({.loss = 0.02}, 1'000'000);
  EXPECT_NEAR(share_lost(losses), 0.02, 0.0006);
  EXPECT_NEAR(mean_run_lost(losses), 1 / (1 - 0.02), 0.02);
}

TEST(ImpairmentModel, gilbert_elliott_has_its_loss_and_its_mean_burst) {
  const auto losses =
      losses_of({.gilbert_elliott = GilbertElliott::from_burst(10, 0.02)}, 2'000'000);
  EXPECT_NEAR(share_lost(losses), 0.02, 0.001);
  EXPECT_NEAR(mean_run_lost(losses), 10, 0.4);
}

TEST(ImpairmentModel, gilbert_elliott_loses_by_the_loss_of_each_state) {
  const GilbertElliott chain{.to_bad = 0.01, .to_good = 0.04, .loss_good = 0.001, .loss_bad = 0.5};
  EXPECT_NEAR(share_lost(losses_of({.gilbert_elliott = chain}, 2'000'000)), chain.mean_loss(),
              0.03 * chain.mean_loss());
}

class BurstProfiles : public testing::TestWithParam<const char*> {};

TEST_P(BurstProfiles, reach_the_wanted_loss_over_ten_million_packets) {
  const BurstLoss bursts{.loss = 0.01, .profile = *find_burst_profile(GetParam())};
  ImpairmentModel model = model_of({.bursts = bursts});
  constexpr uint64_t packets = 10'000'000;
  for (uint64_t i = 0; i < packets; ++i) model.on_packet(packet_bytes, at(0));
  EXPECT_NEAR(double(model.counters().lost_total()) / packets, 0.01, 0.05 * 0.01);
}

TEST_P(BurstProfiles, reach_a_high_loss_too) {
  const BurstLoss bursts{.loss = 0.3, .profile = *find_burst_profile(GetParam())};
  EXPECT_NEAR(share_lost(losses_of({.bursts = bursts}, 1'000'000)), 0.3, 0.05 * 0.3);
}
INSTANTIATE_TEST_SUITE_P(All, BurstProfiles,
                         testing::Values("random", "amazon", "google", "microsoft"));

TEST(BurstLoss, long_bursts_last_twelve_to_eighteen_packets) {
  const BurstProfile only_long{.name = "long", .single = 0, .long_burst = 1};
  const auto runs =
      runs_lost(losses_of({.bursts = {.loss = 0.001, .profile = only_long}}, 1'000'000));
  EXPECT_EQ(std::set(runs.begin(), runs.end()), (std::set<size_t>{12, 13, 14, 15, 16, 17, 18}));
}

TEST(BurstLoss, high_frequency_drops_two_to_fourteen_of_a_window_of_fifteen) {
  const BurstProfile only_window{.name = "window", .single = 0, .high_frequency = 1};
  const BurstLoss events{.loss = 0.0001, .profile = only_window};
  BurstEvents process{Prng(3)};
  std::set<size_t> drops_seen;
  for (int event = 0; event < 2000; ++event) {
    size_t drops = 0;
    for (int i = 0; i < 15; ++i) drops += process.loses_next(events, 1);
    drops_seen.insert(drops);
  }
  EXPECT_EQ(*drops_seen.begin(), 2u);
  EXPECT_EQ(*drops_seen.rbegin(), 14u);
  EXPECT_EQ(drops_seen.size(), 13u);
}

TEST(TargetedLoss, drops_the_chosen_packet_and_its_next_resends_and_nothing_else) {
  ImpairmentModel model = model_of({.targeted = {.first = 3, .resends = 2}});
  const auto lost = [&](uint64_t key) {
    return model.on_packet(packet_bytes, at(0), key).lost == LossCause::Targeted;
  };
  EXPECT_FALSE(lost(0));  // no identity: not counted
  EXPECT_FALSE(lost(11));
  EXPECT_FALSE(lost(12));
  EXPECT_TRUE(lost(13));
  EXPECT_FALSE(lost(14));
  EXPECT_TRUE(lost(13));
  EXPECT_FALSE(lost(12));
  EXPECT_TRUE(lost(13));
  EXPECT_FALSE(lost(13));
}

TEST(TargetedLoss, follows_a_bounded_number_of_keys_and_drops_the_rest_once) {
  Targets targets;
  const TargetedLoss all{.first = 1, .every = 1, .resends = 1};
  for (uint64_t key = 1; key <= Targets::targets_max + 1; ++key)
    EXPECT_TRUE(targets.hits(all, key));
  const TargetedLoss no_more{.first = 1, .resends = 1};
  EXPECT_TRUE(targets.hits(no_more, Targets::targets_max));
  EXPECT_FALSE(targets.hits(no_more, Targets::targets_max + 1));
}

TEST(ImpairmentModel, blackout_counts_when_the_packet_leaves_not_when_it_queues) {
  // given: 8 us on the line each, dark from 10 us to 20 us
  ImpairmentModel model = model_of({.rate = 1_Gbps, .blackout = {at(10'000), 10_us, Duration()}});
  // expect: of four packets queued at 0 (leaving at 8, 16, 24, 32 us) the second is lost
  EXPECT_EQ(model.on_packet(packet_bytes, at(0)).lost, LossCause::None);
  EXPECT_EQ(model.on_packet(packet_bytes, at(0)).lost, LossCause::Blackout);
  EXPECT_EQ(model.on_packet(packet_bytes, at(0)).at[0], at(24'000));
}

TEST(ImpairmentModel, path_mtu_bites_above_its_bytes_from_its_instant) {
  ImpairmentModel model = model_of({.mtu_from = at(100), .mtu = 1400_B});
  EXPECT_EQ(model.on_packet(1401_B, at(99)).lost, LossCause::None);
  EXPECT_EQ(model.on_packet(1400_B, at(100)).lost, LossCause::None);
  EXPECT_EQ(model.on_packet(1401_B, at(100)).lost, LossCause::PathMtu);
}

TEST(ImpairmentModel, a_hole_swallows_one_flow_above_its_bytes) {
  ImpairmentModel model = model_of({.hole = {.flow = 7, .above = 1000_B}});
  EXPECT_EQ(model.on_packet(1001_B, at(0), 0, 7).lost, LossCause::FlowHole);
  EXPECT_EQ(model.on_packet(1000_B, at(0), 0, 7).lost, LossCause::None);
  EXPECT_EQ(model.on_packet(1001_B, at(0), 0, 8).lost, LossCause::None);
  EXPECT_EQ(model.on_packet(1001_B, at(0)).lost, LossCause::None);
  model.change({});
  EXPECT_EQ(model.on_packet(1001_B, at(0), 0, 7).lost, LossCause::None);
}

TEST(ImpairmentModel, rate_is_exact_over_many_packets) {
  // 1000 bytes at 300 Mb/s take 26,666.67 ns: the thirds must not be lost.
  ImpairmentModel model = model_of({.rate = 300_Mbps});
  Instant last;
  for (int i = 0; i < 3000; ++i) last = model.on_packet(packet_bytes, at(0)).at[0];
  EXPECT_EQ(last, at(80'000'000));
}

TEST(ImpairmentModel, queue_in_bytes_takes_its_last_packet_and_refuses_the_next) {
  ImpairmentModel model = model_of({.rate = 1_Gbps, .queue_bytes = 3000_B});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(model.on_packet(packet_bytes, at(0)).lost, LossCause::None) << i;
  }
  EXPECT_EQ(model.on_packet(packet_bytes, at(0)).lost, LossCause::QueueFull);
  EXPECT_EQ(model.on_packet(packet_bytes, at(7'999)).lost, LossCause::QueueFull);
  EXPECT_EQ(model.on_packet(packet_bytes, at(8'000)).lost, LossCause::None);
}

TEST(ImpairmentModel, queue_in_time_refuses_a_longer_wait) {
  ImpairmentModel model = model_of({.rate = 1_Gbps, .queue_time = 8_us});
  EXPECT_EQ(model.on_packet(packet_bytes, at(0)).lost, LossCause::None);
  EXPECT_EQ(model.on_packet(packet_bytes, at(0)).lost, LossCause::None);
  EXPECT_EQ(model.on_packet(packet_bytes, at(0)).lost, LossCause::QueueFull);
}

TEST(ImpairmentModel, ecn_marks_a_longer_wait_than_the_threshold) {
  ImpairmentModel model = model_of({.rate = 1_Gbps, .mark_above = 8_us});
  EXPECT_FALSE(model.on_packet(packet_bytes, at(0)).is_marked);
  EXPECT_FALSE(model.on_packet(packet_bytes, at(0)).is_marked);  // waits exactly 8 us
  EXPECT_TRUE(model.on_packet(packet_bytes, at(0)).is_marked);
}

TEST(ImpairmentModel, jitter_keeps_the_order_unless_it_may_not) {
  for (const JitterShape shape : {JitterShape::Uniform, JitterShape::Exponential}) {
    Impairment impairment{.duplicate = 0.1,
                          .delay = 1_ms,
                          .jitter_max = 50_us,
                          .jitter_mean = 10_us,
                          .jitter_shape = shape};
    const auto steps_back = [&] {
      size_t count = 0;
      Instant last;
      for (const Verdict& verdict : verdicts_of(impairment, 10'000)) {
        for (size_t i = 0; i < verdict.copies; ++i) {
          count += verdict.at[i] < last;
          last = verdict.at[i];
        }
      }
      return count;
    };
    EXPECT_EQ(steps_back(), 0u);
    impairment.jitter_reorders = true;
    EXPECT_GT(steps_back(), 1000u);
  }
}

TEST(ImpairmentModel, jitter_stays_within_its_bound) {
  const Impairment impairment{.delay = 1_ms,
                              .jitter_max = 30_us,
                              .jitter_mean = 20_us,
                              .jitter_shape = JitterShape::Exponential,
                              .jitter_reorders = true};
  const auto verdicts = verdicts_of(impairment, 10'000);
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Duration added = verdicts[i].at[0] - at(int64_t(i) * 1000) - 1_ms;
    ASSERT_GE(added, 0_ns);
    ASSERT_LE(added, 30_us);
  }
}

TEST(ImpairmentModel, reorder_holds_its_share_back_and_lets_the_others_pass) {
  const Impairment impairment{.delay = 1_ms, .reorder = 0.1, .reorder_delay = 5_us};
  const auto verdicts = verdicts_of(impairment, 100'000);
  size_t held = 0;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Duration taken = verdicts[i].at[0] - at(int64_t(i) * 1000);
    ASSERT_TRUE(taken == 1_ms || taken == 1005_us) << taken.ns();
    held += taken > 1_ms;
  }
  EXPECT_NEAR(double(held), 10'000, 400);
}

TEST(ImpairmentModel, duplicates_come_by_their_probability_up_to_the_bound) {
  const auto verdicts = verdicts_of({.duplicate = 0.5, .copies_max = 3}, 100'000);
  std::array<size_t, impairment_copies_max + 1> count{};
  for (const Verdict& verdict : verdicts) ++count[verdict.copies];
  EXPECT_NEAR(double(count[1]), 50'000, 800);
  EXPECT_NEAR(double(count[2]), 25'000, 800);
  EXPECT_NEAR(double(count[3]), 25'000, 800);
  EXPECT_EQ(count[0] + count[4], 0u);
}

TEST(ImpairmentModel, corruption_names_a_bit_inside_the_packet) {
  size_t corrupted = 0;
  uint32_t highest = 0;
  for (const Verdict& verdict : verdicts_of({.corrupt = 0.2}, 100'000)) {
    corrupted += verdict.is_corrupted;
    highest = std::max(highest, verdict.corrupt_bit);
  }
  EXPECT_NEAR(double(corrupted), 20'000, 700);
  EXPECT_LT(highest, 8000u);
  EXPECT_GT(highest, 7900u);
}

TEST(ImpairmentModel, counters_add_up) {
  ImpairmentModel model = model_of(everything_at_once());
  uint64_t copies = 0;
  for (int i = 0; i < 100'000; ++i) {
    copies += model.on_packet(packet_bytes, at(i * 700), uint64_t(i) + 1).copies;
  }
  const ImpairmentCounters& counters = model.counters();
  EXPECT_EQ(counters.packets, 100'000u);
  EXPECT_EQ(counters.delivered, copies);
  EXPECT_EQ(counters.packets + counters.extra_copies, counters.delivered + counters.lost_total());
  for (const LossCause cause : {LossCause::Targeted, LossCause::QueueFull, LossCause::Blackout,
                                LossCause::Uniform, LossCause::GilbertElliott, LossCause::Burst}) {
    EXPECT_GT(counters.lost[size_t(cause)], 0u) << name_of(cause);
  }
}

TEST(ImpairmentModel, change_ends_the_faults_and_keeps_the_queue) {
  ImpairmentModel model = model_of({.rate = 1_Gbps, .loss = 1});
  EXPECT_EQ(model.on_packet(packet_bytes, at(0)).lost, LossCause::Uniform);
  model.change({.rate = 1_Gbps});
  EXPECT_EQ(model.on_packet(packet_bytes, at(0)).at[0], at(16'000));
}

}  // namespace

}  // namespace cw
