#include "dataplane/sdr/line/path/path_health.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>

namespace cw::sdr {
namespace {
using namespace literals;
using State = PathHealth::State;

/// Asks like a link, and answers like its peer: by paths that are not `dead`, the long ones by
/// those that are not `small` either.
class Asking : public testing::Test {
 protected:
  static constexpr Duration rtt = 20_ms, step = 1_ms, turn = 5_ms;
  static constexpr Duration interval = 10_s;

  void begin(uint16_t paths) {
    answers_.clear();
    received_ = {}, sent_ = {}, delayed_ = {};
    health_.emplace(paths, interval);
    health_->restart(paths, now_);
    judged_ = health().up();
  }
  /// Whether data crosses; then the peer reports of what has arrived.
  void run(Duration time, bool has_traffic = true) {
    const Instant end = now_ + time;
    while (now_ < end) {
      now_ += step;
      if (health().long_due() <= now_) ask(health().long_path(), PathHealth::long_token(now_));
      if (short_due_ <= now_) {
        ask(next_, PathHealth::short_token(now_));
        next_ = static_cast<uint16_t>((next_ + 1) % health().paths());
        short_due_ = now_ + turn;
      }
      answer();
      if (has_traffic && reports_) report();
      if (is_answered_ || health().judge_due() <= now_) {
        const bool has_changed = health().judge(has_traffic, now_);
        EXPECT_EQ(has_changed, health().up() != judged_);
        judged_ = health().up();
      }
      ever_down_ |= ~health().up() & ((1u << health().paths()) - 1);
    }
  }
  /// Nobody answers, and what was asked is answered afterwards.
  void stand_still(Duration time) {
    stands_ = true;
    run(time);
    stands_ = false;
  }
  /// The same with a peer that stands still for as long as it runs, time and again.
  void stumble(Duration time, Duration stride) {
    for (const Instant end = now_ + time; now_ < end;) {
      stands_ = now_.ns() / stride.ns() % 2 == 0;
      run(step);
    }
    stands_ = false;
  }
  /// Of four paths `paths` fall ill.
  void expect_found(uint32_t& illness, uint32_t paths, uint32_t too_small) {
    illness = paths;
    run(rtt * 4 + 100_ms);
    EXPECT_EQ(health().up(), 0b1111u & ~paths);
    EXPECT_EQ(health().too_small(), too_small);
  }
  void expect_back(uint32_t& illness) {
    illness = 0;
    run(1_s);
    EXPECT_EQ(health().up(), 0b1111u);
    EXPECT_EQ(health().too_small(), 0u);
  }
  PathHealth& health() { return *health_; }

  uint32_t dead_ = 0, small_ = 0;
  uint32_t ever_down_ = 0;
  bool reports_ = true;
  std::array<uint32_t, limits::paths_max> asked_long_{};
  Instant now_ = Instant() + 1_s;

 private:
  struct Answer {
    Instant at;
    uint16_t path = 0;
    uint64_t token = 0;
  };
  void ask(uint16_t path, uint64_t token) {
    health().on_asked(path, token, now_);
    asked_long_[path] += PathHealth::is_long(token);
    const uint32_t lost = PathHealth::is_long(token) ? dead_ | small_ : dead_;
    if ((lost >> path & 1) == 0) answers_.push_back({now_ + rtt, path, token});
  }
  void answer() {
    is_answered_ = false;
    while (!stands_ && !answers_.empty() && answers_.front().at <= now_) {
      const Answer answer = answers_.front();
      answers_.pop_front();
      is_answered_ = true;
      health().on_answer(answer.path, answer.token, now_);
      health().on_rtt(answer.path, now_ - answer.at + rtt, now_);
    }
  }
  /// As of a round trip ago.
  void report() {
    for (uint16_t path = 0; path < health().paths(); ++path) {
      const bool carries = ((dead_ | small_) >> path & 1) == 0;
      const bool takes = (health().up() >> path & 1) != 0;
      if (takes) sent_[path] += 10;
      if (takes && carries) received_[path] += 10;
      delayed_[path].push_back(received_[path]);
      if (delayed_[path].size() <= static_cast<size_t>(rtt / step)) continue;
      if (now_.ns() / step.ns() % (rtt / step) == 0 && !stands_) {
        health().on_report(path, delayed_[path].front(), 0, sent_[path], now_);
      }
      delayed_[path].pop_front();
    }
  }

