#include "dataplane/core/turn/worker.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataplane/core/turn/idle.h"
#include "tests/unit/core/loop_port.h"

namespace cw {
namespace {
using namespace literals;

Instant at(Duration since_start) { return Instant() + since_start; }

// Writes down what it is told, sends numbered packets, keeps nothing that arrives.
class DiaryStation final : public Station {
 public:
  explicit DiaryStation(LoopPort& port) : port_(port) {}

  std::string diary;
  std::vector<uint8_t> received;
  size_t to_send = 0;
  Instant wakeup = Instant::never();

  void on_gap(Duration gap, Instant) override {
    diary += "gap" + std::to_string(gap.ns() / 1'000'000);
  }
  void on_rx(std::span<Packet* const> packets, Instant) override {
    diary += "rx" + std::to_string(packets.size());
    for (const Packet* packet : packets) received.push_back(packet->data[0]);
    port_.give_back(packets);
  }
  bool on_time(Instant) override {
    diary += "t";
    return false;
  }
  size_t collect(std::span<Packet*> out, Instant) override {
    diary += "c ";
    const size_t count = port_.take_burst(out.first(std::min(out.size(), to_send)));
    to_send -= count;
    for (size_t i = 0; i < count; ++i) {
      out[i]->data[0] = next_++;
      out[i]->bytes = 100;
    }
    return count;
  }
  Instant next_wakeup() const override { return wakeup; }

 private:
  LoopPort& port_;
  uint8_t next_ = 0;
};

struct OneSide {
  LoopPort port;
  DiaryStation station{port};
  Worker::Side side{&port, &station};
  Worker worker{{&side, 1}};

