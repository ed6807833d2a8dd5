#include "control/perf/parameters.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "control/perf/words.h"
#include "dataplane/base/limits.h"
#include "tests/property/property.h"

namespace cw::perf {
namespace {

Parameters example() {
  Parameters it;
  it.policy = "go_back_n";
  it.settings = {{"window", "7"}};
  it.payload_bytes = 1400;
  it.client_udp_port = 4000;
  return it;
}

TEST(PerfParameters, arrive_as_they_were_sent) {
  Parameters sent = example();
  sent.duration = Duration::from_ms(1500);
  sent.verify = true;
  const auto heard = parameters_of(Json::parse(json_of(sent).dump()));
  ASSERT_TRUE(heard) << heard.error().sentence;
  EXPECT_EQ(json_of(*heard), json_of(sent));
  EXPECT_EQ(heard->settings, sent.settings);
  EXPECT_EQ(heard->duration, sent.duration);
}

TEST(PerfParameters, are_refused_when_anything_is_missing_or_of_another_type) {
  const Json whole = json_of(example());
  for (const auto& [name, value] : whole.items()) {
    Json without = whole, twisted = whole;
    without.erase(name);
    twisted[name] = Json::object({{"a", 1}});
    EXPECT_FALSE(parameters_of(without)) << name;
    EXPECT_FALSE(parameters_of(twisted)) << name;
  }
}

TEST(PerfParameters, are_checked_where_they_are_heard) {
  Json greedy = json_of(example());
  greedy["size"] = uint64_t{1} << 60;
  const auto heard = parameters_of(greedy);
  ASSERT_FALSE(heard);
  EXPECT_NE(heard.error().sentence.find("--size"), std::string::npos) << heard.error().sentence;
  Json endless = json_of(example());
  endless["patience_ns"] = INT64_MAX;
  EXPECT_FALSE(parameters_of(endless));
}

// A stranger's {"finish":"soon"} ended a server with --keep by an exception.
TEST(PerfWords, are_numbers_where_they_should_be_and_nothing_else) {
  const Json said = Json::parse(R"({"finish": 7, "whole": true, "refused": "why", "wrong": -1})");
  EXPECT_EQ(count_in(said, "finish"), 7u);
  for (const char* name : {"whole", "refused", "wrong", "nothing"}) {
    EXPECT_EQ(count_in(said, name), std::nullopt) << name;
  }
}

RC_GTEST_PROP(PerfParameters, that_pass_the_check_make_a_stream_that_holds_what_is_in_flight, ()) {
  Parameters it = example();
  it.in_flight = *rc::gen::inRange<uint32_t>(0, 300);
  it.size = Bytes(*rc::gen::inRange<uint64_t>(0, uint64_t{1} << *rc::gen::inRange(1, 34)));
  it.payload_bytes = *rc::gen::inRange<uint32_t>(200, limits::payload_bytes_max + 100);
  if (!check(it)) return;
  const sdr::StreamConfig config = stream_config(it);
  RC_ASSERT(sdr::check(config).has_value());
  RC_ASSERT(config.messages >= 2 * it.in_flight);
  RC_ASSERT(config.message_bytes_max() >= it.size.count());
}

}  // namespace
}  // namespace cw::perf
