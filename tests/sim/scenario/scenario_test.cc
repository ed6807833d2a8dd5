// Every shipped scenario runs, gives the promised JSON, and the same one for the same seed; and
// the program says what is wrong with a file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "control/json/json.h"
#include "control/sim/scenario.h"
#include "control/sim/simulation.h"
#include "tests/command.h"
#include "tests/sim/scenario/scenario_files.h"

namespace cw {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(scenarios)) {
    if (entry.path().extension() == ".toml") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

Json run(Scenario scenario, uint64_t seed) {
  scenario.run.seed = seed;
  const auto simulation = Simulation::make(scenario);
  EXPECT_TRUE(simulation) << simulation.error().sentence;
  return Json::parse(to_json((*simulation)->run([](uint64_t) {})));
}

class Scenarios : public testing::TestWithParam<fs::path> {
 protected:
  Scenario few() const {
    Scenario scenario = load(GetParam());
    scenario.workload.messages = std::min<uint64_t>(scenario.workload.messages, 80);
    return scenario;
  }
};

TEST_P(Scenarios, completes_with_every_byte_right) {
  const Scenario scenario = few();
  const Json json = run(scenario, 1);
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  EXPECT_EQ(keys, (std::set<std::string>{
                      "policy", "seed", "messages", "completed", "completion_ms", "goodput_gbps",
                      "packets", "resent_packets", "repair_packets", "lost_packets", "quarantined",
                      "bytes_wrong", "trace_hash", "virtual_seconds", "wall_seconds"}));
  const uint64_t messages = scenario.workload.messages * scenario.receivers;
  EXPECT_EQ(json["messages"], messages);
  EXPECT_EQ(json["bytes_wrong"], 0);
  if (json["policy"] == "passthrough") {
    EXPECT_LT(json["completed"], messages);
    EXPECT_GT(json["completed"], messages / 2);
    return;
  }
  EXPECT_EQ(json["completed"], messages);
  const auto& times = json["completion_ms"];
  EXPECT_GT(times["p50"], 0);
  EXPECT_LE(times["p50"], times["p99"]);
  EXPECT_LE(times["p99"], times["p999"]);
  EXPECT_GT(json["goodput_gbps"], 0);
}

TEST_P(Scenarios, takes_the_same_course_for_the_same_seed) {
  const Json first = run(few(), 7)["trace_hash"];
  EXPECT_EQ(run(few(), 7)["trace_hash"], first);
  EXPECT_NE(run(few(), 8)["trace_hash"], first);
}

INSTANTIATE_TEST_SUITE_P(Files, Scenarios, testing::ValuesIn(files()),
                         [](const auto& each) { return each.param.stem().string(); });

TEST(Scenario, bytes_that_are_carried_and_bytes_that_are_lent_arrive_alike) {
  Scenario scenario = load(scenarios / "uniform_loss.toml");
  scenario.workload.messages = 100;
  scenario.run.carry_bytes = true;
  const Json json = run(scenario, 1);
  EXPECT_EQ(json["completed"], 100);
  EXPECT_EQ(json["bytes_wrong"], 0);
}

TEST(Scenario, nothing_is_resent_on_a_perfect_wire) {
  const Json json = run(load(scenarios / "lossless.toml"), 3);
  EXPECT_EQ(json["resent_packets"], 0);
  EXPECT_EQ(json["lost_packets"], 0);
}

TEST(Scenario, skew_between_paths_and_reordering_cost_few_resends) {
  for (const char* file : {"two_paths.toml", "reorder_duplicate.toml"}) {
    const Json json = run(load(scenarios / file), 1);
    const double needless =
        json["resent_packets"].get<double>() - json["lost_packets"].get<double>();
    EXPECT_LT(needless, 0.005 * json["packets"].get<double>()) << file;
  }
}

/// Wants to be asked again for ever.
cw_policy_ops insatiable() {
  cw_policy_ops ops{};
  ops.abi = CW_POLICY_ABI;
  ops.size = sizeof ops;
  ops.name = "insatiable";
  ops.version = "1";
  ops.summary = "Never has said all.";
  ops.create = [](const cw_env*, cw_policy** policy, char*, size_t) {
    static int nothing;
    *policy = reinterpret_cast<cw_policy*>(&nothing);
    return 0;
  };
  ops.destroy = [](cw_policy*) {};
  ops.opened = [](cw_policy*, const cw_fact_opened*, int64_t, cw_out* out) { out->more = 1; };
  ops.resume = [](cw_policy*, int64_t, cw_out* out) { out->more = 1; };
  return ops;
}

TEST(Scenario, tells_that_a_policy_was_put_in_quarantine) {
  static const cw_policy_ops ops = insatiable();
  Scenario scenario = load(scenarios / "lossless.toml");
  scenario.policy = &ops;
  scenario.policy_params.clear();
  const auto simulation = Simulation::make(scenario);
  ASSERT_TRUE(simulation) << simulation.error().sentence;
  const Report report = (*simulation)->run([](uint64_t) {});
  EXPECT_EQ(report.quarantined, 2u) << "at both ends";
  EXPECT_EQ(report.completed, report.messages) << "by whoever took the seats";
  EXPECT_NE(to_table(report).find("\nquarantined  2 of the policy's instances"), std::string::npos);
}

TEST(Scenario, go_back_n_collapses_where_selective_repeat_does_not) {
  Scenario scenario = load(scenarios / "go_back_n_collapse.toml");
  const Json collapsed = run(scenario, 1);
  const Scenario other = load(scenarios / "uniform_loss.toml");
  scenario.policy = other.policy;
  scenario.policy_params = other.policy_params;
  const Json kept = run(scenario, 1);
  EXPECT_GT(kept["goodput_gbps"], 2 * collapsed["goodput_gbps"].get<double>());
  EXPECT_GT(collapsed["resent_packets"], 100 * kept["resent_packets"].get<uint64_t>());
}

// ---- the program

test::Output program(const std::string& arguments) {
  return test::output_of(CW_SIM_PROGRAM " " + arguments + " 2>&1");
}

// Named after the test: several run at once.
std::string file_of(const std::string& text) {
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  const fs::path file = fs::path(testing::TempDir()) / ("causeway_sim." + name + ".toml");
  std::ofstream(file) << text;
  return file.string();
}

TEST(CausewaySim, prints_one_json_object_and_obeys_the_seed_it_is_given) {
  const std::string file = file_of("[workload]\nmessages = 3\n[run]\nseed = 5\n");
  const test::Output outcome = program(file + " --json --seed 9");
  EXPECT_EQ(outcome.status, 0);
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["seed"], 9);
  EXPECT_EQ(json["completed"], 3);
  EXPECT_NE(program(file).out.find("3 of 3 completed"), std::string::npos);
}

