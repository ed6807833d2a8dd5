// One end of a swap and the other.
#include "tests/unit/sdr/swap_ends_world.h"

namespace cw::sdr {
namespace {

using namespace swap_ends;
using Fate = SwapReport::Fate;

// ---- as it goes when nothing goes wrong ----

TEST(SwapEnd, of_the_source_takes_two_questions_and_two_answers) {
  World world(1);
  ASSERT_TRUE(world.order(SwapRole::Source, 7));
  EXPECT_EQ(world.source.state(), SwapState::Preparing);
  ASSERT_TRUE(world.run_until_idle(2000));
  EXPECT_EQ(world.at_source.current(), 7);
  EXPECT_EQ(world.at_sink.current(), 7);
  EXPECT_EQ(world.at_source.boundaries, world.at_sink.boundaries);
  EXPECT_EQ(world.source.report().fate, Fate::Done);
  EXPECT_EQ(world.sink.report().fate, Fate::Done);
  EXPECT_TRUE(world.source.report().is_ours);
  EXPECT_FALSE(world.sink.report().is_ours);
  EXPECT_EQ(world.complaint(), "");
  EXPECT_LE(world.records, 8);
  EXPECT_EQ(world.counters.snapshot_any_thread()[Counter::policies_swapped], 2u);
}

TEST(SwapEnd, of_the_sink_needs_no_ready) {
  World world(2);
  ASSERT_TRUE(world.order(SwapRole::Sink, 9));
  ASSERT_TRUE(world.run_until_idle(2000));
  EXPECT_EQ(world.at_source.current(), 9);
  EXPECT_EQ(world.at_sink.current(), 9);
  EXPECT_TRUE(is_of_sink(world.sink.report().id));
  EXPECT_EQ(world.complaint(), "");
}

TEST(SwapEnd, says_nothing_when_it_is_idle) {
  World world(3);
  ASSERT_TRUE(world.order(SwapRole::Source, 1));
  ASSERT_TRUE(world.run_until_idle(2000));
  world.run(200);
  const int before = world.records;
  world.run(20'000);
  EXPECT_EQ(world.records, before);
  EXPECT_EQ(world.source.offer_due(), Instant::never());
  EXPECT_EQ(world.source.next_due(), Instant::never());
}

// ---- as it does not ----

void expect_unchanged(World& world, SwapStatus status, std::string_view sentence) {
  EXPECT_EQ(world.at_source.current(), 0);
  EXPECT_EQ(world.at_sink.current(), 0);
  EXPECT_FALSE(world.at_source.is_bound());
  EXPECT_EQ(world.source.report().fate, Fate::NotDone);
  EXPECT_EQ(world.source.report().status, status);
  EXPECT_EQ(world.source.report().sentence.view(), sentence);
  EXPECT_EQ(world.complaint(), "");
}

TEST(SwapEnd, that_is_refused_there_changes_nothing) {
  World world(4);
  world.at_sink.refuses = true;
  ASSERT_TRUE(world.order(SwapRole::Source, 7));
  ASSERT_TRUE(world.run_until_idle(2000));
  expect_unchanged(world, SwapStatus::Unknown, "not here");
  EXPECT_EQ(world.sink.report().fate, Fate::NotDone);
}

TEST(SwapEnd, that_is_refused_here_says_nothing) {
  World world(5);
  world.at_source.refuses = true;
  ASSERT_TRUE(world.order(SwapRole::Source, 7));
  ASSERT_TRUE(world.run_until_idle(2000));
  expect_unchanged(world, SwapStatus::Unknown, "not here");
  EXPECT_EQ(world.records, 0);
}

TEST(SwapEnd, of_a_sink_may_be_refused_by_the_source) {
  World world(6);
  world.at_source.refuses = true;
  ASSERT_TRUE(world.order(SwapRole::Sink, 7));
  ASSERT_TRUE(world.run_until_idle(2000));
  EXPECT_EQ(world.sink.report().status, SwapStatus::Unknown);
  expect_unchanged(world, SwapStatus::Unknown, "not here");
}

TEST(SwapEnd, that_nobody_answers_is_cancelled_after_five_seconds) {
  World world(7);
  world.faults.lost = 1;
  ASSERT_TRUE(world.order(SwapRole::Source, 7));
  world.run(49'900);
  EXPECT_FALSE(world.is_idle());
  world.run(200);
  expect_unchanged(world, SwapStatus::Ready, "there was no answer in time");
  EXPECT_TRUE(world.order(SwapRole::Source, 8));
}

/// The successor that waited for a boundary goes when its source is not heard of any more.
TEST(SwapEnd, that_its_source_forgets_is_over_after_ten_seconds_of_silence) {
  World world(8);
  world.reach(SwapRole::Sink, SwapState::Ready);
  world.faults.lost = 1;
  world.run(51'000);
  EXPECT_EQ(world.sink.state(), SwapState::Ready);
  world.run(102'000);
  EXPECT_EQ(world.sink.state(), SwapState::Idle);
  EXPECT_EQ(world.at_sink.making(), Making::Nothing);
}

/// A link goes down, then its next epoch begins: both end the one before.
TEST(SwapEnd, stays_cut_off_when_an_epoch_ends_twice) {
  World world(12);
  world.reach(SwapRole::Source, SwapState::Bound);
  world.restart();
  world.restart();
  EXPECT_TRUE(world.source.report().is_cut_off);
  EXPECT_TRUE(world.sink.report().is_cut_off);
  ASSERT_TRUE(world.order(SwapRole::Source, 8));
  EXPECT_FALSE(world.source.report().is_cut_off);
}

TEST(SwapEnd, does_not_end_by_time_once_it_is_bound) {
  World world(9);
  world.reach(SwapRole::Source, SwapState::Bound);
  world.faults.lost = 1;
  world.run(80'000);
  EXPECT_EQ(world.source.state(), SwapState::Bound);
  world.faults.lost = 0;
  ASSERT_TRUE(world.run_until_idle(2000));
  EXPECT_EQ(world.at_sink.current(), 7);
}

/// The sink has forgotten what the source still says a boundary for: that is cancelled.
TEST(SwapEnd, that_its_sink_has_forgotten_is_cancelled) {
  World world(10);
  world.reach(SwapRole::Source, SwapState::Bound);
  world.cut();
  world.run(110'000);
  world.faults.lost = 0;
  ASSERT_TRUE(world.run_until_idle(2000));
  expect_unchanged(world, SwapStatus::Ready, "who asked for it fell silent");
}

TEST(SwapEnd, waits_for_a_seat_that_lacks_something) {
  World world(11);
  world.at_sink.is_willing = world.at_source.is_willing = false;
  ASSERT_TRUE(world.order(SwapRole::Source, 7));
  world.run(1000);
  EXPECT_EQ(world.source.state(), SwapState::Bound);
  EXPECT_EQ(world.sink.state(), SwapState::Ready);
  world.at_sink.is_willing = true;
  world.run(1000);
  EXPECT_EQ(world.source.state(), SwapState::Bound);
  world.at_source.is_willing = true;
  ASSERT_TRUE(world.run_until_idle(2000));
  EXPECT_EQ(world.complaint(), "");
}

/// One was turned down while another was under way: how that ends is not how this one did [C-44].
TEST(SwapEnd, answers_again_what_was_turned_down_meanwhile) {
  Counters counters;
  TestSeat seat(/*is_source=*/true);
  SwapEnd source(SwapRole::Source, 0, seat, counters);
  const auto ask = [&](uint32_t number, Instant now) {
    source.on_record(SwapPrepare{.direction = SwapDirection::SourceIsReceiver,
                                 .swap_id = swap_id_of_sink + number,
                                 .policy = {"p/1", "5"}},
                     now);
  };
  const Instant now = Instant() + Duration::from_s(1);
  ask(1, now);
  ask(2, now);  // busy
  source.on_record(
      SwapCancel{.direction = SwapDirection::SourceIsReceiver, .swap_id = swap_id_of_sink + 1},
      now);
  ASSERT_TRUE(source.is_idle());
  ask(2, now);
  EXPECT_TRUE(source.is_idle());
  ask(3, now);
  EXPECT_EQ(source.state(), SwapState::Preparing);
}

/// Whatever happens to records, in whatever state either end begins anew: at rest both have the
/// same policy, and each boundary was both ends'.
TEST(SwapEnd, ends_alike_at_both_ends_whatever_the_network_does) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    World world(seed);
    SCOPED_TRACE(seed);
    world.faults = {.lost = world.prng.uniform() * 0.6,
                    .doubled = world.prng.uniform() * 0.5,
                    .ticks_max = world.prng.between(1, 40)};
    int policy = 0;
    for (int step = 0; step < 40; ++step) {
      const SwapRole role = world.prng.below(3) == 0 ? SwapRole::Sink : SwapRole::Source;
      if (world.prng.below(3) != 0) (void)world.order(role, ++policy);
      for (TestSeat* seat : {&world.at_source, &world.at_sink}) {
        seat->making_ticks = static_cast<int>(world.prng.below(60));
        seat->old_ticks = static_cast<int>(world.prng.below(100));
        seat->refuses = world.prng.below(6) == 0;
        seat->is_willing = world.prng.below(6) != 0;
      }
      if (world.prng.below(25) == 0) world.restart();
      world.run(static_cast<int>(world.prng.below(150)));
    }
    world.faults = {.lost = 0, .doubled = 0, .ticks_max = 10};
    world.at_source.is_willing = world.at_sink.is_willing = true;
    ASSERT_TRUE(world.run_until_idle(150'000))
        << static_cast<int>(world.source.state()) << " " << world.source.report().id << ", "
        << static_cast<int>(world.sink.state()) << " " << world.sink.report().id;
    ASSERT_EQ(world.complaint(), "");
    ASSERT_EQ(world.at_source.boundaries, world.at_sink.boundaries);
    ASSERT_EQ(world.at_source.current(), world.at_sink.current());
    ASSERT_FALSE(world.at_source.is_bound());
    world.at_source.refuses = world.at_sink.refuses = false;
    ASSERT_TRUE(world.order(SwapRole::Source, 9999));
    ASSERT_TRUE(world.run_until_idle(5000));
    ASSERT_EQ(world.at_sink.current(), 9999);
  }
}

}  // namespace
}  // namespace cw::sdr
