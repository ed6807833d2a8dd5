#include "dataplane/core/psn_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"

namespace cw {
namespace {
using namespace literals;
using Kind = PsnArrival::Kind;

constexpr Duration budget = 1_ms;

Instant at(Duration since_start) { return Instant() + since_start; }

// A tracker that begins three before the wrap, so that every test crosses it.
struct Tracked {
  static constexpr uint64_t start = Psn::space - 3;
  PsnTracker tracker{9, Psn(start)};
  Ring<LostRange> lost{256};

  PsnArrival arrive(uint64_t offset, Instant now) {
    return tracker.on_arrival(Psn(start + offset), now, lost);
  }
  std::vector<std::pair<uint32_t, uint32_t>> take_lost() {
    std::vector<std::pair<uint32_t, uint32_t>> result;
    while (!lost.is_empty()) {
      const LostRange range = lost.pop();
      EXPECT_EQ(range.tracker, 9u);
      result.emplace_back((range.first - start).value(), range.count);
    }
    return result;
  }
};
using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

TEST(PsnTracker, an_unbroken_row_across_the_wrap_loses_nothing) {
  Tracked t;
  for (uint64_t i = 0; i < 10'000; ++i) ASSERT_EQ(t.arrive(i, at(0_us)).kind, Kind::Fresh);
  t.tracker.settle(at(1_s), budget, t.lost);
  EXPECT_TRUE(t.lost.is_empty());
  EXPECT_EQ(t.tracker.next_settle(budget), Instant::never());
}

TEST(PsnTracker, a_gap_is_lost_when_it_has_outlived_the_reorder_budget) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(4, at(10_us));  // skips 1, 2, 3: the wrap lies among them
  EXPECT_EQ(t.tracker.next_settle(budget), at(10_us) + budget);
  t.tracker.settle(at(10_us) + budget - 1_ns, budget, t.lost);
  EXPECT_TRUE(t.lost.is_empty());
  t.tracker.settle(at(10_us) + budget, budget, t.lost);
  EXPECT_EQ(t.take_lost(), (Ranges{{1, 3}}));
  EXPECT_EQ(t.tracker.lost_count(), 3u);
  EXPECT_EQ(t.tracker.lost_range_count(), 1u);
}

TEST(PsnTracker, the_first_packet_of_all_can_be_lost_too) {
  Tracked t;
  t.arrive(2, at(0_us));
  t.tracker.settle(at(1_s), budget, t.lost);
  EXPECT_EQ(t.take_lost(), (Ranges{{0, 2}}));
}

TEST(PsnTracker, a_packet_that_fills_its_gap_in_time_was_reordered) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(5, at(10_us));
  const PsnArrival arrival = t.arrive(3, at(30_us));
  EXPECT_EQ(arrival.kind, Kind::Reordered);
  EXPECT_EQ(arrival.depth, 2u);
  EXPECT_EQ(arrival.behind, 20_us);
  t.tracker.settle(at(1_s), budget, t.lost);
  EXPECT_EQ(t.take_lost(), (Ranges{{1, 2}, {4, 1}}));
}

TEST(PsnTracker, a_packet_after_its_loss_was_reported_is_late_and_then_a_duplicate) {
  Tracked t;
  t.arrive(2, at(0_us));
  t.tracker.settle(at(1_s), budget, t.lost);
  EXPECT_EQ(t.arrive(1, at(1_s)).kind, Kind::Late);
  EXPECT_EQ(t.arrive(1, at(1_s)).kind, Kind::Duplicate);
  EXPECT_EQ(t.arrive(2, at(1_s)).kind, Kind::Duplicate);
}

TEST(PsnTracker, the_window_tells_apart_to_its_last_psn) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(PsnTracker::window_psns, at(0_us));
  EXPECT_EQ(t.arrive(1, at(0_us)).kind, Kind::Reordered);
  EXPECT_EQ(t.arrive(0, at(0_us)).kind, Kind::Stale);
}

