// What ./demo --page understands, and what its page may ask of the line.
#include <gtest/gtest.h>

#include <vector>

#include "control/json/json.h"
#include "tests/demo/page/line_door.h"

namespace cw::demo {
namespace {

Result<Options> parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"causeway-demo", "--page"});
  return parse_options(arguments);
}

TEST(PageOptions, has_defaults_of_its_own) {
  const auto it = parsed({});
  ASSERT_TRUE(it) << it.error().sentence;
  EXPECT_TRUE(it->is_page);
  EXPECT_TRUE(it->may_adapt());
  EXPECT_EQ(it->policy, "adaptive");
  EXPECT_EQ(it->seconds, 0u) << "for ever";
  EXPECT_EQ(it->port, 0) << "8080, or any";
}

TEST(PageOptions, takes_what_is_said_of_the_line_the_place_and_the_end) {
  const auto it = parsed({"--port", "9000", "--seconds", "7", "--loss", "2%", "--burst", "3",
                          "--policy", "hybrid", "--rtt", "40ms"});
  ASSERT_TRUE(it) << it.error().sentence;
  EXPECT_EQ(it->port, 9000);
  EXPECT_EQ(it->seconds, 7u);
  EXPECT_DOUBLE_EQ(it->loss, 0.02);
  EXPECT_DOUBLE_EQ(it->burst, 3);
  EXPECT_EQ(it->policy, "hybrid");
  EXPECT_EQ(it->rtt, Duration::from_ms(40));
}

TEST(PageOptions, what_measures_is_refused_in_one_sentence) {
  for (const char* const each : {"--cores", "--warm-up", "--udp-rate", "--file"}) {
    const auto it = parsed({each, "1"});
    ASSERT_FALSE(it) << each;
    EXPECT_EQ(it.error().sentence,
              std::string(each) + " has no meaning with --page; leave one of them out");
  }
  EXPECT_FALSE(parsed({"--wander"}));
  EXPECT_FALSE(parsed({"--rdma"}));
  EXPECT_FALSE(parsed({"--port", "65536"}));
  const auto port = parse_options(std::vector{"causeway-demo", "--port", "80"});
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().sentence, "--port is for --page only; add it");
}

TEST(PageLine, is_what_was_asked_for) {
  const auto it =
      parse_line({{"loss", 0.02}, {"burst", 3}, {"rtt_ms", 40}}, Duration::from_ms(100));
  ASSERT_TRUE(it) << it.error().sentence;
  EXPECT_EQ(request_of(*it), "delay=20000000ns loss= gilbert=3,2.000000%");
}

TEST(PageLine, is_not_changed_by_a_mistake) {
  const Json right = {{"loss", 0.02}, {"burst", 3}, {"rtt_ms", 40}};
  const auto mistake = [&](const char* name, const Json& value) {
    Json order = right;
    order[name] = value;
    const auto it = parse_line(order, Duration::from_ms(100));
    return it ? std::string() : it.error().sentence;
  };
  EXPECT_EQ(mistake("loss", 0.6), "\"loss\" must be a number from 0 to 0.5");
  EXPECT_EQ(mistake("burst", 0), "\"burst\" must be a number from 1 to 100");
  EXPECT_EQ(mistake("rtt_ms", 101), "\"rtt_ms\" must be a number from 0 to 100");
  EXPECT_EQ(mistake("rtt_ms", "40"), "\"rtt_ms\" must be a number from 0 to 100");
  EXPECT_FALSE(parse_line(Json(), Duration::from_ms(100)));
  EXPECT_FALSE(parse_line(Json::array(), Duration::from_ms(100)));
}

}  // namespace
}  // namespace cw::demo
