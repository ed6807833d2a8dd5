// When another policy is taken, and which.
#include "control/adapt/adapter.h"

#include <gtest/gtest.h>

#include <string>

#include "policies/policies.h"

namespace cw::adapt {
namespace {

using namespace literals;

/// One class at one peer: transfers of 64 KiB over 25 ms and 500 Mbit/s.
class World {
 public:
  explicit World(double overhead_max = 1.75, AdaptPlan plan = plan_of_two())
      : adapter_(plan, Bytes(1400), overhead_max) {}
  static AdaptPlan plan_of_two() {
    return {.policies = {cw_policy_selective_repeat(), cw_policy_erasure()},
            .transfer = Bytes(64 << 10)};
  }

  /// The line has been so since the last call with another loss.
  void lose(double loss, double burst = 1) {
    loss_ = loss, burst_ = burst;
    began_ = now;
  }
  /// So much longer, with so many packets a second; true: another policy was taken.
  bool run(Duration time, double packets = 5000) {
    now = now + time;
    facts_.loss = {};
    facts_.loss.age = now - began_;
    const auto all = static_cast<uint64_t>(packets * facts_.loss.age.seconds());
    const auto lost = static_cast<uint64_t>(double(all) * loss_ + 0.5);
    const auto bursts = static_cast<uint64_t>(double(lost) / burst_ + 0.5);
    LineHistory history;
    history.add({.arrived = all - lost, .lost = lost, .bursts = bursts}, now);
    const Duration age = facts_.loss.age;
    facts_.loss = history.loss(now);
    facts_.loss.age = age;
    last = adapter_.look(facts_, present_, now);
    if (!last) return false;
    EXPECT_EQ(last->from, present_);
    present_ = last->to;
    return true;
  }
  std::string sends() const { return name_of(adapter_.candidates()[present_]); }
  size_t place_of(const std::string& name) const {
    size_t place = 0;
    while (name_of(adapter_.candidates().at(place)) != name) ++place;
    return place;
  }
  void send_by(const std::string& name) { present_ = place_of(name); }
  void queue(bool is_queued) { facts_.is_queued = is_queued; }
  void set_rtt(Duration rtt) { facts_.rtt = rtt; }
  Adapter& adapter() { return adapter_; }

  Instant now = Instant() + 1000_s;
  std::optional<Decision> last;