TEST(PsnTracker, a_gap_that_leaves_the_window_is_settled_while_its_bits_are_there) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(3, at(0_us));
  for (uint64_t i = 4; i <= PsnTracker::window_psns; ++i) t.arrive(i, at(0_us));
  EXPECT_TRUE(t.lost.is_empty());
  t.arrive(PsnTracker::window_psns + 1, at(0_us));
  EXPECT_EQ(t.take_lost(), (Ranges{{1, 2}}));
}

TEST(PsnTracker, a_jump_beyond_the_window_is_one_burst_counted_by_arithmetic) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(3, at(0_us));
  t.arrive(8'000'000, at(0_us));
  EXPECT_EQ(t.take_lost(), (Ranges{{1, 2}, {4, 7'999'996}}));
  EXPECT_EQ(t.arrive(7'999'999, at(0_us)).kind, Kind::Late);
  EXPECT_EQ(t.arrive(8'000'001, at(0_us)).kind, Kind::Fresh);
}

TEST(PsnTracker, one_forged_jump_silences_the_tracker_only_for_a_short_while) {
  for (const Duration apart : {1_ms, 100_ms}) {
    Tracked t;
    for (uint64_t i = 0; i < 10; ++i) t.arrive(i, at(0_us));
    t.arrive(5'000'000, at(0_us));
    uint64_t next = 10;
    Duration time;
    while (t.arrive(next++, at(time)).kind == Kind::Stale) ASSERT_LT(time += apart, 20_s);
    EXPECT_GE(time, PsnTracker::stale_time_min);
    EXPECT_GE(next, 10 + PsnTracker::stale_run_max);
    EXPECT_EQ(t.arrive(next, at(time)).kind, Kind::Fresh);
  }
}

