#include "control/wan/link_change.h"

#include <gtest/gtest.h>

namespace cw::wan {
namespace {

BothDirections link_of(const std::string& request) {
  const auto made = changed({}, request);
  EXPECT_TRUE(made) << made.error().sentence;
  return made.value_or(BothDirections{});
}

std::string mistake_of(const std::string& request) {
  const auto made = changed({}, request);
  EXPECT_FALSE(made);
  return made ? "" : made.error().sentence;
}

TEST(LinkChange, holds_for_both_directions_or_for_the_one_that_is_named) {
  const BothDirections link = link_of("b-to-a.loss=2% loss=1%  delay=10ms");
  EXPECT_DOUBLE_EQ(link[0].impairment.loss, 0.01);
  EXPECT_DOUBLE_EQ(link[1].impairment.loss, 0.02);
  for (const DirectionOptions& each : link) {
    EXPECT_EQ(each.impairment.delay, Duration::from_ms(10));
  }
}

TEST(LinkChange, leaves_everything_else_as_it_was) {
  const BothDirections before = link_of("rtt=20ms rate=500Mbit/s loss=1%");
  const auto after = changed(before, "a-to-b.loss=0%");
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)[0].impairment.loss, 0);
  EXPECT_DOUBLE_EQ((*after)[1].impairment.loss, 0.01);
  EXPECT_EQ((*after)[0].impairment.delay, Duration::from_ms(10));
  EXPECT_EQ((*after)[0].impairment.rate, Rate::from_mbps(500));
  EXPECT_EQ((*after)[0].impairment.queue_time, before[0].impairment.queue_time);
}

TEST(LinkChange, an_option_without_a_value_is_taken_back) {
  const auto after = changed(link_of("gilbert=8,1% delay=1ms"), "gilbert=");
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)[0].impairment.gilbert_elliott.mean_loss(), 0);
  EXPECT_EQ(settings_of(*after), "a-to-b.delay=1ms\nb-to-a.delay=1ms\n");
}

TEST(LinkChange, the_text_of_a_link_makes_it_again) {
  const BothDirections link = link_of("rtt=3ms loss=1% b-to-a.jitter=2ms,1ms,reorders");
  EXPECT_EQ(settings_of(link_of(settings_of(link))), settings_of(link));
}

TEST(LinkChange, names_what_cannot_be) {
  EXPECT_NE(mistake_of("loss").find("\"loss\" is not of the form"), std::string::npos);
  EXPECT_NE(mistake_of("--loss=1%").find("no option \"--loss\""), std::string::npos);
  EXPECT_NE(mistake_of("a-to-b.rtt=1ms").find("no option \"rtt\""), std::string::npos);
  EXPECT_NE(mistake_of("rtt=soon").find("rtt: "), std::string::npos);
  EXPECT_NE(mistake_of("delay=1ms loss=200%").find("--loss: "), std::string::npos);
  EXPECT_NE(mistake_of("queue=1ms").find("need --rate"), std::string::npos);
}

}  // namespace
}  // namespace cw::wan
