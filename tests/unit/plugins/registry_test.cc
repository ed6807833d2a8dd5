// Which policies there are, and with which parameters.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "plugins/check/table_check.h"
#include "plugins/loader.h"
#include "plugins/nearest.h"
#include "plugins/params.h"
#include "plugins/registry.h"
#include "policies/policies.h"
#include "tests/unit/plugins/files.h"

namespace cw::plugins {
namespace {
using plugins_test::plugin;
using Names = std::vector<std::string_view>;

// ---- registry ----

template <class T>
std::string sentence(const Result<T>& result) {
  return result ? "(none)" : result.error().sentence;
}

TEST(Registry, finds_what_is_linked_in_and_what_was_loaded) {
  Registry registry;
  for (const cw_policy_ops* ops : policy::all()) ASSERT_TRUE(registry.add(*ops));
  ASSERT_TRUE(registry.load(plugin("version_1")));
  EXPECT_EQ(registry.names(), (Names{"passthrough", "go_back_n", "selective_repeat", "erasure",
                                     "hybrid", "layered_interleave", "csa_ud", "irn",
                                     "nack_fixed", "rto_only", "tried"}));
  EXPECT_EQ(&registry.find("go_back_n")->table(), cw_policy_go_back_n());
  EXPECT_STREQ(registry.find("tried")->table().version, "1");
}

TEST(Registry, names_the_nearest_policy_when_there_is_none) {
  Registry registry;
  EXPECT_EQ(sentence(registry.find("x")), "no policy is named \"x\": none is known");
  for (const cw_policy_ops* ops : policy::all()) ASSERT_TRUE(registry.add(*ops));
  EXPECT_EQ(sentence(registry.find("selective_repet")),
            "no policy is named \"selective_repet\": did you mean \"selective_repeat\"?");
  EXPECT_EQ(sentence(registry.unload("best")),
            "no policy is named \"best\": write passthrough, go_back_n, selective_repeat, "
            "erasure, hybrid, layered_interleave, csa_ud, irn, nack_fixed or rto_only");
}

TEST(Registry, refuses_to_link_a_policy_twice_or_a_bad_one) {
  Registry registry;
  ASSERT_TRUE(registry.add(*cw_policy_passthrough()));
  EXPECT_EQ(sentence(registry.add(*cw_policy_passthrough())),
            "policy passthrough is there already");
  cw_policy_ops bad = *cw_policy_go_back_n();
  bad.create = nullptr;
  EXPECT_EQ(sentence(registry.add(bad)), "policy go_back_n has no create function");
}

TEST(Registry, passes_on_why_a_file_was_refused_and_stays_as_it_was) {
  Registry registry;
  EXPECT_EQ(sentence(registry.load(plugin("no_symbol"))),
            "plugin " + plugin("no_symbol") + " exports no function cw_policy_table");
  EXPECT_EQ(registry.names(), Names());
}

TEST(Registry, finds_the_newest_while_the_older_one_drains) {
  Registry registry;
  auto old_use = std::make_unique<PolicyRef>(*registry.load(plugin("version_1")));
  ASSERT_TRUE(registry.load(plugin("version_2")));
  EXPECT_STREQ(registry.find("tried")->table().version, "2");
  EXPECT_EQ(registry.names(), Names{"tried"});

  EXPECT_EQ(registry.unload_replaced(), 0u);
  EXPECT_STREQ(old_use->table().version, "1");
  old_use.reset();
  EXPECT_EQ(registry.unload_replaced(), 1u);
  EXPECT_EQ(LoadedPolicy::resident_count(), 1u);
  EXPECT_STREQ(registry.find("tried")->table().version, "2");
}

TEST(Registry, tells_which_file_a_table_is_of) {
  Registry registry;
  ASSERT_TRUE(registry.add(*cw_policy_passthrough()));
  const auto first = registry.load(plugin("version_1")), again = registry.load(plugin("version_1"));
  const auto next = registry.load(plugin("version_2"));
  ASSERT_TRUE(first && again && next);
  EXPECT_FALSE(registry.file_of(*cw_policy_passthrough()));
  const auto file_of = [&](const auto& ref) { return registry.file_of(ref->table()).value(); };
  EXPECT_EQ(file_of(first).path, plugin("version_1"));
  EXPECT_EQ(file_of(first).hash, file_of(again).hash);
  EXPECT_NE(file_of(first).hash, file_of(next).hash);
}

TEST(Registry, all_are_what_is_found_by_name) {
  Registry registry;
  ASSERT_TRUE(registry.add(*cw_policy_passthrough()));
  ASSERT_TRUE(registry.load(plugin("version_1")));
  ASSERT_TRUE(registry.load(plugin("version_2")));
  const std::vector<PolicyRef> all = registry.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_STREQ(all[0].table().name, "passthrough");
  EXPECT_STREQ(all[1].table().version, "2");
}

TEST(Registry, goes_back_to_the_older_one_when_the_newest_is_unloaded) {
  Registry registry;
  ASSERT_TRUE(registry.load(plugin("version_1")));
  ASSERT_TRUE(registry.load(plugin("version_2")));
  ASSERT_TRUE(registry.unload("tried"));
  EXPECT_STREQ(registry.find("tried")->table().version, "1");
  ASSERT_TRUE(registry.unload("tried"));
  EXPECT_FALSE(registry.find("tried"));
  EXPECT_EQ(LoadedPolicy::resident_count(), 0u);
}

TEST(Registry, unloads_nothing_that_is_in_use_or_built_in) {
  Registry registry;
  ASSERT_TRUE(registry.add(*cw_policy_passthrough()));
  EXPECT_EQ(sentence(registry.unload("passthrough")),
            "policy passthrough is built in and cannot be unloaded");
  {
    const auto first = registry.load(plugin("version_1"));
    EXPECT_EQ(sentence(registry.unload("tried")),
              "policy tried from " + plugin("version_1") + " has 1 user and cannot be unloaded");
    const auto second = registry.find("tried");
    EXPECT_EQ(sentence(registry.unload("tried")),
              "policy tried from " + plugin("version_1") + " has 2 users and cannot be unloaded");
    EXPECT_EQ(registry.unload_replaced(), 0u);
  }
  EXPECT_TRUE(registry.unload("tried"));
}

TEST(Registry, counts_a_use_once_however_it_moves) {
  Registry registry;
  ASSERT_TRUE(registry.load(plugin("version_1")));
  ASSERT_TRUE(registry.load(plugin("newer_minor")));
  {
    PolicyRef use = *registry.find("tried");
    PolicyRef moved = std::move(use);
    moved = *registry.find("tried");
    EXPECT_NE(sentence(registry.unload("tried")).find("has 1 user "), std::string::npos);
  }
  EXPECT_TRUE(registry.unload("tried"));
}

TEST(Registry, unloads_only_after_the_last_use_on_another_thread) {
  Registry registry;
  auto use = registry.load(plugin("version_1"));
  ASSERT_TRUE(use);
  std::thread worker([mine = std::move(*use)] {
    cw_policy* policy = nullptr;
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(mine.table().create(nullptr, &policy, nullptr, 0), 0);
      mine.table().destroy(policy);
    }
  });
  while (!registry.unload("tried")) std::this_thread::yield();
  EXPECT_EQ(LoadedPolicy::resident_count(), 0u);
  worker.join();
}

// ---- params ----

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

// ---- table check ----

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

// ---- nearest ----

TEST(Nearest, counts_edits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("alpha", "alpha"), 0u);
  EXPECT_EQ(edit_distance("alfa", "alpha"), 2u);
  EXPECT_EQ(edit_distance("alhpa", "alpha"), 1u);  // neighbours swapped
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, asks_for_the_name_that_was_probably_meant) {
  const std::array<std::string_view, 3> known = {"passthrough", "go_back_n", "selective_repeat"};
  EXPECT_EQ(advice("selective_repaet", known), "did you mean \"selective_repeat\"?");
  EXPECT_EQ(advice("go_back", known), "did you mean \"go_back_n\"?");
  EXPECT_EQ(advice("fountain", known), "write passthrough, go_back_n or selective_repeat");
}

TEST(Nearest, does_not_guess_at_short_names) {
  const std::array<std::string_view, 2> known = {"k", "m"};
  EXPECT_EQ(advice("beta", known), "write k or m");
}

}  // namespace

}  // namespace cw::plugins