TEST(CausewaySim, names_every_mistake_of_a_file_and_exits_with_2) {
  const std::string file = file_of("[network]\nlos = 1\n[policy]\nalpha = 99\nalfa = 1\n");
  const test::Output outcome = program(file);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, file + ":2:1: network.los is not known; did you mean loss?\n" + file +
                             ":4:9: policy.alpha is 99; 0.5 to 32 is accepted\n" + file +
                             ":5:1: policy.alfa is not known; did you mean alpha?\n");
  EXPECT_EQ(program("/does/not/exist.toml").status, 2);
  EXPECT_EQ(program("--nonsense").status, 2);
  EXPECT_EQ(program("").status, 2);
}

TEST(CausewaySim, refuses_a_stream_that_does_not_fit) {
  const test::Output outcome = program(file_of("[workload]\nsizes = ['2 GiB']\n"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.out.find("do not fit the split 10|18|4"), std::string::npos) << outcome.out;
}

const std::string plugin = CW_PLUGIN_DIR "/go_back_n.so";

TEST(CausewaySim, runs_a_policy_from_a_file) {
  const std::string file = file_of("[policy]\nalpha = 3\n[workload]\nmessages = 3\n");
  const test::Output outcome = program("--plugin " + plugin + " " + file + " --json");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_EQ(Json::parse(outcome.out)["policy"], "go_back_n");
  EXPECT_NE(program("--list-keys --plugin " + plugin).out.find("name = \"go_back_n\""),
            std::string::npos);
}

TEST(CausewaySim, says_why_a_policy_is_not_loaded) {
  const test::Output outcome = program("--plugin none.so");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "--plugin: plugin none.so cannot be opened: No such file or directory\n");
}

TEST(CausewaySim, explains_itself) {
  EXPECT_EQ(program("--help").status, 0);
  EXPECT_NE(program("--list-policies").out.find("selective_repeat"), std::string::npos);
  const std::string keys = program("--list-keys").out;
  EXPECT_EQ(program(file_of(keys) + " --json").status, 0)
      << "the list of keys is itself a scenario";
}

}  // namespace
}  // namespace cw
