#include "plugins/table_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "policies/policies.h"

namespace cw::plugins {
namespace {

/// A table that is right, with two parameters to spoil.
struct Tried {
  cw_policy_ops ops = *cw_policy_passthrough();
  std::vector<cw_param> params = {
      {"alpha", "", nullptr, "A factor.", CW_PARAM_REAL, 0, 2, 0.5, 8},
      {"detect", "", "rto|nack", "Who finds a loss.", CW_PARAM_CHOICE, 0, 1, 0, 1}};

  std::string complaint() {
    ops.params = params.data();
    ops.param_count = static_cast<uint32_t>(params.size());
    const auto checked = check_table(ops);
    return checked ? "(none)" : checked.error().sentence;
  }
};

TEST(TableCheck, takes_every_policy_that_ships) {
  for (const cw_policy_ops* ops : policy::all()) {
    const auto checked = check_table(*ops);
    EXPECT_TRUE(checked) << ops->name << " " << checked.error().sentence;
  }
  EXPECT_EQ(Tried().complaint(), "(none)");
}

TEST(TableCheck, objects_to_a_table_that_does_not_describe_its_policy) {
  const std::string too_long(5000, 'x');
  const std::string no_name = "has a name that is not snake_case of at most 32 letters";
  const std::pair<std::function<void(cw_policy_ops&)>, std::string> cases[] = {
      {[](auto& ops) { ops.name = nullptr; }, no_name},
      {[](auto& ops) { ops.name = ""; }, no_name},
      {[](auto& ops) { ops.name = "SelectiveRepeat"; }, no_name},
      {[](auto& ops) { ops.name = "../../etc"; }, no_name},
      {[](auto& ops) { ops.name = "a_name_that_is_longer_than_it_may_be"; }, no_name},
      {[](auto& ops) { ops.version = nullptr; }, "has no version"},
      {[](auto& ops) { ops.summary = ""; }, "has no summary"},
      {[&](auto& ops) { ops.summary = too_long.c_str(); }, "has no summary"},
      {[](auto& ops) { ops.create = nullptr; }, "has no create function"},
      {[](auto& ops) { ops.destroy = nullptr; }, "has no destroy function"},
      {[](auto& ops) { ops.message_state_bytes = 65537; },
       "asks for 65537 bytes per message where 65536 are the most"},
  };
  for (const auto& [spoil, sentence] : cases) {
    Tried tried;
    spoil(tried.ops);
    EXPECT_EQ(tried.complaint(), sentence);
  }
}

TEST(TableCheck, objects_to_parameters_that_contradict_themselves) {
  const std::string alpha = "has a parameter \"alpha\" that ";
  const std::string detect = "has a parameter \"detect\" that ";
  using Params = std::vector<cw_param>;
  const std::pair<std::function<void(Params&)>, std::string> cases[] = {
      {[](Params& p) { p[1].name = nullptr; },
       "has a parameter 1 whose name is not snake_case of at most 32 letters"},
      {[](Params& p) { p[1].name = "alpha"; }, alpha + "is declared twice"},
      {[](Params& p) { p[0].unit = nullptr; }, alpha + "has no unit, not even an empty one"},
      {[](Params& p) { p[0].sentence = nullptr; },
       alpha + "has no sentence that says what it does"},
      {[](Params& p) { p[0].type = 4; }, alpha + "has the type 4"},
      {[](Params& p) { p[0].choices = "a|b"; }, alpha + "has choices, but another type"},
      {[](Params& p) { p[0].type = CW_PARAM_DURATION; },
       alpha + "is a duration, whose unit must be \"ns\""},
      {[](Params& p) { p[0].initial = 9; }, alpha + "has a default outside its range, 0.5 to 8"},
      {[](Params& p) { p[0].min = 10; }, alpha + "has no range"},
      {[](Params& p) { p[0].max = INFINITY; }, alpha + "has no range"},
      {[](Params& p) { p[0].initial = NAN; }, alpha + "has no range"},
      {[](Params& p) { p[0].type = CW_PARAM_INT; },
       alpha + "has a default or bound that is not a whole number"},
      {[](Params& p) { p[0].type = CW_PARAM_INT, p[0].min = 0, p[0].max = 1e16; },
       alpha + "has a bound beyond 2^53"},
      {[](Params& p) { p[1].choices = nullptr; }, detect + "has no list of choices"},
      {[](Params& p) { p[1].choices = ""; }, detect + "has the choice \"\""},
      {[](Params& p) { p[1].choices = "rto||nack"; }, detect + "has the choice \"\""},
      {[](Params& p) { p[1].choices = "rto|rto"; }, detect + "has the choice \"rto\" twice"},
      {[](Params& p) { p[1].choices = "rto|nack|both"; },
       detect + "has 3 choices, but not the range from 0 to 2"},
      {[](Params& p) { p[1].initial = 0.5; },
       detect + "has a default or bound that is not a whole number"},
      {[](Params& p) { p.resize(33, p[0]); }, "declares 33 parameters where 32 are the most"},
  };
  for (const auto& [spoil, sentence] : cases) {
    Tried tried;
    spoil(tried.params);
    EXPECT_EQ(tried.complaint(), sentence);
  }
}

TEST(TableCheck, objects_to_parameters_without_a_list) {
  cw_policy_ops ops = *cw_policy_passthrough();
  ops.params = nullptr;
  EXPECT_TRUE(check_table(ops));
  ops.param_count = 1;
  const auto checked = check_table(ops);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().sentence, "declares parameters without a list");
}

}  // namespace
}  // namespace cw::plugins
