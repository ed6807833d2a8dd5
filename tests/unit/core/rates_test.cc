// How fast a link may send.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "dataplane/core/rate/rate_control.h"

namespace cw {
namespace {

constexpr Duration step = Duration::from_ms(1);
constexpr Rate configured = Rate::from_mbps(100);
constexpr uint64_t packet_bytes = 1250;

/// A line with a queue before it, in steps of a millisecond; fluid, so that nothing is left to
/// chance.
class Line {
 public:
  explicit Line(const RateControlOptions& options, Duration rtt)
      : control(options, configured), rtt_(rtt) {}

  void run(Duration time) {
    for (const Instant end = now_ + time; now_ < end; now_ += step) turn();
  }
  double mbps() const { return static_cast<double>(control.rate().bps()) * 1e-6; }
  /// Of what the line carried since the last call.
  double carried_mbps(Duration time) {
    const double before = arrived_;
    run(time);
    return (arrived_ - before) * packet_bytes * 8 / time.seconds() * 1e-6;
  }

  RateControl control;
  double carries_mbps = 1000, loss = 0, wanted_mbps = 1000;
  Duration queue_max = Duration::from_ms(50);
  bool is_dark = false;

 private:
  struct Word {
    Instant at;
    uint64_t arrived = 0, lost = 0;
    Duration rtt;
  };
  static double packets_of(double mbps) { return mbps * 1e6 * step.seconds() / 8 / packet_bytes; }

  void turn() {
    const double sent = packets_of(std::min(mbps(), wanted_mbps));
    sent_ += sent;
    const auto whole = static_cast<uint64_t>(sent_);
    sent_ -= static_cast<double>(whole);
    control.on_sent(whole, whole * packet_bytes);
    const double room = packets_of(carries_mbps);
    const double longest = room * static_cast<double>(queue_max / step);
    queued_ += is_dark ? 0 : sent;
    const double out = std::min(queued_, room);
    queued_ -= out;
    const double spilt = std::max(0.0, queued_ - longest);
    queued_ -= spilt;
    arrived_ += out * (1 - loss);
    lost_ += out * loss + spilt + (is_dark ? sent : 0);
    if (now_ >= speaks_at_ && !is_dark) {
      const Duration wait = step * static_cast<int64_t>(queued_ / room);
      words_.push_back({now_ + rtt_ / 2, static_cast<uint64_t>(arrived_),
                        static_cast<uint64_t>(lost_), rtt_ + wait});
      speaks_at_ = now_ + rtt_;
    }
    while (!words_.empty() && words_.front().at <= now_) {
      control.on_rtt(0, words_.front().rtt, now_);
      control.on_report(words_.front().arrived, words_.front().lost, now_);
      words_.pop_front();
    }
    (void)control.on_time(now_);
  }

