#include "dataplane/port/impair/impairment.h"

#include <gtest/gtest.h>

#include <limits>

namespace cw {
namespace {
using namespace literals;

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

}  // namespace
}  // namespace cw
