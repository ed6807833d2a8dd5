// What is said of a drain, how often, and what is made of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "dataplane/sdr/link/drain_desk.h"

namespace cw::sdr {
namespace {

using namespace literals;

constexpr Instant start = Instant() + Duration::from_s(100);

/// When `desk` says something, of a stretch of time.
std::vector<Instant> said_by(DrainDesk& desk, Instant from, Instant to) {
  std::vector<Instant> all;
  for (Instant now = std::max(from, desk.due()); now < to; now = desk.due()) {
    std::array<uint8_t, 256> bytes;
    EnvelopeWriter writer(bytes, {1, 2, 3, 0});
    EXPECT_TRUE(desk.offer(writer, now));
    EXPECT_FALSE(writer.is_empty());
    all.push_back(now);
  }
  return all;
}

TEST(DrainDesk, says_nothing_where_nothing_was_ever_wanted) {
  DrainDesk desk;
  desk.begin_epoch(start);
  EXPECT_EQ(desk.due(), Instant::never());
}

TEST(DrainDesk, says_it_soon_and_often_and_then_once_a_second) {
  DrainDesk desk;
  desk.begin_epoch(start);
  desk.want(true, start);
  EXPECT_EQ(desk.due(), start);
  EXPECT_GE(said_by(desk, start, start + 500_ms).size(), 4u);
  (void)said_by(desk, desk.due(), start + 5_s);
  EXPECT_EQ(said_by(desk, desk.due(), desk.due() + 10_s).size(), 10u);
  desk.want(true, start + 20_s);
  EXPECT_GT(desk.due(), start + 5_s) << "no news";
}

TEST(DrainDesk, goes_on_to_say_that_it_is_over_until_the_epoch_ends) {
  DrainDesk desk;
  desk.begin_epoch(start);
  desk.want(true, start);
  (void)said_by(desk, start, start + 5_s);
  desk.want(false, start + 5_s);
  EXPECT_EQ(desk.due(), start + 5_s);
  (void)said_by(desk, start + 5_s, start + 20_s);
  EXPECT_EQ(said_by(desk, desk.due(), desk.due() + 20_s).size(), 4u);
  desk.end_epoch();
  EXPECT_EQ(desk.due(), Instant::never());
  desk.begin_epoch(start + 50_s);
  EXPECT_EQ(desk.due(), Instant::never()) << "the peer knows nothing of it now";
}

TEST(DrainDesk, says_it_again_in_each_epoch_while_it_is_wanted) {
  DrainDesk desk;
  desk.want(true, start);
  EXPECT_EQ(desk.due(), Instant::never()) << "to nobody";
  for (const Instant begin : {start + 1_s, start + 60_s}) {
    desk.begin_epoch(begin);
    EXPECT_EQ(desk.due(), begin);
    desk.end_epoch();
  }
}

TEST(DrainDesk, says_it_later_where_an_envelope_is_full) {
  DrainDesk desk;
  desk.begin_epoch(start);
  desk.want(true, start);
  std::array<uint8_t, 56> bytes;  // header and MAC, and less than a record
  EnvelopeWriter writer(bytes, {1, 2, 3, 0});
  EXPECT_FALSE(desk.offer(writer, start));
  EXPECT_EQ(desk.due(), start);
}

TEST(DrainDesk, hears_the_highest_number_of_an_epoch) {
  DrainDesk desk;
  desk.begin_epoch(start);
  EXPECT_FALSE(desk.is_wanted_there());
  desk.on_record({.number = 2, .is_wanted = 1});
  EXPECT_TRUE(desk.is_wanted_there());
  desk.on_record({.number = 1, .is_wanted = 0});
  EXPECT_TRUE(desk.is_wanted_there()) << "overtaken";
  desk.on_record({.number = 2, .is_wanted = 0});
  EXPECT_TRUE(desk.is_wanted_there()) << "the same again";
  desk.on_record({.number = 3, .is_wanted = 0});
  EXPECT_FALSE(desk.is_wanted_there());
  desk.on_record({.number = 4, .is_wanted = 1});
  desk.end_epoch();
  EXPECT_FALSE(desk.is_wanted_there());
  desk.begin_epoch(start + 1_s);
  desk.on_record({.number = 1, .is_wanted = 1});
  EXPECT_TRUE(desk.is_wanted_there()) << "another life counts from the start";
}

}  // namespace
}  // namespace cw::sdr