  Duration rtt_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  Instant speaks_at_;
  double sent_ = 0, queued_ = 0, arrived_ = 0, lost_ = 0;
  std::deque<Word> words_;
};

constexpr RateControlOptions adapting{.adapt = true};

TEST(RateControl, finds_what_the_line_carries_and_keeps_it_busy) {
  for (const int64_t rtt_ms : {2, 20, 100}) {
    for (const double carries : {10.0, 60.0, 85.0}) {
      SCOPED_TRACE(std::to_string(rtt_ms) + " ms, " + std::to_string(carries));
      Line line(adapting, Duration::from_ms(rtt_ms));
      line.run(Duration::from_s(1));
      EXPECT_EQ(line.mbps(), 100);
      line.carries_mbps = carries;
      line.run(Duration::from_s(2));
      EXPECT_TRUE(line.control.is_limited());
      EXPECT_LE(line.mbps(), carries * 1.3);
      line.run(Duration::from_s(1));
      EXPECT_GT(line.carried_mbps(Duration::from_s(10)), 0.9 * carries);
    }
  }
}

// What would be dropped here is worth more than a short queue there.
TEST(RateControl, does_not_drain_while_too_much_waits) {
  for (const bool is_pressed : {false, true}) {
    Line line(adapting, Duration::from_ms(20));
    line.run(Duration::from_s(1));
    line.carries_mbps = 80;
    line.queue_max = Duration::from_ms(300);
    line.control.on_pressure(is_pressed);
    double least = 100;
    for (int i = 0; i < 3000; ++i) {
      line.run(step);
      least = std::min(least, line.mbps());
    }
    EXPECT_TRUE(line.control.is_limited());
    EXPECT_EQ(least > 0.9 * 80, is_pressed);
    EXPECT_EQ(least < 0.8 * 80, !is_pressed);
  }
}

TEST(RateControl, comes_back_when_the_line_does) {
  Line line(adapting, Duration::from_ms(50));
  line.carries_mbps = 30;
  line.run(Duration::from_s(5));
  EXPECT_LT(line.mbps(), 40);
  line.carries_mbps = 1000;
  line.run(Duration::from_s(5));
  EXPECT_FALSE(line.control.is_limited());
  EXPECT_EQ(line.mbps(), 100);
}

TEST(RateControl, leaves_loss_without_a_queue_to_the_policies) {
  Line line(adapting, Duration::from_ms(20));
  for (const double loss : {0.05, 0.2, 0.0}) {
    line.loss = loss;
    int below = 0;
    for (int i = 0; i < 40; ++i) {
      line.run(Duration::from_ms(100));
      below += line.mbps() < 100 ? 1 : 0;
    }
    EXPECT_EQ(line.mbps(), 100) << loss;
    // Much of it is put on trial, once.
    EXPECT_LE(below, loss > 0.1 ? 3 : 0) << loss;
  }
}

TEST(RateControl, finds_a_policer_and_keeps_it_busy) {
  for (const int64_t rtt_ms : {2, 20, 100}) {
    for (const double loss : {0.0, 0.05}) {
      SCOPED_TRACE(std::to_string(rtt_ms) + " ms, " + std::to_string(loss));
      Line line(adapting, Duration::from_ms(rtt_ms));
      line.queue_max = Duration::from_ms(1);
      line.loss = loss;
      line.carries_mbps = 60;
      line.run(Duration::from_s(2));
      EXPECT_TRUE(line.control.is_limited());
      EXPECT_GT(line.carried_mbps(Duration::from_s(10)), 0.9 * 60 * (1 - loss));
      line.carries_mbps = 1000;
      line.run(Duration::from_s(5));
      EXPECT_EQ(line.mbps(), 100);
    }
  }
}

TEST(RateControl, is_not_misled_by_silence_by_the_dark_or_by_little_traffic) {
  Line line(adapting, Duration::from_ms(20));
  for (const double wanted : {1000.0, 0.0, 20.0, 1000.0}) {
    line.wanted_mbps = wanted;
    line.run(Duration::from_s(2));
    EXPECT_EQ(line.mbps(), 100) << wanted;
  }
  line.is_dark = true;
  line.run(Duration::from_s(3));
  line.is_dark = false;
  line.run(Duration::from_s(2));
  EXPECT_EQ(line.mbps(), 100);
}

TEST(RateControl, does_not_ask_for_more_than_is_there_to_send) {
  Line line(adapting, Duration::from_ms(20));
  line.carries_mbps = 50;
  line.run(Duration::from_s(3));
  EXPECT_TRUE(line.control.is_limited());
  line.carries_mbps = 1000;
  line.wanted_mbps = 20;  // a probe that is not filled proves nothing
  line.run(Duration::from_s(5));
  EXPECT_TRUE(line.control.is_limited());
  line.wanted_mbps = 1000;
  line.run(Duration::from_s(3));
  EXPECT_EQ(line.mbps(), 100);
}

TEST(RateControl, never_goes_below_its_floor) {
  Line line({.adapt = true, .floor = Rate::from_mbps(30)}, Duration::from_ms(20));
  line.carries_mbps = 5;
  line.run(Duration::from_s(1));
  for (int i = 0; i < 300; ++i) {
    line.run(Duration::from_ms(10));
    ASSERT_GE(line.mbps(), 30);
  }
  EXPECT_TRUE(line.control.is_limited());
}

// Where envelopes fill the line, no probe finds room in it, and the rate never rises again.
TEST(RateControl, keeps_room_for_envelopes) {
  Line line({.adapt = true}, Duration::from_ms(20));
  line.carries_mbps = 1;
  double least = line.mbps();
  for (int i = 0; i < 300; ++i) {
    line.run(Duration::from_ms(10));
    least = std::min(least, line.mbps());
  }
  EXPECT_NEAR(least, 100.0 / 16, 0.01);
}

TEST(RateControl, that_does_not_adapt_is_fixed) {
  Line line({}, Duration::from_ms(20));
  line.carries_mbps = 10;
  line.run(Duration::from_s(3));
  EXPECT_EQ(line.mbps(), 100);
}

TEST(RateControl, begins_anew_with_an_epoch) {
  Line line(adapting, Duration::from_ms(20));
  line.carries_mbps = 10;
  line.run(Duration::from_s(3));
  EXPECT_TRUE(line.control.is_limited());
  line.control.restart(Rate::from_mbps(70));
  EXPECT_EQ(line.mbps(), 70);
}

}  // namespace
}  // namespace cw
