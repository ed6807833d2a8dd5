// The rate of a link that carries less than it was configured for, and of one that only loses.
#include <gtest/gtest.h>

#include "tests/sim/sdr/slots_world.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr Rate configured = Rate::from_mbps(100);

struct Loaded {
  explicit Loaded(Duration rtt) : delay(rtt / 2), world(options_of(rtt)) {
    EXPECT_TRUE(world.comes_up());
  }
  static PairOptions options_of(Duration rtt) {
    PairOptions options = slots_pair();
    options.a.adapt = options.b.adapt = true;
    options.a.rate = options.b.rate = configured;
    options.a.stream.messages = options.b.stream.messages = 64;
    options.a.stream.data_slots_max = options.b.stream.data_slots_max = 256;
    options.a.send.hold = options.b.send.hold = 1_s;
    options.wire = {.delay = rtt / 2};
    return options;
  }
  void becomes(Impairment wire) {
    wire.delay = delay;
    world.pair.network().set_impairment(world.pair.a_sim(), {.peer = world.pair.peers().of_first},
                                        wire);
  }
  /// Keeps the line full; returns what arrived for the first time, as a rate of bytes on the wire.
  double run(Duration time) {
    const size_t before = world.sink->arrived_count();
    const Instant end = world.now() + time;
    while (world.now() < end) {
      while (world.sends().waiting_bytes() < 100'000 && world.append(1000)) {
      }
      world.pair.run_for(500_us);
    }
    EXPECT_EQ(world.sink->complaint(), "");
    return static_cast<double>(world.sink->arrived_count() - before) * 1032 * 8 / time.seconds();
  }
  double rate() { return static_cast<double>(world.pair.a->link().rate().bps()); }

  Duration delay;
  SlotsWorld world;
};

TEST(RateOfALink, falls_to_what_it_carries_and_comes_back) {
  for (const Duration rtt : {5_ms, 20_ms, 100_ms}) {
    for (const Duration queue : {10_ms, 100_ms}) {
      SCOPED_TRACE("rtt " + std::to_string(rtt.ms()) + " queue " + std::to_string(queue.ms()));
      Loaded link(rtt);
      (void)link.run(500_ms);
      EXPECT_EQ(link.rate(), 100e6);
      link.becomes({.rate = Rate::from_mbps(60), .queue_time = queue});
      (void)link.run(2_s);
      EXPECT_LT(link.rate(), 76e6) << "found; a probe may be under way";
      const double carried = link.run(4_s);
      EXPECT_GT(carried, 0.9 * 60e6);
      link.becomes({});
      (void)link.run(5_s);
      EXPECT_EQ(link.rate(), 100e6);
      const double back = link.run(1_s);
      EXPECT_GT(back, 0.95 * 100e6);
    }
  }
}

// A policer keeps no queue: what is too much is lost, and nothing is late.
TEST(RateOfALink, falls_to_what_a_policer_lets_through_and_comes_back) {
  for (const Duration rtt : {5_ms, 20_ms, 100_ms}) {
    for (const double loss : {0.0, 0.05}) {
      SCOPED_TRACE("rtt " + std::to_string(rtt.ms()) + " loss " + std::to_string(loss));
      Loaded link(rtt);
      (void)link.run(500_ms);
      link.becomes({.rate = Rate::from_mbps(60), .queue_time = 1_ms, .loss = loss});
      (void)link.run(2_s);
      EXPECT_LT(link.rate(), 76e6) << "found; a probe may be under way";
      const double carried = link.run(4_s);
      EXPECT_GT(carried, 0.9 * 60e6 * (1 - loss));
      link.becomes({});
      (void)link.run(5_s);
      EXPECT_EQ(link.rate(), 100e6);
    }
  }
}

TEST(RateOfALink, falls_to_what_a_queue_lets_through_though_packets_are_lost_besides) {
  for (const Duration rtt : {5_ms, 20_ms, 100_ms}) {
    SCOPED_TRACE("rtt " + std::to_string(rtt.ms()));
    Loaded link(rtt);
    (void)link.run(500_ms);
    link.becomes({.rate = Rate::from_mbps(60), .queue_time = 50_ms, .loss = 0.05});
    (void)link.run(2_s);
    EXPECT_LT(link.rate(), 76e6) << "found; a probe may be under way";
    EXPECT_GT(link.run(4_s), 0.9 * 60e6 * 0.95);
  }
}

TEST(RateOfALink, tries_once_whether_much_loss_is_its_own_doing) {
  for (const Duration rtt : {5_ms, 20_ms, 100_ms}) {
    SCOPED_TRACE("rtt " + std::to_string(rtt.ms()));
    Loaded link(rtt);
    (void)link.run(500_ms);
    link.becomes({.loss = 0.2});
    double sum = 0;
    for (int i = 0; i < 100; ++i) {
      (void)link.run(100_ms);
      sum += link.rate();
    }
    EXPECT_GT(sum / 100, 0.95 * 100e6);
  }
}

TEST(RateOfALink, stands_where_packets_are_merely_lost) {
  const Impairment uniform{.loss = 0.05};
  const Impairment jitter{.loss = 0.05, .jitter_max = 8_ms};
  Impairment bursts;
  bursts.gilbert_elliott = GilbertElliott::from_burst(50, 0.05);
  const std::pair<const char*, Impairment> wires[] = {
      {"uniform", uniform}, {"bursts", bursts}, {"jitter", jitter}};
  for (const auto& [name, wire] : wires) {
    for (const Duration rtt : {5_ms, 20_ms, 100_ms}) {
      SCOPED_TRACE(std::string(name) + ", rtt " + std::to_string(rtt.ms()));
      Loaded link(rtt);
      (void)link.run(500_ms);
      link.becomes(wire);
      for (int i = 0; i < 50; ++i) {
        (void)link.run(100_ms);
        EXPECT_GE(link.rate(), 97e6);
      }
    }
  }
}

TEST(RateOfALink, stands_when_a_route_becomes_longer) {
  Loaded link(20_ms);
  (void)link.run(500_ms);
  link.delay = 25_ms;
  link.becomes({});
  (void)link.run(3_s);
  for (int i = 0; i < 40; ++i) {
    (void)link.run(100_ms);
    EXPECT_EQ(link.rate(), 100e6) << "a longer route is no queue";
  }
}

TEST(RateOfALink, fixed_is_fixed) {
  PairOptions options = Loaded::options_of(20_ms);
  options.a.adapt = false;
  options.wire = {.rate = Rate::from_mbps(60), .queue_time = 10_ms, .delay = 10_ms};
  SlotsWorld world(options);
  ASSERT_TRUE(world.comes_up());
  for (int i = 0; i < 1000; ++i) {
    while (world.sends().waiting_bytes() < 100'000 && world.append(1000)) {
    }
    world.pair.run_for(1_ms);
  }
  EXPECT_EQ(world.pair.a->link().rate(), configured);
}

}  // namespace

}  // namespace cw::sim
