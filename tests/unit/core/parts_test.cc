// What a worker has at hand: the time, timers, counters and a mailbox.
#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/path/paths.h"
#include "dataplane/core/path/psn_tracker.h"
#include "dataplane/core/rate/pacer.h"
#include "dataplane/core/timer_wheel.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/core/turn/mailbox.h"
#include "dataplane/core/turn/worker.h"
#include "tests/property/property.h"
#include "tests/sim/checkers/heap_watch.h"
#include "tests/unit/core/loop_port.h"

namespace cw {
namespace {
using namespace literals;

// ---- Counts what the thread allocates while turns run: after the start it must be nothing ----

// Uses every part of the core in each turn: timers, pacer, PSNs, estimators, both directions.
class BusyStation final : public Station {
 public:
  explicit BusyStation(LoopPort& port)
      : port_(port), pacer_({.rate = 8_Gbps}), wheel_(1024), lost_(256) {}

  uint64_t received = 0, lost = 0, fired = 0;

  void on_gap(Duration, Instant) override {}
  void on_rx(std::span<Packet* const> packets, Instant now) override {
    for (size_t i = 0; i < packets.size(); ++i) {
      if (++received % 10 != 0)
        path_.on_arrival(tracker_.on_arrival(Psn(received), now, lost_), now);
      pacer_.try_push({.cookie = received, .bytes = 100, .drop_after = now + 1_ms}, now);
      path_.on_rtt(10_us, now);
    }
    port_.give_back(packets);
  }
  bool on_time(Instant now) override {
    wheel_.arm(1, now + 100_us);
    wheel_.cancel(wheel_.arm(2, now + 300_us));
    uint64_t due[16];
    const size_t count = wheel_.advance(now, due);
    fired += count;
    tracker_.settle(now, path_.reorder_time(), lost_);
    for (; !lost_.is_empty(); ++lost) path_.on_lost(lost_.pop(), now);
    path_.on_time(now);
    return count > 0;
  }
  size_t collect(std::span<Packet*> out, Instant now) override {
    pacer_.try_push({.cookie = 0, .bytes = 100, .not_before = now + 5_us}, now);
    Departed departed[limits::burst_packets_max];
    uint64_t expired[16];
    const auto counts = pacer_.depart(now, std::span(departed).first(out.size()), expired);
    const size_t count = port_.take_burst(out.first(counts.departed));
    for (size_t i = 0; i < count; ++i) out[i]->at = departed[i].at;
    return count;
  }
  Instant next_wakeup() const override {
    return std::min(wheel_.next_due(), pacer_.next_departure());
  }

