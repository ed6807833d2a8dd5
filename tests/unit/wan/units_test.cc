#include "control/units/units.h"

#include <gtest/gtest.h>

namespace cw {
namespace {

TEST(Units, times_are_read_with_every_unit) {
  EXPECT_EQ(parse_duration("5ns"), Duration::from_ns(5));
  EXPECT_EQ(parse_duration("1.5us"), Duration::from_ns(1500));
  EXPECT_EQ(parse_duration("25 ms"), Duration::from_ms(25));
  EXPECT_EQ(parse_duration("0s"), Duration());
  EXPECT_EQ(parse_duration("2min"), Duration::from_s(120));
  EXPECT_EQ(parse_duration("1h"), Duration::from_s(3600));
}

TEST(Units, rates_and_sizes_are_read_with_every_unit) {
  EXPECT_EQ(parse_rate("500Mbit/s"), Rate::from_mbps(500));
  EXPECT_EQ(parse_rate("2.5 Gbit/s"), Rate::from_mbps(2500));
  EXPECT_EQ(parse_rate("8kbit/s"), Rate::from_bps(8000));
  EXPECT_EQ(parse_bytes("1500"), Bytes(1500));
  EXPECT_EQ(parse_bytes("1MiB"), Bytes(1 << 20));
  EXPECT_EQ(parse_bytes("64 kB"), Bytes(64'000));
}

TEST(Units, a_share_of_one_needs_its_unit) {
  EXPECT_EQ(parse_share("0.25"), 0.25);
  EXPECT_DOUBLE_EQ(parse_share("0.1%").value(), 0.001);
  EXPECT_EQ(parse_share("100%"), 1.0);
  EXPECT_EQ(parse_share("0"), 0.0);
  EXPECT_FALSE(parse_share("1"));
  EXPECT_FALSE(parse_share("101%"));
}

TEST(Units, what_is_not_understood_is_refused) {
  for (const char* text : {"", "ms", "25", "25 m s", "-1ms", "1e30s", "nan s", "infs", "25ms "}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  for (const char* text : {"500", "500Mbps", "-1bit/s", "1e20Gbit/s"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
  for (const char* text : {"-1", "1mb", "KiB", "1e30"}) EXPECT_FALSE(parse_bytes(text)) << text;
  for (const char* text : {"-1", "1.5", "", "99999999999999999999"}) {
    EXPECT_FALSE(parse_count(text)) << text;
  }
  EXPECT_FALSE(parse_real("-0.5"));
}

TEST(Units, a_refusal_quotes_the_text_and_says_what_is_accepted) {
  const std::string sentence = parse_duration("25 parsecs").error().sentence;
  EXPECT_NE(sentence.find("\"25 parsecs\""), std::string::npos);
  EXPECT_NE(sentence.find("ns, us, ms"), std::string::npos);
}

}  // namespace
}  // namespace cw
