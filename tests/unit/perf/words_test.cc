// What strangers may say to causeway-perf: none of it ends a server or a client.
#include "control/perf/words.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cw::perf {
namespace {

Parameters example() {
  Parameters it;
  it.policy = "go_back_n";
  it.payload_bytes = 1400;
  return it;
}

Json word(const std::string& line) { return word_in(line).value(); }

TEST(PerfWords, are_objects) {
  EXPECT_FALSE(word_in(""));
  EXPECT_FALSE(word_in("7"));
  EXPECT_FALSE(word_in("[]"));
  EXPECT_FALSE(word_in(R"({"finish": )"));
  EXPECT_FALSE(word_in(std::string(60000, '[')));
  EXPECT_TRUE(word_in("{}"));
}

TEST(PerfWords, are_heard_as_they_were_said) {
  EXPECT_EQ(json_of(*parameters_in(word(line_of(hello(example()))))), json_of(example()));
  EXPECT_EQ(finish_in(word(line_of(finish(7, true)))), 7u);
  EXPECT_EQ(finish_in(word(line_of(finish(7, false)))), 0u);
  EXPECT_TRUE(consent_in(ready()));
  EXPECT_EQ(consent_in(refusal("no")).error().sentence, "the server refuses: no");
}

TEST(PerfWords, of_another_type_than_ours_say_nothing) {
  EXPECT_EQ(finish_in(Json::object()), std::nullopt);
  EXPECT_EQ(finish_in(word(R"({"finish": "all", "whole": true})")), 0u);
  EXPECT_EQ(finish_in(word(R"({"finish": 7, "whole": "yes"})")), 0u);
  EXPECT_EQ(finish_in(word(R"({"finish": -7, "whole": true})")), 0u);
  EXPECT_FALSE(parameters_in(word(R"({"hello": 7})")));
  EXPECT_FALSE(consent_in(word(R"({"refused": 7})")));
}

TEST(PerfWords, give_figures_that_can_be_shown_or_none) {
  const Json right = {{"whole", 1u},
                      {"incomplete", 0u},
                      {"bytes_wrong", 0u},
                      {"drops", Json::object({{"duplicate", 2u}})}};
  EXPECT_EQ(figures_in(report(right)), right);
  for (const auto& [name, value] : right.items()) {
    Json without = right, twisted = right;
    without.erase(name);
    twisted[name] = "many";
    EXPECT_TRUE(figures_in(report(without)).is_null()) << name;
    EXPECT_TRUE(figures_in(report(twisted)).is_null()) << name;
  }
  Json twisted = right;
  twisted["drops"]["duplicate"] = -1;
  EXPECT_TRUE(figures_in(report(twisted)).is_null());
  EXPECT_TRUE(figures_in(Json::object()).is_null());
}

TEST(PerfWords, quote_arguments_that_are_no_text) {
  const auto heard = consent_in(word(line_of(refusal("--policy: \xff"))));
  EXPECT_EQ(heard.error().sentence, "the server refuses: --policy: \xef\xbf\xbd");
}

TEST(PerfWords, bear_numbers_that_fit) {
  const std::pair<const char*, Json> cases[] = {
      {"inflight", uint64_t{1} << 32 | 16}, {"payload", 1400.5}, {"size", 1e300},
      {"client_udp_port", 65536 + 4000},    {"count", -1},       {"patience_ns", INT64_MAX}};
  for (const auto& [name, value] : cases) {
    Json said = json_of(example());
    said[name] = value;
    EXPECT_FALSE(parameters_in({{"hello", said}})) << name;
  }
}

}  // namespace
}  // namespace cw::perf
