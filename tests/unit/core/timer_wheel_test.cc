#include "dataplane/core/timer_wheel.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"

namespace cw {
namespace {
using namespace literals;

Instant at(Duration since_start) { return Instant() + since_start; }

std::vector<uint64_t> advance_all(TimerWheel& wheel, Instant now) {
  std::vector<uint64_t> fired;
  uint64_t due[16];
  while (const size_t count = wheel.advance(now, due)) fired.insert(fired.end(), due, due + count);
  return fired;
}

TEST(TimerWheel, fires_never_early_and_less_than_one_resolution_late) {
  for (const Duration after : {1_ns, 8191_ns, 8192_ns, 8193_ns, 1_ms, 33_ms, 3_s}) {
    TimerWheel wheel(4);
    wheel.arm(7, at(after));
    const Instant due = wheel.next_due();
    EXPECT_GE(due, at(after));
    EXPECT_LT(due, at(after) + wheel.resolution());
    EXPECT_TRUE(advance_all(wheel, due - 1_ns).empty());
    EXPECT_EQ(advance_all(wheel, due), std::vector<uint64_t>{7});
    EXPECT_EQ(wheel.next_due(), Instant::never());
  }
}

TEST(TimerWheel, a_timer_already_past_is_due_at_once) {
  TimerWheel wheel(4);
  advance_all(wheel, at(1_s));
  wheel.arm(1, at(1_ms));
  EXPECT_LE(wheel.next_due(), at(1_s));
  EXPECT_EQ(advance_all(wheel, at(1_s)), std::vector<uint64_t>{1});
}

TEST(TimerWheel, what_does_not_fit_comes_with_the_next_call_in_order) {
  TimerWheel wheel(64);
  for (uint64_t i = 0; i < 40; ++i) wheel.arm(i, at(10_us * static_cast<int64_t>(i + 1)));
  uint64_t due[16];
  uint64_t expected = 0;
  for (const size_t count : {16, 16, 8, 0}) {
    ASSERT_EQ(wheel.advance(at(1_s), due), count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(due[i], expected++);
  }
}

TEST(TimerWheel, a_stale_handle_cancels_nothing) {
  TimerWheel wheel(1);
  const TimerHandle first = wheel.arm(1, at(1_ms));
  EXPECT_TRUE(wheel.cancel(first));
  const TimerHandle second = wheel.arm(2, at(2_ms));
  EXPECT_EQ(first.index, second.index);
  EXPECT_FALSE(wheel.cancel(first));
  EXPECT_FALSE(wheel.cancel(TimerHandle()));
  EXPECT_EQ(advance_all(wheel, at(1_s)), std::vector<uint64_t>{2});
  EXPECT_FALSE(wheel.cancel(second));
}

TEST(TimerWheel, a_full_wheel_declines_and_recovers) {
  TimerWheel wheel(2);
  wheel.arm(1, at(1_ms));
  const TimerHandle second = wheel.arm(2, at(1_ms));
  EXPECT_TRUE(wheel.arm(3, at(1_ms)).is_none());
  wheel.cancel(second);
  EXPECT_FALSE(wheel.arm(3, at(1_ms)).is_none());
  EXPECT_EQ(wheel.armed_count(), 2u);
}

TEST(TimerWheel, the_end_of_time_is_not_too_far) {
  TimerWheel wheel(2, Instant(), 1_ns);
  const TimerHandle last = wheel.arm(1, Instant::never());
  wheel.arm(2, at(1_s));
  EXPECT_EQ(advance_all(wheel, at(Duration::from_s(3600LL * 24 * 365 * 100))),
            std::vector<uint64_t>{2});
  EXPECT_TRUE(wheel.cancel(last));
}

// The reference: a multimap by tick. Ops are drawn from a seed, so that a failure shrinks to it.
void compare_with_multimap(uint64_t seed, size_t ops) {
  Prng prng(seed);
  TimerWheel wheel(500, Instant(), 10_us);
  std::multimap<Instant, uint64_t> reference;
  std::map<uint64_t, std::pair<TimerHandle, std::multimap<Instant, uint64_t>::iterator>> armed;
  Instant now;
  uint64_t cookie = 0;
  for (size_t op = 0; op < ops; ++op) {
    const uint64_t kind = prng.below(10);
    if (kind < 5) {
      // Spans from nothing to centuries; the exponent is uniform, so every level is met.
      const Duration span =
          Duration::from_ns(static_cast<int64_t>(prng.next() >> (1 + prng.below(63))));
      const Instant when =
          span.ns() > Instant::never().ns() - now.ns() ? Instant::never() : now + span;
      const TimerHandle handle = wheel.arm(++cookie, when);
      ASSERT_EQ(handle.is_none(), reference.size() == wheel.capacity());
      if (!handle.is_none()) armed[cookie] = {handle, reference.emplace(when, cookie)};
    } else if (kind < 7 && !armed.empty()) {
      const auto chosen = std::next(armed.begin(), static_cast<long>(prng.below(armed.size())));
      ASSERT_TRUE(wheel.cancel(chosen->second.first));
      ASSERT_FALSE(wheel.cancel(chosen->second.first));
      reference.erase(chosen->second.second);
      armed.erase(chosen);
    } else {
      // Half the time to the next timer, as the simulator does; else anywhere, long pauses
      // included.
      const Instant next = wheel.next_due();
      const bool jump = prng.chance(0.5) && next != Instant::never();
      const Instant target =
          jump
              ? next
              : now + Duration::from_ns(static_cast<int64_t>(prng.next() >> (30 + prng.below(34))));
      now = std::max(now, std::min(target, at(Duration::from_s(1'000'000'000))));
      Instant last_tick;
      for (const uint64_t fired : advance_all(wheel, now)) {
        const auto found = armed.find(fired);
        ASSERT_NE(found, armed.end());
        const Instant when = found->second.second->first;
        ASSERT_LE(when, now);
        ASSERT_GT(when + wheel.resolution(), last_tick) << "earlier ticks come first";
        last_tick = std::max(last_tick, when);
        reference.erase(found->second.second);
        armed.erase(found);
      }
      if (!reference.empty()) {
        ASSERT_GT(reference.begin()->first, now - wheel.resolution()) << "overdue";
      }
    }
    ASSERT_EQ(wheel.armed_count(), reference.size());
    if (reference.empty()) {
      ASSERT_EQ(wheel.next_due(), Instant::never());
    } else {
      const Instant earliest = reference.begin()->first;
      const bool far = Instant::never() - wheel.resolution() < earliest;
      ASSERT_TRUE(far || wheel.next_due() < earliest + wheel.resolution());
    }
  }
}

RC_GTEST_PROP(TimerWheelProperty, agrees_with_a_multimap, (uint64_t seed)) {
  compare_with_multimap(seed, 400);
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(TimerWheel, next_due_is_exact_while_nothing_is_cancelled) {
  Prng prng(5);
  TimerWheel wheel(2000);
  for (uint64_t i = 0; i < 2000; ++i) {
    const auto ns = static_cast<int64_t>(prng.next() >> (20 + prng.below(40)));
    wheel.arm(i, at(Duration::from_ns(ns + 1)));
  }
  Instant before;
  while (wheel.armed_count() > 0) {
    const Instant due = wheel.next_due();
    ASSERT_GT(due, before);
    ASSERT_TRUE(advance_all(wheel, due - 1_ns).empty()) << due.ns() << " after " << before.ns();
    ASSERT_FALSE(advance_all(wheel, due).empty());
    before = due;
  }
}

TEST(TimerWheel, a_million_timers_all_fire_across_a_pause) {
  constexpr size_t count = 1'000'000;
  Prng prng(11);
  TimerWheel wheel(count);
  std::vector<Instant> when(count);
  for (size_t i = 0; i < count; ++i) {
    when[i] = at(Duration::from_us(static_cast<int64_t>(prng.below(2'000'000))));
    ASSERT_FALSE(wheel.arm(i, when[i]).is_none());
  }
  size_t fired = 0;
  std::vector<uint64_t> due(4096);
  for (Instant now; fired < count; now += now == at(1_s) ? 100_ms : 5_ms) {
    while (const size_t n = wheel.advance(now, due)) {
      fired += n;
      for (size_t i = 0; i < n; ++i) ASSERT_LE(when[due[i]], now);
    }
  }
  EXPECT_EQ(wheel.armed_count(), 0u);
}

}  // namespace
}  // namespace cw