TEST(PsnTracker, a_burst_of_old_ones_moves_nothing_and_neither_do_several) {
  Tracked t;
  for (uint64_t i = 0; i < 10'000; ++i) t.arrive(i, at(0_us));
  for (const Duration when : {1_s, 12_s, 23_s}) {
    for (uint64_t i = 0; i < 4000; ++i) {
      ASSERT_EQ(t.arrive(i, at(when + Duration::from_us(100) * static_cast<int64_t>(i))).kind,
                Kind::Stale);
    }
  }
  EXPECT_EQ(t.arrive(10'000, at(24_s)).kind, Kind::Fresh);
}

TEST(PsnTracker, what_the_full_ring_cannot_carry_comes_with_the_next_call) {
  PsnTracker tracker(0, Psn(0));
  Ring<LostRange> lost(2);
  for (uint64_t i = 1; i < 10; i += 2) tracker.on_arrival(Psn(i), at(0_us), lost);
  std::vector<uint32_t> firsts;
  for (int call = 0; call < 3; ++call) {
    tracker.settle(at(1_s), budget, lost);
    while (!lost.is_empty()) firsts.push_back(lost.pop().first.value());
  }
  EXPECT_EQ(firsts, (std::vector<uint32_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(tracker.unreported_count(), 0u);
}

TEST(PsnTracker, more_gaps_than_it_remembers_settle_the_oldest_early) {
  PsnTracker tracker(0, Psn(0));
  Ring<LostRange> lost(256);
  for (uint64_t i = 0; i <= PsnTracker::gaps_max; ++i) {
    tracker.on_arrival(Psn(2 * i + 1), at(0_us), lost);
  }
  ASSERT_EQ(lost.count(), 1u);
  EXPECT_EQ(lost.pop().first, Psn(0));
}

// The reference keeps whole sets: what was sent, what arrived, what was reported.
void compare_with_sets(uint64_t seed) {
  Prng prng(seed);
  const uint64_t start = Psn::space - 1000;
  PsnTracker tracker(1, Psn(start));
  Ring<LostRange> lost(1024);
  std::multimap<Instant, uint64_t> wire;
  std::map<uint64_t, Instant> reported;
  std::set<uint64_t> arrived;
  const double loss = prng.uniform() * 0.2, reorder = prng.uniform() * 0.2;
  constexpr uint64_t sent = 3000;
  Instant departure;
  for (uint64_t i = 0; i < sent; ++i, departure += 2_us) {
    if (prng.chance(loss) && i + 1 < sent) continue;
    const Duration extra =
        prng.chance(reorder) ? Duration::from_us(int64_t(prng.below(300))) : 0_us;
    wire.emplace(departure + extra, i);
    if (prng.chance(0.05)) wire.emplace(departure + extra + 50_us, i);
  }
  uint64_t highest = 0;
  const auto take = [&](Instant now) {
    while (!lost.is_empty()) {
      const LostRange range = lost.pop();
      for (uint64_t i = 0; i < range.count; ++i) {
        const uint64_t offset = (range.first + i - start).value();
        ASSERT_LT(offset, highest);
        ASSERT_FALSE(arrived.contains(offset)) << "reported what had arrived";
        ASSERT_TRUE(reported.emplace(offset, now).second) << "reported twice";
      }
    }
  };
  for (const auto& [now, offset] : wire) {
    tracker.settle(now, 100_us, lost);
    take(now);
    const bool is_fresh = arrived.empty() || offset > highest;
    const Kind expected = arrived.contains(offset)    ? Kind::Duplicate
                          : is_fresh                  ? Kind::Fresh
                          : reported.contains(offset) ? Kind::Late
                                                      : Kind::Reordered;
    ASSERT_EQ(tracker.on_arrival(Psn(start + offset), now, lost).kind, expected) << offset;
    highest = std::max(highest, offset);
    take(now);
    arrived.insert(offset);
  }
  tracker.settle(at(10_s), 100_us, lost);
  take(at(10_s));
  for (uint64_t i = 0; i < highest; ++i) {
    ASSERT_TRUE(arrived.contains(i) || reported.contains(i)) << i << " was forgotten";
  }
  EXPECT_EQ(tracker.lost_count(), reported.size());
}

RC_GTEST_PROP(PsnTrackerProperty, agrees_with_sets, (uint64_t seed)) {
  compare_with_sets(seed);
  RC_ASSERT(!testing::Test::HasFailure());
}

// The short way of the packet that comes in order is the long way, step by step.
RC_GTEST_PROP(PsnTrackerProperty, goes_the_same_whether_the_next_is_asked_for_or_not, ()) {
  PsnTracker asked(3, Psn(0)), plain(3, Psn(0));
  Ring<LostRange> asked_lost(8), plain_lost(8);
  uint64_t psn = *rc::gen::element(uint64_t{0}, uint64_t{Psn::space - 20});
  Instant now = at(0_us);
  for (int i = *rc::gen::inRange(1, 200); i > 0; --i) {
    psn += *rc::gen::weightedElement<uint64_t>({{20, 1}, {2, 3}, {1, 5000}, {2, Psn::space - 2}});
    now += Duration::from_us(*rc::gen::inRange(0, 300));
    const PsnArrival arrival = plain.on_arrival(Psn(psn), now, plain_lost);
    if (asked.try_next(Psn(psn))) {
      RC_ASSERT(arrival.kind == Kind::Fresh);
    } else {
      const PsnArrival other = asked.on_arrival(Psn(psn), now, asked_lost);
      RC_ASSERT((other.kind == arrival.kind && other.depth == arrival.depth &&
                 other.behind == arrival.behind));
    }
    asked.settle(now, budget, asked_lost), plain.settle(now, budget, plain_lost);
    while (!plain_lost.is_empty()) {
      const LostRange a = asked_lost.pop(), b = plain_lost.pop();
      RC_ASSERT((a.tracker == b.tracker && a.first == b.first && a.count == b.count));
    }
    RC_ASSERT(asked_lost.is_empty());
    RC_ASSERT((asked.next_settle(budget) == plain.next_settle(budget)));
  }
}

TEST(PsnTracker, hostile_psns_cost_no_more_than_one_window_each) {
  Prng prng(3);
  PsnTracker tracker(0, Psn(0));
  Ring<LostRange> lost(16);
  for (int i = 0; i < 200'000; ++i) {
    tracker.on_arrival(Psn(prng.next()), at(0_us), lost);
    if (prng.chance(0.1)) lost.clear();
  }
  EXPECT_GT(tracker.lost_count(), tracker.unreported_count());
}

}  // namespace
}  // namespace cw