 private:
  LoopPort& port_;
  Pacer pacer_;
  TimerWheel wheel_;
  PsnTracker tracker_;
  PathEstimates path_;
  Ring<LostRange> lost_;
};

TEST(Allocation, the_count_sees_malloc_and_new) {
  const uint64_t before = sim::HeapWatch::allocation_count();
  const sim::HeapWatch watch;
  void* volatile by_malloc = std::malloc(16);
  int* volatile by_new = new int(1);
  EXPECT_EQ(sim::HeapWatch::allocation_count(), before + 2);
  std::free(by_malloc);
  delete by_new;
}

TEST(Allocation, turns_allocate_nothing) {
  LoopPort port;
  BusyStation station(port);
  const Worker::Side side{&port, &station};
  Worker worker({&side, 1});
  VirtualClock clock;
  const uint64_t before = sim::HeapWatch::allocation_count();
  for (int turn = 0; turn < 20'000; ++turn) {
    const sim::HeapWatch watch;
    clock.advance_by(turn == 10'000 ? 200_ms : 1_us);
    worker.turn(clock.read());
  }
  EXPECT_EQ(sim::HeapWatch::allocation_count(), before);
  EXPECT_GT(station.received, 10'000u);
  EXPECT_GT(station.lost, 100u);
  EXPECT_GT(station.fired, 10'000u);
  EXPECT_EQ(worker.counters().read_any_thread(Counter::time_gaps), 1u);
}
// ---- clock ----

Instant at(Duration since_start) { return Instant() + since_start; }

TEST(VirtualClock, stands_still_until_told_otherwise) {
  VirtualClock clock(at(1_s));
  EXPECT_EQ(clock.read(), at(1_s));
  clock.advance_by(5_ms);
  clock.advance_to(at(2_s));
  EXPECT_EQ(clock.read(), at(2_s));
  EXPECT_DEATH(clock.advance_to(at(1_s)), "assertion failed");
}

TEST(MachineClock, never_goes_back_and_agrees_with_the_monotonic_clock) {
  const MachineClock machine;
  const MonotonicClock monotonic;
  Instant before = machine.read();
  for (int i = 0; i < 10'000; ++i) {
    const Instant now = machine.read();
    ASSERT_GE(now, before);
    before = now;
  }
  // Read between two readings of the other: however long the pauses, the bounds hold.
  const Instant low = monotonic.read();
  const Instant middle = machine.read();
  const Instant high = monotonic.read();
  EXPECT_GT(middle, low - 1_ms);
  EXPECT_LT(middle, high + 1_ms);
}

TEST(GapDetector, what_exceeds_a_long_turn_is_a_gap) {
  GapDetector gaps;
  EXPECT_EQ(gaps.observe(at(5_s)), 0_ns) << "the first reading has no predecessor";
  EXPECT_EQ(gaps.observe(at(5_s + 2_ms)), 0_ns);
  EXPECT_EQ(gaps.observe(at(5_s + 4_ms + 1_ns)), 1_ns);
  EXPECT_EQ(gaps.observe(at(5_s + 54_ms)), 48_ms - 1_ns);
  EXPECT_EQ(gaps.observe(at(5_s + 55_ms)), 0_ns);
}

TEST(GapDetector, time_goes_on_where_all_turns_are_long) {
  GapDetector gaps;
  Duration slept;
  for (int turn = 0; turn <= 100; ++turn) slept += gaps.observe(at(10_ms * turn));
  EXPECT_EQ(slept, 800_ms) << "of a second";
}

TEST(GapDetector, time_slept_on_purpose_is_no_gap_but_oversleeping_is) {
  GapDetector gaps;
  gaps.observe(at(0_s));
  gaps.sleeps_until(at(10_s));
  EXPECT_EQ(gaps.observe(at(10_s + 1_ms)), 0_ns);
  gaps.sleeps_until(at(20_s));
  EXPECT_EQ(gaps.observe(at(15_s)), 0_ns) << "woken early by a packet";
  gaps.sleeps_until(at(16_s));
  EXPECT_EQ(gaps.observe(at(18_s)), 1998_ms);
}

// ---- timer wheel ----

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

// ---- counters ----

template <class Key>
void expect_good_rows(size_t count) {
  std::set<std::string_view> names, sentences;
  for (size_t i = 0; i < count; ++i) {
    const auto key = static_cast<Key>(i);
    const std::string_view name = name_of(key), sentence = sentence_of(key);
    EXPECT_TRUE(names.insert(name).second) << name << " is declared twice";
    EXPECT_TRUE(sentences.insert(sentence).second) << name << " has another's sentence";
    EXPECT_GE(sentence.size(), 15u) << name;
    EXPECT_NE(sentence.back(), '.') << name << ": no full stop";
    const bool begins_with_acronym = sentence.size() > 1 && std::isupper(sentence[1]);
    EXPECT_TRUE(std::islower(sentence.front()) || begins_with_acronym) << name << ": lower case";
    for (const char c : name) EXPECT_TRUE(std::islower(c) || c == '_') << name;
  }
}

TEST(Counters, every_drop_reason_has_a_name_and_a_sentence_of_its_own) {
  expect_good_rows<DropReason>(drop_reason_count);
}

TEST(Counters, every_counter_has_a_name_and_a_sentence_of_its_own) {
  expect_good_rows<Counter>(counter_count);
}

TEST(Counters, names_follow_the_order_of_the_table) {
  EXPECT_EQ(name_of(DropReason::wire_short), "wire_short");
  EXPECT_EQ(name_of(DropReason::packet_duplicate), "packet_duplicate");
  EXPECT_EQ(name_of(Counter::tx_held), "tx_held");
}

TEST(Counters, a_snapshot_tells_what_was_added_since_an_earlier_one) {
  Drops drops;
  drops.add(DropReason::wire_short);
  const Drops::Snapshot before = drops.snapshot_any_thread();
  drops.add(DropReason::wire_short, 2);
  drops.add(DropReason::wire_opcode);
  const Drops::Snapshot added = drops.snapshot_any_thread().since(before);
  EXPECT_EQ(added[DropReason::wire_short], 2u);
  EXPECT_EQ(added[DropReason::wire_opcode], 1u);
  EXPECT_EQ(added.sum(), 3u);
  EXPECT_EQ(drops.read_any_thread(DropReason::wire_short), 3u);
}

// ---- mailbox ----

void add_one(void* argument, Instant) { ++*static_cast<int*>(argument); }

TEST(Mailbox, runs_one_change_per_call_in_order) {
  Mailbox mailbox(4);
  int first = 0, second = 0;
  const auto first_ticket = mailbox.try_post_any_thread({add_one, &first});
  const auto second_ticket = mailbox.try_post_any_thread({add_one, &second});
  ASSERT_TRUE(first_ticket && second_ticket);
  EXPECT_FALSE(mailbox.is_done_any_thread(*first_ticket));
  EXPECT_TRUE(mailbox.run_one(Instant()));
  EXPECT_TRUE(mailbox.is_done_any_thread(*first_ticket));
  EXPECT_FALSE(mailbox.is_done_any_thread(*second_ticket));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  EXPECT_TRUE(mailbox.run_one(Instant()));
  EXPECT_FALSE(mailbox.run_one(Instant()));
}

TEST(Mailbox, a_full_one_declines_until_the_worker_has_run_a_change) {
  Mailbox mailbox(2);
  int count = 0;
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(mailbox.try_post_any_thread({add_one, &count}));
    EXPECT_TRUE(mailbox.try_post_any_thread({add_one, &count}));
    EXPECT_FALSE(mailbox.try_post_any_thread({add_one, &count}));
    while (mailbox.run_one(Instant())) continue;
  }
  EXPECT_EQ(count, 10);
}

TEST(Mailbox, a_poster_stops_waiting_when_its_patience_is_over) {
  Mailbox mailbox;
  int count = 0;
  const auto ticket = mailbox.try_post_any_thread({add_one, &count});
  EXPECT_FALSE(mailbox.wait_any_thread(*ticket, 1_ms));
  mailbox.run_one(Instant());
  EXPECT_TRUE(mailbox.wait_any_thread(*ticket, 1_ms));
}

TEST(Mailbox, several_posters_and_one_worker_lose_nothing_and_see_the_results) {
  constexpr int posters = 4, rounds = 200;
  Mailbox mailbox(8);  // small, so that posters also meet a full one
  int total = 0;       // written by the worker only
  std::atomic<int> done{0};
  struct Request {
    int* total;
    int seen = 0;
  };
  std::vector<std::thread> threads;
  for (int p = 0; p < posters; ++p) {
    threads.emplace_back([&] {
      int before = 0;
      for (int i = 0; i < rounds; ++i) {
        Request request{&total};
        const Change change{[](void* argument, Instant) {
                              auto* mine = static_cast<Request*>(argument);
                              mine->seen = ++*mine->total;
                            },
                            &request};
        auto ticket = mailbox.try_post_any_thread(change);
        while (!ticket) {
          std::this_thread::yield();
          ticket = mailbox.try_post_any_thread(change);
        }
        ASSERT_TRUE(mailbox.wait_any_thread(*ticket, 30_s));
        ASSERT_GT(request.seen, before);
        before = request.seen;
      }
      ++done;
    });
  }
  while (done < posters) {
    if (!mailbox.run_one(Instant())) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, posters * rounds);
}

}  // namespace

}  // namespace cw