 private:
  Adapter adapter_;
  LineFacts facts_{.loss = {}, .rtt = 25_ms, .rate = Rate::from_mbps(500)};
  size_t present_ = 0;
  double loss_ = 0, burst_ = 1;
  Instant began_ = now;
};

TEST(Adapter, leaves_alone_what_loses_nothing) {
  World world;
  EXPECT_FALSE(world.run(1_s));
  EXPECT_FALSE(world.run(600_s));
  EXPECT_EQ(world.sends(), "selective_repeat");
}

TEST(Adapter, sends_more_at_once_where_more_may_be_lost) {
  World world;
  world.lose(0.01, 3);
  EXPECT_TRUE(world.run(200_ms));
  EXPECT_TRUE(world.last->is_raise);
  EXPECT_EQ(world.sends(), "erasure (32,16)");
  EXPECT_EQ(world.last->what,
            "loss 1 % (0.34 to 2.9), bursts of 3: selective_repeat -> erasure (32,16), expected "
            "p99.9 at most 178 ms -> 38.2 ms, sends 1.03 -> 1.68");
}

TEST(Adapter, takes_less_when_it_knows_better) {
  World world;
  world.lose(0.01, 3);
  EXPECT_TRUE(world.run(200_ms));
  EXPECT_FALSE(world.run(200_ms)) << "ten round trips are 250 ms";
  EXPECT_TRUE(world.run(5_s));
  EXPECT_FALSE(world.last->is_raise);
  EXPECT_EQ(world.sends(), "erasure (32,12)");
  EXPECT_FALSE(world.run(600_s)) << "the line is as it was";
}

TEST(Adapter, takes_one_run_of_losses_for_chance) {
  World world;
  world.lose(1e-3, 5);
  EXPECT_FALSE(world.run(1_s));
  EXPECT_TRUE(world.run(1_s)) << "two are none";
}

TEST(Adapter, sends_no_more_while_packets_queue) {
  World world;
  world.lose(0.01);
  world.queue(true);
  EXPECT_FALSE(world.run(5_s));
  world.queue(false);
  EXPECT_TRUE(world.run(200_ms));
}

TEST(Adapter, sends_less_while_packets_queue) {
  World world;
  world.send_by("erasure (32,8)");
  world.queue(true);
  EXPECT_TRUE(world.run(61_s));
  EXPECT_EQ(world.sends(), "selective_repeat");
}

TEST(Adapter, waits_for_twenty_losses_or_a_minute_before_it_sends_less) {
  for (const bool is_slow : {false, true}) {
    World world;
    world.send_by("erasure (32,16)");
    world.lose(1e-4);
    const double packets = is_slow ? 500 : 20'000;  // 0.05 losses a second, or two
    EXPECT_FALSE(world.run(9_s, packets));
    EXPECT_EQ(world.run(2_s, packets), !is_slow);
    if (is_slow) {
      EXPECT_FALSE(world.run(48_s, packets));
      EXPECT_TRUE(world.run(2_s, packets));
    }
    EXPECT_EQ(world.sends(), "erasure (32,1)");
  }
}

/// What was taken although the interval did not exclude worse stands until there is worse.
TEST(Adapter, is_not_asked_twice_about_the_same) {
  World world;
  world.send_by("erasure (32,16)");
  world.lose(1e-4);
  ASSERT_TRUE(world.run(12_s, 20'000));
  const std::string taken = world.sends();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(world.run(1_s, 20'000));
  EXPECT_EQ(world.sends(), taken);
}

TEST(Adapter, never_exceeds_its_limit) {
  World world(1.2);
  world.lose(0.03, 3);
  for (int i = 0; i < 20; ++i) {
    world.run(1_s);
    EXPECT_TRUE(world.sends() == "selective_repeat" || world.sends() == "erasure (32,1)" ||
                world.sends() == "erasure (32,2)" || world.sends() == "erasure (32,3)" ||
                world.sends() == "erasure (32,4)")
        << world.sends();
  }
}

TEST(Adapter, leaves_what_exceeds_a_limit_that_has_fallen) {
  World world(1.1);
  world.send_by("erasure (32,16)");
  world.lose(0.01);
  EXPECT_TRUE(world.run(1_s));
  EXPECT_NE(world.sends(), "erasure (32,16)");
}

TEST(Adapter, does_not_ask_again_for_what_was_refused) {
  World world;
  world.lose(0.01, 3);
  ASSERT_TRUE(world.run(200_ms));
  ASSERT_EQ(world.sends(), "erasure (32,16)");
  world.adapter().refused(world.place_of("erasure (32,16)"), world.now);
  world.send_by("selective_repeat");
  EXPECT_TRUE(world.run(200_ms));
  EXPECT_EQ(world.sends(), "erasure (32,12)");
}

/// The step at which a code begins to fail is crossed again and again.
TEST(Adapter, changes_ever_less_often_at_a_border) {
  World world;
  int changes = 0;
  for (int i = 0; i < 360; ++i) {  // an hour
    world.lose(i % 2 == 0 ? 0.012 : 0.004, 3);
    for (int j = 0; j < 10; ++j) changes += world.run(1_s) ? 1 : 0;
  }
  EXPECT_GT(changes, 4);
  EXPECT_LT(changes, 240);
}

/// Over a short one what is asked for comes sooner than repair does.
TEST(Adapter, looks_anew_when_the_way_has_become_another) {
  World world;
  world.lose(1e-3);
  EXPECT_TRUE(world.run(10_s));
  EXPECT_TRUE(world.sends().starts_with("erasure")) << world.sends();
  world.set_rtt(10_us);
  EXPECT_TRUE(world.run(1_s));
  EXPECT_EQ(world.sends(), "selective_repeat");
  world.set_rtt(25_ms);
  EXPECT_TRUE(world.run(200_ms)) << "no more is lost, but it costs more";
  EXPECT_TRUE(world.sends().starts_with("erasure")) << world.sends();
}

TEST(Adapter, leaves_what_has_no_law_there) {
  AdaptPlan plan = World::plan_of_two();
  plan.policies.push_back(cw_policy_go_back_n());
  plan.transfer = Bytes(4 << 20);  // takes longer to leave than a round trip
  World world(1.75, plan);
  world.send_by("go_back_n");
  world.lose(1e-3);
  EXPECT_TRUE(world.run(1_s));
  EXPECT_NE(world.last->what.find("where the one before has no law"), std::string::npos)
      << world.last->what;
}

TEST(Adapter, aims_at_what_it_is_told_to) {
  const auto taken = [](model::Aim aim, double loss) {
    AdaptPlan plan = World::plan_of_two();
    plan.aim = aim;
    World world(1.75, plan);
    world.lose(loss);
    world.run(1_s);
    world.run(10_s);
    return world.sends();
  };
  EXPECT_EQ(taken(model::Aim::Mean, 1e-5), "selective_repeat") << "too few wait to matter";
  EXPECT_NE(taken(model::Aim::Tail, 1e-4), "selective_repeat");
  EXPECT_NE(taken(model::Aim::Mean, 0.02), "selective_repeat");
  EXPECT_NE(taken(model::Aim::Goodput, 0.02), "selective_repeat");
}

}  // namespace
}  // namespace cw::adapt