  uint64_t count(Counter counter) { return worker.counters().read_any_thread(counter); }
};

TEST(Worker, a_turn_receives_then_looks_at_timers_then_sends) {
  OneSide one;
  one.station.to_send = 3;
  EXPECT_TRUE(one.worker.turn(at(1_ms)));
  EXPECT_TRUE(one.worker.turn(at(2_ms)));
  EXPECT_EQ(one.station.diary, "tc rx3tc ");
  EXPECT_FALSE(one.worker.turn(at(3_ms)));
  EXPECT_EQ(one.count(Counter::turns), 3u);
  EXPECT_EQ(one.count(Counter::turns_idle), 1u);
  EXPECT_EQ(one.count(Counter::rx_bytes), 300u);
  EXPECT_EQ(one.port.lent_count(), 0u);
}

TEST(Worker, what_the_port_did_not_take_goes_first_next_turn) {
  OneSide one;
  one.port.tx_packets_max = 2;
  one.station.to_send = 5;
  one.worker.turn(at(1_ms));
  EXPECT_EQ(one.worker.next_wakeup(), Instant()) << "held packets call for another turn at once";
  EXPECT_EQ(one.count(Counter::tx_packets), 2u);
  EXPECT_EQ(one.count(Counter::tx_bytes), 200u);
  EXPECT_EQ(one.count(Counter::tx_held), 3u);
  for (int turn = 2; turn < 6; ++turn) one.worker.turn(at(1_ms * turn));
  EXPECT_EQ(one.station.received, (std::vector<uint8_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(one.count(Counter::tx_packets), 5u);
  EXPECT_EQ(one.worker.next_wakeup(), Instant::never());
}

TEST(Worker, a_port_that_takes_nothing_makes_the_room_above_wait) {
  OneSide one;
  one.port.tx_packets_max = 0;
  one.station.to_send = 1000;
  for (int turn = 0; turn < 10; ++turn) one.worker.turn(at(1_ms * turn));
  EXPECT_EQ(one.port.lent_count(), limits::burst_packets_max);
}

TEST(Worker, is_behind_after_a_turn_in_which_a_port_filled_it) {
  OneSide one;
  one.station.to_send = limits::burst_packets_max + 1;
  one.worker.turn(at(1_ms));
  EXPECT_FALSE(one.worker.is_behind());
  one.worker.turn(at(2_ms));
  EXPECT_TRUE(one.worker.is_behind());
  one.worker.turn(at(3_ms));
  EXPECT_FALSE(one.worker.is_behind());
}

TEST(Worker, gives_held_packets_back_when_it_ends) {
  LoopPort port;
  DiaryStation station(port);
  const Worker::Side side{&port, &station};
  port.tx_packets_max = 0;
  station.to_send = 5;
  {
    Worker worker({&side, 1});
    worker.turn(at(1_ms));
    EXPECT_EQ(port.lent_count(), 5u);
  }
  EXPECT_EQ(port.lent_count(), 0u);
}

TEST(Worker, carries_out_one_change_per_turn_after_everything_else) {
  OneSide one;
  const Change change{[](void* diary, Instant) { *static_cast<std::string*>(diary) += "change "; },
                      &one.station.diary};
  one.worker.mailbox().try_post_any_thread(change);
  one.worker.mailbox().try_post_any_thread(change);
  EXPECT_TRUE(one.worker.turn(at(1_ms)));
  EXPECT_TRUE(one.worker.turn(at(2_ms)));
  EXPECT_FALSE(one.worker.turn(at(3_ms)));
  EXPECT_EQ(one.station.diary, "tc change tc change tc ");
}

TEST(Worker, tells_of_a_pause_before_anything_else_and_knows_a_planned_sleep) {
  OneSide one;
  one.worker.turn(at(0_s));
  one.worker.turn(at(3_s));
  EXPECT_EQ(one.station.diary, "tc gap2998tc ");
  one.worker.sleeps_until(at(8_s));
  one.worker.turn(at(8_s));
  EXPECT_EQ(one.count(Counter::time_gaps), 1u);
  EXPECT_EQ(one.count(Counter::time_gap_us), 2'998'000u);
}

TEST(Worker, serves_every_side_and_wakes_for_the_earliest) {
  LoopPort wan, lan;
  DiaryStation far(wan), near(lan);
  const Worker::Side sides[] = {{&wan, &far}, {&lan, &near}};
  Worker worker(sides);
  far.wakeup = at(7_ms);
  near.wakeup = at(5_ms);
  far.to_send = near.to_send = 2;
  worker.turn(at(1_ms));
  worker.turn(at(2_ms));
  EXPECT_EQ(far.received.size(), 2u);
  EXPECT_EQ(near.received.size(), 2u);
  EXPECT_EQ(worker.next_wakeup(), at(5_ms));
  wan.due = at(4_ms);
  EXPECT_EQ(worker.next_wakeup(), at(4_ms)) << "a port that keeps packets for a time";
}

// A port of descriptors: takes so many, keeps them, and is done with lent memory when told to be.
class KeepingPort final : public WanPort {
 public:
  size_t takes = SIZE_MAX;
  bool is_done_at_once = false;
  std::vector<Send> kept;
  std::vector<Arrival> arriving;
  std::vector<uint64_t> done;
  size_t arrivals_ended = 0, given_back = 0;

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return {}; }
  size_t take_burst(std::span<Packet*>) override { return 0; }
  void give_back(std::span<Packet* const> packets) override { given_back += packets.size(); }
  size_t receive(std::span<Arrival> out, Instant) override {
    std::ranges::copy(arriving, out.begin());
    return std::exchange(arriving, {}).size();
  }
  void end_arrivals() override { ++arrivals_ended; }
  size_t send(std::span<const Send> sends, Instant) override {
    const auto taken = sends.first(std::min(sends.size(), takes));
    kept.insert(kept.end(), taken.begin(), taken.end());
    if (is_done_at_once) {
      for (const Send& send : taken) done.push_back(send.cookie);
    }
    return taken.size();
  }
  size_t take_done(std::span<uint64_t> out) override {
    const size_t count = std::min(out.size(), done.size());
    std::copy_n(done.begin(), count, out.begin());
    done.erase(done.begin(), done.begin() + static_cast<ptrdiff_t>(count));
    return count;
  }

 private:
  PortFacts facts_;
};

class WanDiary final : public WanStation {
 public:
  std::string diary;
  std::vector<Send> to_send;

  void on_gap(Duration, Instant) override { diary += "gap "; }
  void on_arrivals(std::span<const Arrival> arrivals, Instant) override {
    diary += "a" + std::to_string(arrivals.size()) + " ";
  }
  bool on_time(Instant) override {
    diary += "t ";
    return false;
  }
  size_t collect(std::span<Send> out, Instant) override {
    diary += "c ";
    const size_t count = std::min(out.size(), to_send.size());
    std::copy_n(to_send.begin(), count, out.begin());
    to_send.erase(to_send.begin(), to_send.begin() + static_cast<ptrdiff_t>(count));
    return count;
  }
  void on_done(std::span<const uint64_t> cookies) override {
    for (const uint64_t cookie : cookies) diary += "d" + std::to_string(cookie) + " ";
  }
  Instant next_wakeup() const override { return Instant::never(); }
};

struct OneWan {
  KeepingPort port;
  WanDiary station;
  Worker worker{{}, {&port, &station}};

  void lend(std::initializer_list<uint64_t> cookies) {
    for (const uint64_t cookie : cookies) {
      Send send;
      send.head.payload_bytes = 5;
      send.cookie = cookie;
      station.to_send.push_back(send);
    }
  }
  uint64_t count(Counter counter) { return worker.counters().read_any_thread(counter); }
};

TEST(WanWorker, tells_what_is_done_in_the_turn_in_which_it_is) {
  OneWan one;
  one.lend({7, 8});
  one.worker.turn(at(1_ms));
  EXPECT_EQ(one.station.diary, "t c ") << "the port has them still";
  one.port.done = {8};
  one.worker.turn(at(2_ms));
  EXPECT_EQ(one.station.diary, "t c t c d8 ");
  one.port.is_done_at_once = true;
  one.lend({9});
  one.worker.turn(at(3_ms));
  EXPECT_EQ(one.station.diary, "t c t c d8 t c d9 ");
  EXPECT_EQ(one.count(Counter::tx_packets), 3u);
  EXPECT_EQ(one.count(Counter::tx_bytes), 3 * (32u + 5 + 3)) << "headers, payload and pad";
}

TEST(WanWorker, shows_arrivals_before_timers_and_ends_them) {
  OneWan one;
  one.port.arriving.resize(3);
  one.port.arriving[1].bytes = 40;
  EXPECT_TRUE(one.worker.turn(at(1_ms)));
  EXPECT_EQ(one.station.diary, "a3 t c ");
  EXPECT_EQ(one.port.arrivals_ended, 1u);
  EXPECT_EQ(one.count(Counter::rx_packets), 3u);
  EXPECT_EQ(one.count(Counter::rx_bytes), 40u);
  EXPECT_FALSE(one.worker.turn(at(2_ms)));
  EXPECT_EQ(one.port.arrivals_ended, 1u) << "there was nothing to end";
}

TEST(WanWorker, what_the_port_did_not_take_goes_first_next_turn) {
  OneWan one;
  one.port.takes = 2;
  one.lend({1, 2, 3});
  one.worker.turn(at(1_ms));
  EXPECT_EQ(one.worker.next_wakeup(), Instant());
  one.lend({4});
  one.worker.turn(at(2_ms));
  ASSERT_EQ(one.port.kept.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(one.port.kept[i].cookie, i + 1);
}

TEST(WanWorker, gives_packets_back_when_it_ends_and_tells_nobody) {
  Packet packet;
  KeepingPort port;
  port.takes = 0;
  WanDiary station;
  station.to_send.resize(2);
  station.to_send[0].packet = &packet;
  {
    Worker worker({}, {&port, &station});
    worker.turn(at(1_ms));
    port.done = {5};
  }
  EXPECT_EQ(port.given_back, 1u);
  EXPECT_TRUE(port.done.empty());
  EXPECT_EQ(station.diary, "t c ");
}

TEST(IdleWait, polls_when_told_to) {
  IdleWait idle({.policy = IdlePolicy::Poll}, {});
  EXPECT_EQ(idle.plan(false, at(10_s), Instant::never()), at(10_s));
}

TEST(IdleWait, spins_after_work_and_before_a_deadline_and_else_waits) {
  const IdleOptions options{.spin = 100_us, .wait_max = 50_ms};
  IdleWait idle(options, {});
  EXPECT_EQ(idle.plan(true, at(1_s), Instant::never()), at(1_s));
  EXPECT_EQ(idle.plan(false, at(1_s + 99_us), Instant::never()), at(1_s + 99_us));
  EXPECT_EQ(idle.plan(false, at(2_s), Instant::never()), at(2_s + 50_ms));
  EXPECT_EQ(idle.plan(false, at(2_s), at(2_s + 10_ms)), at(2_s + 10_ms - 100_us));
  EXPECT_EQ(idle.plan(false, at(2_s), at(2_s + 100_us)), at(2_s));
}

TEST(IdleWait, lets_packets_gather_between_turns_that_find_some) {
  IdleWait idle({.spin = 20_us, .pause = 50_us, .wait_max = 50_ms}, {});
  EXPECT_EQ(idle.plan(true, at(1_s), Instant::never()), at(1_s + 50_ms)) << "the first alone";
  EXPECT_EQ(idle.plan(true, at(1_s + 50_us), at(1_s + 60_us)), at(1_s + 100_us));
  // A turn that found nothing ends it: from now on the next packet wakes at once.
  EXPECT_EQ(idle.plan(false, at(1_s + 100_us), Instant::never()), at(1_s + 50_ms + 100_us));
  EXPECT_EQ(idle.plan(false, at(1_s + 100_us), at(1_s + 110_us)), at(1_s + 100_us));
}

// A pause that gathers nothing costs as much as the packet's own turn.
TEST(IdleWait, does_not_pause_for_packets_that_come_one_by_one) {
  IdleWait idle({.spin = 20_us, .pause = 50_us, .wait_max = 50_ms}, {});
  for (Instant now = at(1_s); now < at(1_s + 10_ms); now += 250_us) {
    EXPECT_EQ(idle.plan(true, now, Instant::never()), now + 50_ms);
  }
}

TEST(IdleWait, sleeps_in_steps_when_a_port_cannot_wake_it) {
  LoopPort port;
  PortBase* const ports[] = {&port};
  IdleWait idle({.step_first = 50_us, .step_max = 150_us}, ports);
  EXPECT_TRUE(idle.sleeps_in_steps());
  for (const Duration step : {50_us, 100_us, 150_us, 150_us}) {  // the longer, the less it costs
    EXPECT_EQ(idle.plan(false, at(2_s), Instant::never()), at(2_s + step));
  }
  idle.plan(true, at(3_s), Instant::never());
  EXPECT_EQ(idle.plan(false, at(4_s), Instant::never()), at(4_s + 50_us));
}

// A wait of 900 ms that is over sooner must have been ended by something. A busy machine may keep
// us from noticing once, not ten times in a row.
TEST(IdleWait, a_packet_or_a_post_ends_the_wait) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  LoopPort port(16, pipe_fds[0]);
  PortBase* const ports[] = {&port};
  IdleWait idle({.wait_max = 900_ms}, ports);
  const MonotonicClock clock;
  const auto is_over_soon = [&](auto wake, auto forget) {
    for (int i = 0; i < 10; ++i) {
      const Instant start = clock.read();
      wake();
      idle.wait(900_ms);
      const bool is_soon = clock.read() - start < 900_ms;
      forget();
      if (is_soon) return true;
    }
    return false;
  };
  char byte = 'x';
  EXPECT_TRUE(is_over_soon([&] { idle.wake_any_thread(); }, [] {}));
  EXPECT_TRUE(is_over_soon([&] { ASSERT_EQ(write(pipe_fds[1], &byte, 1), 1); },
                           [&] { ASSERT_EQ(read(pipe_fds[0], &byte, 1), 1); }));
  const Instant quiet = clock.read();
  idle.wait(20_ms);
  EXPECT_GE(clock.read() - quiet, 20_ms) << "a wake-up counts once";
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(IdleWait, a_running_worker_waits_when_idle_and_wakes_for_a_change) {
  OneSide one;
  // The eventfd is the only thing that can wake it within the test's patience.
  IdleWait idle({.spin = 10_us, .wait_max = 900_ms}, {});
  std::atomic<bool> stop{false};
  std::thread thread([&] { run(one.worker, MonotonicClock(), idle, stop); });
  while (one.count(Counter::waits) == 0) std::this_thread::yield();
  int runs = 0;
  const auto ticket = one.worker.mailbox().try_post_any_thread(
      {[](void* count, Instant) { ++*static_cast<int*>(count); }, &runs});
  idle.wake_any_thread();
  EXPECT_TRUE(one.worker.mailbox().wait_any_thread(*ticket, 50_s));
  EXPECT_EQ(runs, 1);
  stop = true;
  idle.wake_any_thread();
  thread.join();
  EXPECT_EQ(one.count(Counter::changes), 1u);
}

}  // namespace
}  // namespace cw
