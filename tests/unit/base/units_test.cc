#include "dataplane/base/units.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "tests/property/property.h"

namespace cw {
namespace {
using namespace literals;

// Units do not turn into each other, nor into plain numbers, unless asked.
static_assert(!std::is_convertible_v<int64_t, Duration>);
static_assert(!std::is_constructible_v<Duration, int64_t>);
static_assert(!std::is_convertible_v<Duration, int64_t>);
static_assert(!std::is_convertible_v<Duration, Instant>);
static_assert(!std::is_constructible_v<Instant, Duration>);
static_assert(!std::is_convertible_v<uint64_t, Bytes>);
static_assert(!std::is_convertible_v<Bytes, uint64_t>);
static_assert(!std::is_constructible_v<Rate, Bytes>);
template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
static_assert(Addable<Instant, Duration> && Addable<Duration, Duration>);
static_assert(!Addable<Instant, Instant> && !Addable<Duration, Bytes> && !Addable<Duration, int>);

TEST(Duration, is_the_same_from_every_unit) {
  EXPECT_EQ(Duration::from_s(2), 2000_ms);
  EXPECT_EQ(2000_ms, 2'000'000_us);
  EXPECT_EQ((2_s).ns(), 2'000'000'000);
  EXPECT_DOUBLE_EQ((1500_us).ms(), 1.5);
  EXPECT_DOUBLE_EQ((1500_ns).us(), 1.5);
  EXPECT_DOUBLE_EQ((1500_ms).seconds(), 1.5);
}

TEST(Duration, divides_toward_zero_on_both_sides_of_zero) {
  EXPECT_EQ(7_ns / 2, 3_ns);
  EXPECT_EQ(-(7_ns) / 2, -(3_ns));
  EXPECT_EQ(7_ms / 2_ms, 3);
  EXPECT_EQ(7_ms % 2_ms, 1_ms);
  EXPECT_EQ((10_ns).scaled(0.99), 9_ns);
  EXPECT_EQ((-(10_ns)).scaled(0.99), -(9_ns));
}

TEST(Duration, spans_292_years_and_its_sentinel_is_the_last_of_them) {
  const Duration year = 86400_s * 365;
  EXPECT_LT(year * 292, Duration::max());
  EXPECT_EQ(Duration::max() / year, 292);
  EXPECT_EQ(Instant::never().ns(), Duration::max().ns());
}

RC_GTEST_PROP(Duration, quotient_and_remainder_make_the_whole, (int32_t a, int32_t b)) {
  RC_PRE(b != 0);
  const Duration whole = Duration::from_ns(a), part = Duration::from_ns(b);
  RC_ASSERT(part * (whole / part) + whole % part == whole);
}

RC_GTEST_PROP(Instant, differences_undo_sums, (int32_t start, int32_t step)) {
  const Instant from = Instant::from_ns(start);
  const Duration span = Duration::from_ns(step);
  RC_ASSERT((from + span) - from == span);
  RC_ASSERT((from + span) - span == from);
  RC_ASSERT((from + span < from) == (step < 0));
  Instant moved = from;
  RC_ASSERT((moved += span) == from + span);
}

TEST(Bytes, scale_by_powers_of_two) {
  EXPECT_EQ((1_KiB).count(), 1024u);
  EXPECT_EQ(1_MiB, 1_KiB * 1024);
  EXPECT_EQ(1_GiB / 1024, 1_MiB);
  Bytes sum = 3_B;
  sum += 4_B;
  sum -= 2_B;
  EXPECT_EQ(sum, 5_B);
}

TEST(Rate, time_for_rounds_up_and_bytes_in_rounds_down) {
  EXPECT_EQ((100_Gbps).time_for(4096_B).ns(), 328);  // 327.68
  EXPECT_EQ((100_Gbps).bytes_in(328_ns).count(), 4100u);
  EXPECT_EQ((500_Mbps).time_for(1500_B), 24_us);
  EXPECT_EQ((100_Gbps).time_for(0_B), 0_ns);
  EXPECT_EQ((8_Gbps).bytes_in(0_ns), 0_B);
  EXPECT_EQ(Rate::from_bps(7).bytes_in(1_s), 0_B);
  EXPECT_EQ(Rate::from_bps(8).bytes_in(1_s), 1_B);
}

TEST(Rate, keeps_its_precision_up_to_the_documented_edges) {
  EXPECT_EQ(Rate::from_bps(1).time_for(1_GiB), 1_s * (int64_t{8} << 30));
  EXPECT_EQ(Rate::from_gbps(1000).bytes_in(86400_s * 365 * 4),
            Bytes(uint64_t{125'000'000'000} * 86400 * 365 * 4));
}

TEST(Rate, scales_toward_zero) {
  EXPECT_EQ((10_Gbps).scaled(0.5), 5_Gbps);
  EXPECT_EQ(Rate::from_bps(3).scaled(0.5).bps(), 1u);
}

RC_GTEST_PROP(Rate, time_for_is_the_least_time_in_which_the_bytes_pass, ()) {
  const Rate rate = Rate::from_bps(*rc::gen::inRange<uint64_t>(1, 1'000'000'000'000));
  const Bytes bytes(*rc::gen::inRange<uint64_t>(1, 1'000'000));
  const Duration time = rate.time_for(bytes);
  RC_ASSERT(rate.bytes_in(time) >= bytes);
  RC_ASSERT(rate.bytes_in(time - 1_ns) < bytes);
}

}  // namespace
}  // namespace cw
