// Counts what the thread allocates while turns run: after the start it must be nothing.
#include <gtest/gtest.h>

#include <cstdlib>

#include "dataplane/core/pacer.h"
#include "dataplane/core/paths.h"
#include "dataplane/core/psn_tracker.h"
#include "dataplane/core/timer_wheel.h"
#include "dataplane/core/worker.h"
#include "tests/sim/checkers/heap_watch.h"
#include "tests/unit/core/loop_port.h"

namespace cw {
namespace {
using namespace literals;

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

}  // namespace
}  // namespace cw
