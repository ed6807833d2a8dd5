// One order for both directions: four ends, of which two know it.
#include "tests/unit/sdr/swap_ends_world.h"

namespace cw::sdr {
namespace {

using namespace swap_ends;
using Fate = SwapReport::Fate;

/// Of one end, here, that sends by `out` and receives by `in`.
struct BothWays {
  explicit BothWays(uint64_t seed) : out(seed), in(seed + 1'000'000) {}

  bool order(int policy) {
    if (!out.source.is_idle() || !in.sink.is_idle()) return false;
    EXPECT_TRUE(out.order(SwapRole::Source, policy));
    EXPECT_TRUE(in.order(SwapRole::Sink, policy));
    SwapEnd::join(out.source, in.sink);
    return true;
  }
  void run(int ticks) {
    for (; ticks > 0; --ticks) out.turn(), in.turn();
  }
  bool run_until_idle(int ticks) {
    for (; ticks > 0 && !is_idle(); --ticks) run(1);
    return is_idle();
  }
  bool is_idle() const { return out.is_idle() && in.is_idle(); }
  void set_faults(const Faults& faults) { out.faults = in.faults = faults; }
  std::string complaint() const { return out.complaint() + in.complaint(); }

  World out, in;
};

void expect_same_fate(const BothWays& both, Fate fate, SwapStatus status = SwapStatus::Ready) {
  for (const SwapReport& each : {both.out.source.report(), both.in.sink.report()}) {
    EXPECT_EQ(each.fate, fate);
    EXPECT_EQ(each.status, status) << each.sentence.view();
  }
  EXPECT_EQ(both.complaint(), "");
}

TEST(SwapOfBothDirections, begins_when_all_four_ends_can) {
  BothWays both(1);
  both.in.at_source.making_ticks = 300;
  ASSERT_TRUE(both.order(7));
  both.run(250);
  EXPECT_EQ(both.out.source.state(), SwapState::Asking);
  EXPECT_EQ(both.in.sink.state(), SwapState::Ready);
  ASSERT_TRUE(both.run_until_idle(2000));
  expect_same_fate(both, Fate::Done);
  EXPECT_EQ(both.in.at_source.current(), 7);
  EXPECT_EQ(both.out.at_sink.current(), 7);
}

TEST(SwapOfBothDirections, that_one_of_the_four_refuses_begins_nowhere) {
  for (int which = 0; which < 4; ++which) {
    SCOPED_TRACE(which);
    BothWays both(2);
    const std::array seats = {&both.out.at_source, &both.out.at_sink, &both.in.at_source,
                              &both.in.at_sink};
    seats[static_cast<size_t>(which)]->refuses = true;
    ASSERT_TRUE(both.order(7));
    ASSERT_TRUE(both.run_until_idle(2000));
    expect_same_fate(both, Fate::NotDone, SwapStatus::Unknown);
    const bool is_refused_there = which == 1 || which == 2;
    EXPECT_EQ(both.out.source.report().is_refused_there, is_refused_there);
    EXPECT_EQ(both.in.sink.report().is_refused_there, is_refused_there);
    for (TestSeat* seat : seats) EXPECT_EQ(seat->boundaries.size(), 0u);
    EXPECT_FALSE(both.in.at_source.is_bound());
    seats[static_cast<size_t>(which)]->refuses = false;
    ASSERT_TRUE(both.order(8));
    ASSERT_TRUE(both.run_until_idle(2000));
    expect_same_fate(both, Fate::Done);
  }
}

TEST(SwapOfBothDirections, that_nobody_answers_is_cancelled_and_frees_the_peers_source) {
  BothWays both(3);
  both.out.at_sink.making_ticks = 1'000'000;
  ASSERT_TRUE(both.order(7));
  both.run(51'000);
  expect_same_fate(both, Fate::NotDone);
  BothWays held(4);
  ASSERT_TRUE(held.order(7));
  while (held.in.source.state() != SwapState::Bound) held.run(1);
  held.out.faults.lost = 1;
  held.run(60'000);
  EXPECT_EQ(held.out.source.state(), SwapState::Bound);
  EXPECT_EQ(held.in.sink.state(), SwapState::Ready);
  held.out.faults.lost = 0;  // its sink has forgotten it meanwhile, or not
  ASSERT_TRUE(held.run_until_idle(150'000));
  expect_same_fate(held, held.out.source.report().fate);
}

/// Also where the peer orders as well. Within an epoch of the link no direction is alone.
TEST(SwapOfBothDirections, have_one_fate_whatever_the_network_does) {
  int done = 0, not_done = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    BothWays both(seed);
    SCOPED_TRACE(seed);
    Prng& prng = both.out.prng;
    both.set_faults({.lost = prng.uniform() * 0.6,
                     .doubled = prng.uniform() * 0.5,
                     .ticks_max = prng.between(1, 40)});
    for (int policy = 1; policy <= 10; ++policy) {
      for (TestSeat* seat :
           {&both.out.at_source, &both.out.at_sink, &both.in.at_source, &both.in.at_sink}) {
        seat->making_ticks = static_cast<int>(prng.below(60));
        seat->old_ticks = static_cast<int>(prng.below(100));
        seat->refuses = prng.below(12) == 0;
        seat->is_willing = prng.below(6) != 0;
      }
      const bool is_ordered = both.order(policy);
      for (int ticks = static_cast<int>(prng.below(400)); ticks > 0; --ticks) {
        both.run(1);
        if (prng.below(200) == 0) (void)both.in.order(SwapRole::Source, 1000 + policy);
        if (prng.below(200) == 0) (void)both.out.order(SwapRole::Sink, 2000 + policy);
      }
      if (!is_ordered) continue;
      const uint32_t out_id = both.out.source.report().id, in_id = both.in.sink.report().id;
      both.set_faults({.lost = 0, .doubled = 0, .ticks_max = 10});
      for (TestSeat* seat :
           {&both.out.at_source, &both.out.at_sink, &both.in.at_source, &both.in.at_sink}) {
        seat->is_willing = true;
      }
      ASSERT_TRUE(both.run_until_idle(150'000));
      ASSERT_EQ(both.complaint(), "");
      // Unless the peer's own has followed it: then its fate is not the latest any more.
      if (both.out.source.report().id != out_id || both.in.sink.report().id != in_id) continue;
      if (!both.out.source.report().is_ours || !both.in.sink.report().is_ours) continue;
      const Fate fate = both.out.source.report().fate;
      ASSERT_EQ(both.in.sink.report().fate, fate) << policy;
      ++(fate == Fate::Done ? done : not_done);
      if (fate != Fate::Done) continue;
      ASSERT_EQ(both.out.at_sink.current(), policy);
      ASSERT_EQ(both.in.at_source.current(), policy);
    }
  }
  EXPECT_GT(done, 1000);
  EXPECT_GT(not_done, 1000);
}

}  // namespace
}  // namespace cw::sdr
