// What is added to frames, told from what streams count.
#include "control/daemon/watch/latency_watch.h"

#include <gtest/gtest.h>

namespace cw::daemon {
namespace {

using namespace literals;

/// A site with one lane, that goes on from look to look.
struct Line {
  void wait(Duration time, int slots) {
    for (int i = 0; i < slots; ++i) state.lanes[0].sent_slots.waits.add(time);
  }
  void hold(Duration time, uint32_t frames) {
    state.lanes[0].holds.counts[HoleTimes::step_of(time)] += frames;
  }
  void look(Duration later) {
    state.at = state.at + later;
    watch.look(state);
  }
  Added added() const { return watch.added(state.lanes[0]); }

  LatencyWatch watch;
  site::SiteState state = [] {
    site::SiteState one;
    one.lanes.resize(1);
    return one;
  }();
};

TEST(LatencyWatch, knows_nothing_at_first) {
  const Line line;
  EXPECT_EQ(line.added().sending.p99, Duration());
  gateway::LaneView other;
  other.peer = other.class_index = 7;
  EXPECT_EQ(line.watch.added(other).receiving.p999, Duration());
}

TEST(LatencyWatch, tells_quantiles_of_what_left) {
  Line line;
  line.look(1_s);
  line.wait(3_us, 990);
  line.wait(3_ms, 10);
  line.look(1_s);
  const AddedTimes it = line.added().sending;
  EXPECT_GT(it.p50, 2_us);
  EXPECT_LE(it.p50, 4100_ns);
  EXPECT_LE(it.p99, 5_us);
  EXPECT_GT(it.p999, 2_ms);
  EXPECT_LE(it.p999, 4200_us);
}

/// Most frames wait for no other.
TEST(LatencyWatch, counts_frames_that_did_not_wait) {
  Line line;
  line.look(1_s);
  line.state.lanes[0].inbound.out = 10'000;
  line.hold(25_ms, 50);
  line.look(1_s);
  const AddedTimes it = line.added().receiving;
  EXPECT_EQ(it.p99, Duration()) << "half a per cent waits";
  EXPECT_NEAR(it.p999.ms(), 25, 8);
}

TEST(LatencyWatch, forgets_what_is_long_ago) {
  Line line;
  line.look(1_s);
  line.wait(3_ms, 1000);
  line.look(1_s);
  EXPECT_GT(line.added().sending.p50, 1_ms);
  for (int i = 0; i < 4; ++i) {
    line.wait(3_us, 1000);
    line.look(LatencyWatch::window);
  }
  EXPECT_LT(line.added().sending.p999, 10_us);
}

TEST(LatencyWatch, begins_anew_with_the_stream) {
  Line line;
  line.wait(3_ms, 1000);
  line.state.lanes[0].inbound.out = 1000;
  line.look(1_s);
  line.look(LatencyWatch::window);
  line.state.lanes[0] = {};
  line.wait(3_us, 10);
  line.look(1_s);
  EXPECT_LT(line.added().sending.p999, 10_us);
}

}  // namespace
}  // namespace cw::daemon
