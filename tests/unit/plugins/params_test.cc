#include "plugins/params.h"

#include <gtest/gtest.h>

#include <array>

#include "plugins/table_check.h"
#include "policies/policies.h"

namespace cw::plugins {
namespace {

constexpr std::array<cw_param, 4> params = {
    {{"detect", "", "rto|nack", "Who finds a loss.", CW_PARAM_CHOICE, 0, 1, 0, 1},
     {"alpha", "", nullptr, "A factor.", CW_PARAM_REAL, 0, 2, 0.5, 32},
     {"interval", "ns", nullptr, "A time.", CW_PARAM_DURATION, 0, 25e6, 0, 1e9},
     {"note_bytes", "bytes", nullptr, "A size.", CW_PARAM_INT, 0, 1024, 64, 4096}}};

cw_policy_ops table() {
  cw_policy_ops ops{};
  ops.name = "tried";
  ops.params = params.data();
  ops.param_count = params.size();
  return ops;
}

using Values = std::vector<double>;

Values values_of(std::vector<Setting> settings) {
  const auto values = parse_params(table(), settings);
  EXPECT_TRUE(values) << values.error().sentence;
  return values.value_or(Values());
}

std::string mistakes(std::vector<Setting> settings) {
  const auto values = parse_params(table(), settings);
  return values ? "(none)" : values.error().sentence;
}

TEST(Params, are_the_defaults_when_nothing_is_said) {
  EXPECT_EQ(values_of({}), (Values{1, 2, 25e6, 1024}));
}

TEST(Params, take_the_place_of_their_declaration) {
  EXPECT_EQ(values_of({{"note_bytes", "64"}, {"detect", "rto"}, {"alpha", "0.5"}}),
            (Values{0, 0.5, 25e6, 64}));
}

TEST(Params, read_durations_in_four_units) {
  const std::pair<const char*, double> cases[] = {
      {"25 ms", 25e6}, {"80us", 80e3},  {"1 s", 1e9},        {"7 ns", 7},  {"0", 0},
      {"0 s", 0},      {"0.1 ms", 1e5}, {" 2.5  us ", 2500}, {"0.3 ns", 0}};
  for (const auto& [text, ns] : cases) {
    EXPECT_EQ(values_of({{"interval", text}})[2], ns) << text;
  }
}

TEST(Params, are_refused_in_one_sentence_each) {
  const std::array<std::pair<Setting, const char*>, 20> cases = {{
      {{"alhpa", "1"}, "tried has no parameter \"alhpa\": did you mean \"alpha\"?"},
      {{"window", "1"},
       "tried has no parameter \"window\": write detect, alpha, interval or note_bytes"},
      {{"alpha", "33"}, "tried: alpha = \"33\" is out of range: write 0.5 to 32"},
      {{"alpha", "fast"}, "tried: alpha = \"fast\" is not a number: write 0.5 to 32"},
      {{"alpha", "1,5"}, "tried: alpha = \"1,5\" is not a number: write 0.5 to 32"},
      {{"alpha", "nan"}, "tried: alpha = \"nan\" is not a number: write 0.5 to 32"},
      {{"alpha", "1e999"}, "tried: alpha = \"1e999\" is not a number: write 0.5 to 32"},
      {{"alpha", ""}, "tried: alpha = \"\" is not a number: write 0.5 to 32"},
      {{"note_bytes", "63"}, "tried: note_bytes = \"63\" is out of range: write 64 to 4096 bytes"},
      {{"note_bytes", "64.5"},
       "tried: note_bytes = \"64.5\" is not a whole number: write 64 to 4096 bytes"},
      {{"note_bytes", "99999999999999999999"},
       "tried: note_bytes = \"99999999999999999999\" is not a whole number: write 64 to 4096 "
       "bytes"},
      {{"interval", "25"},
       "tried: interval = \"25\" has no unit (ns, us, ms or s): write 0 ns to 1 s"},
      {{"interval", "25 m"},
       "tried: interval = \"25 m\" has no unit of ns, us, ms or s: write 0 ns to 1 s"},
      {{"interval", "soon"}, "tried: interval = \"soon\" is not a duration: write 0 ns to 1 s"},
      {{"interval", "2 s"}, "tried: interval = \"2 s\" is out of range: write 0 ns to 1 s"},
      {{"interval", "-1 ns"}, "tried: interval = \"-1 ns\" is out of range: write 0 ns to 1 s"},
      {{"interval", "1e300 s"}, "tried: interval = \"1e300 s\" is out of range: write 0 ns to 1 s"},
      {{"detect", "nak"}, "tried: detect = \"nak\" is not a choice: did you mean \"nack\"?"},
      {{"detect", "1"}, "tried: detect = \"1\" is not a choice: write rto or nack"},
      {{"detect", ""}, "tried: detect = \"\" is not a choice: write rto or nack"},
  }};
  for (const auto& [setting, sentence] : cases) EXPECT_EQ(mistakes({setting}), sentence);
}

TEST(Params, report_all_mistakes_of_one_call) {
  EXPECT_EQ(mistakes({{"alpha", "33"}, {"alpha", "1"}, {"detect", "rto"}, {"beta", "1"}}),
            "tried: alpha = \"33\" is out of range: write 0.5 to 32\n"
            "tried: alpha is given twice\n"
            "tried has no parameter \"beta\": write detect, alpha, interval or note_bytes");
}

TEST(Params, of_a_policy_without_any_refuse_every_name) {
  const std::vector<Setting> settings = {{"alpha", "1"}};
  const auto values = parse_params(*cw_policy_passthrough(), settings);
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().sentence, "passthrough has no parameter \"alpha\": it has none");
  EXPECT_TRUE(parse_params(*cw_policy_passthrough(), {}));
}

TEST(Params, show_durations_in_the_largest_unit_that_needs_no_fraction) {
  cw_param param = params[2];
  const std::tuple<double, double, const char*> cases[] = {{-1, 1e9, "-1 ns to 1 s"},
                                                           {1500, 2.5e6, "1500 ns to 2500 us"},
                                                           {1e6, 36e11, "1 ms to 3600 s"}};
  for (const auto& [min, max, text] : cases) {
    param.min = min, param.max = max;
    EXPECT_EQ(accepted(param), text);
  }
}

}  // namespace
}  // namespace cw::plugins