  std::optional<PathHealth> health_;
  std::deque<Answer> answers_;
  std::array<uint64_t, limits::paths_max> received_{};
  std::array<uint32_t, limits::paths_max> sent_{};
  std::array<std::deque<uint64_t>, limits::paths_max> delayed_;
  Instant short_due_;
  uint16_t next_ = 0;
  uint32_t judged_ = 0;
  bool is_answered_ = false, stands_ = false;
};

TEST_F(Asking, one_path_alone_is_up_from_the_start_and_stays_so) {
  begin(1);
  EXPECT_EQ(health().state(0), State::Up);
  run(1_s);
  dead_ = 1;
  run(30_s);
  EXPECT_EQ(health().state(0), State::Up);
  EXPECT_EQ(health().up(), 1u);
}

TEST_F(Asking, silence_counts_from_the_last_answer_or_the_start_and_not_while_one_stands_still) {
  begin(1);
  EXPECT_EQ(health().silence(now_ + 300_ms), 300_ms);
  run(500_ms);
  EXPECT_LE(health().silence(now_), turn);
  dead_ = 1;
  run(500_ms);
  EXPECT_GE(health().silence(now_), 480_ms);
  const Duration before = health().silence(now_);
  health().rebase(5_s);
  now_ += 5_s;
  EXPECT_EQ(health().silence(now_), before);
}

TEST_F(Asking, of_several_those_are_up_that_have_answered_a_long_question) {
  dead_ = 0b0100;
  begin(4);
  EXPECT_EQ(health().up(), 0b1111u) << "nothing is known yet";
  run(rtt + 6_ms);
  EXPECT_EQ(health().up(), 0b1011u);
  EXPECT_EQ(health().state(2), State::Probing);
  run(1200_ms);  // the first were asked when no round trip was known
  EXPECT_EQ(health().state(2), State::Down);
  dead_ = 0;
  run(PathHealth::retry + rtt + 5_ms);
  EXPECT_EQ(health().up(), 0b1111u);
}

TEST_F(Asking, as_many_as_there_may_be_are_each_taken) {
  constexpr uint32_t all = (uint64_t{1} << limits::paths_max) - 1;
  begin(limits::paths_max);
  run(2_s);
  EXPECT_EQ(health().up(), all);
  dead_ = 1u << (limits::paths_max - 1);
  run(2_s);
  EXPECT_EQ(health().up(), all & ~dead_);
}

TEST_F(Asking, one_that_was_heard_a_little_is_taken_before_one_that_is_down) {
  small_ = 0b01, dead_ = 0b10;
  reports_ = false;
  begin(2);
  run(1500_ms);
  ASSERT_EQ(health().state(0), State::Probing);
  ASSERT_EQ(health().state(1), State::Down);
  EXPECT_EQ(health().up(), 0b01u);
}

// [C-58]
TEST_F(Asking, one_that_dies_is_down_within_four_round_trips_and_back_within_a_second) {
  begin(4);
  run(5_s);
  expect_found(dead_, 0b0010, 0);
  run(20_s);
  EXPECT_EQ(health().up(), 0b1101u);
  EXPECT_GE(asked_long_[1], 40u);
  expect_back(dead_);
}

// [C-59]
TEST_F(Asking, one_that_loses_long_packets_alone_is_found_out_by_what_the_peer_reports) {
  begin(4);
  run(5_s);
  expect_found(small_, 0b1000, 0b1000);
  expect_back(small_);
}

TEST_F(Asking, one_that_loses_long_packets_is_found_out_while_nothing_crosses) {
  begin(2);
  run(5_s, false);
  small_ = 0b01;
  run(interval + 2_s, false);
  EXPECT_EQ(health().up(), 0b10u);
  EXPECT_EQ(health().too_small(), 0b01u);
}

TEST_F(Asking, a_peer_that_stands_still_takes_no_path_down) {
  begin(4);
  run(2_s);
  ever_down_ = 0;
  for (int i = 0; i < 20; ++i) {
    stand_still(150_ms);
    run(100_ms);
  }
  EXPECT_EQ(ever_down_, 0u);
}

// Round trips then vary by more than they take, which says nothing of one path alone. [C-58]
TEST_F(Asking, a_peer_that_stumbles_does_not_hide_for_long_that_a_path_has_died) {
  for (const Duration stride : {30_ms, 50_ms, 75_ms, 100_ms}) {
    constexpr int phases = 50;
    Duration sum;
    for (int phase = 0; phase < phases; ++phase) {
      dead_ = 0;
      begin(4);
      run(2_s);
      ever_down_ = 0;
      stumble(2_s + step * (phase * 4), stride);
      EXPECT_EQ(ever_down_, 0u) << stride.ns();
      dead_ = 0b0010;
      const Instant since = now_;
      while ((health().up() & dead_) != 0 && now_ - since < 2_s) stumble(step, stride);
      sum += now_ - since;
    }
    EXPECT_LE(sum.ns() / phases, (rtt * 4 + 25_ms + stride).ns()) << stride.ns();
  }
}

TEST_F(Asking, all_that_die_together_stay_up_and_who_comes_back_alone_is_the_one) {
  begin(3);
  run(2_s);
  ever_down_ = 0;
  dead_ = 0b111;
  run(5_s);
  EXPECT_EQ(ever_down_, 0u) << "nobody was heard meanwhile";
  dead_ = 0b101;
  run(500_ms);
  EXPECT_EQ(health().up(), 0b010u);
}

TEST_F(Asking, the_last_one_is_left_to_those_that_come_back) {
  begin(2);
  run(2_s);
  dead_ = 0b01;
  run(1_s);
  EXPECT_EQ(health().up(), 0b10u);
  dead_ = 0b10;
  run(1_s);
  EXPECT_EQ(health().up(), 0b01u);
}

// [C-59] Its answers are lost on the way back; what it carries arrives.
TEST_F(Asking, one_whose_data_arrives_is_not_down_though_no_question_is_answered) {
  begin(2);
  run(2_s);
  ever_down_ = 0;
  for (uint64_t received = 1; received <= 200; ++received) {
    for (int i = 0; i < 4; ++i) {
      now_ += 5_ms;
      health().on_asked(0, PathHealth::short_token(now_), now_);
      health().on_asked(1, PathHealth::short_token(now_ - rtt), now_ - rtt);
      health().on_answer(1, PathHealth::short_token(now_ - rtt), now_);
      health().judge(true, now_);
    }
    health().on_report(0, 1'000'000 + received * 10, 0, static_cast<uint32_t>(received) * 10, now_);
    ASSERT_EQ(health().up(), 0b11u) << received;
  }
}

TEST_F(Asking, a_pause_of_this_end_makes_nothing_overdue) {
  begin(2);
  run(2_s);
  ever_down_ = 0;
  for (int i = 0; i < 20; ++i) {
    now_ += 300_ms;
    health().rebase(300_ms);
    run(30_ms);
  }
  EXPECT_EQ(ever_down_, 0u);
}

}  // namespace
}  // namespace cw::sdr
