// causeway-model as it is asked and told, and its manual.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "control/json/json.h"
#include "control/model/program/inputs.h"
#include "tests/command.h"

namespace cw::model {
namespace {

/// Both streams.
test::Output run(const std::string& arguments) {
  return test::output_of(std::string(CW_MODEL_PROGRAM) + " " + arguments + " 2>&1");
}
std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

const std::string setting =
    "--bandwidth 400Gbit/s --rtt 25ms --chunk 64KiB --size 128MiB --chunk-loss 1e-3 ";
const std::string two_policies =
    "--policy selective_repeat:detect=rto,alpha=2 --policy erasure:codec=rs,k=32,m=8 ";

TEST(Program, answers_with_every_figure_in_json) {
  const test::Output outcome = run(setting + two_policies + "--json");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json["results"].size(), 2u);
  for (const Json& result : json["results"]) {
    for (const char* name : {"mean_ms", "p50_ms", "p99_ms", "p999_ms", "fallback_probability",
                             "goodput_gbps", "overhead"}) {
      EXPECT_TRUE(result.at(name).is_number()) << name;
    }
  }
  const Json &repeat = json["results"][0], &coded = json["results"][1];
  EXPECT_EQ(repeat["policy"].get<std::string>(), "selective_repeat");
  EXPECT_EQ(repeat["params"]["detect"].get<std::string>(), "rto");
  EXPECT_NEAR(repeat["mean_ms"].get<double>(), 92.379, 0.02 * 92.379);
  EXPECT_NEAR(repeat["p999_ms"].get<double>(), 176.38, 0.02 * 176.38);
  EXPECT_EQ(coded["params"]["m"].get<uint64_t>(), 8u);
  EXPECT_EQ(coded["params"]["rows"].get<uint64_t>(), 4u);  // its default
  EXPECT_NEAR(coded["mean_ms"].get<double>(), 28.355, 0.02 * 28.355);
  EXPECT_EQ(json["best"]["policy"].get<std::string>(), "erasure");
  EXPECT_FALSE(json["best"]["why"].get<std::string>().empty());
}

TEST(Program, takes_packets_chunks_bursts_and_profiles) {
  const std::string with =
      "--bandwidth 400Gbit/s --size 128MiB --policy selective_repeat:detect=rto "
      "--json ";
  const auto mean = [&](const std::string& loss) {
    const test::Output outcome = run(with + loss);
    EXPECT_EQ(outcome.status, 0) << outcome.out;
    return Json::parse(outcome.out)["results"][0]["mean_ms"].get<double>();
  };
  // Published: 4.69 times the 28.355 ms of a code.
  EXPECT_NEAR(mean("--packet-loss 1e-3 --payload 4096 --chunk 64KiB"), 4.69 * 28.355, 0.02 * 133);
  const double alone = mean("--packet-loss 1e-4");
  EXPECT_LT(mean("--gilbert 8,1e-4"), alone);
  EXPECT_LT(mean("--packet-loss 1e-4 --profile amazon"), alone);
}

TEST(Program, tells_all_mistakes_at_once) {
  const test::Output outcome =
      run("--rtt 25 --size 0B --policy tcp --aim fast --sweep a=1..2 "
          "--overhead-limit x --fallback-law none --ring 1");
  EXPECT_EQ(outcome.status, 2);
  for (const char* word : {"--rtt", "size must", "tcp", "--aim", "\"a\" is no input",
                           "--overhead-limit", "--fallback-law", "--ring", "--packet-loss"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << " in\n" << outcome.out;
  }
  EXPECT_EQ(run("--speed 3").status, 2);
}

TEST(Program, says_so_where_no_law_holds_at_all) {
  const test::Output outcome = run(setting + "--policy hybrid");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("no law is known"), std::string::npos) << outcome.out;
  const Json json = Json::parse(run(setting + "--policy hybrid --json").out);
  EXPECT_EQ(json["results"].size(), 0u);
  EXPECT_EQ(json["refused"][0]["policy"].get<std::string>(), "hybrid");
  EXPECT_TRUE(json["best"].is_null());
}

TEST(Program, prints_a_table_with_all_parameters_and_the_best) {
  const test::Output outcome = run(setting + two_policies + "--overhead-limit 10%");
  EXPECT_EQ(outcome.status, 0);
  for (const char* text : {"selective_repeat:detect=rto  92.379", "note_bytes=1024",
                           "best: ", "1.25 where 1.1 are the limit"}) {
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " in\n" << outcome.out;
  }
}

TEST(Program, goes_around_a_ring) {
  const std::string all =
      "--bandwidth 400Gbit/s --chunk 64KiB --size 512MiB --chunk-loss 1e-3 "
      "--policy erasure:m=8 --ring 4 --json";
  const Json ring = Json::parse(run(all).out)["results"][0]["ring"];
  EXPECT_EQ(ring["rounds"].get<uint64_t>(), 6u);
  EXPECT_NEAR(ring["mean_at_least_ms"].get<double>(), 6 * 28.06, 0.3);
  EXPECT_GT(ring["mean_ms"].get<double>(), ring["mean_at_least_ms"].get<double>());
}

class Pictures : public testing::Test {
 protected:
  Pictures()
      : path_((std::filesystem::temp_directory_path() /
               ("causeway-model-" + std::to_string(getpid()) + ".svg"))
                  .string()) {}
  ~Pictures() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(Pictures, of_one_sweep_are_curves) {
  const test::Output outcome =
      run(setting + two_policies + "--sweep loss=1e-5..1e-2:5 --plot " + path_);
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const std::string svg = text_of_file(path_);
  EXPECT_NE(svg.find("<polyline"), std::string::npos);
  EXPECT_NE(svg.find("selective_repeat:detect=rto"), std::string::npos);
  EXPECT_NE(outcome.out.find("1e-05"), std::string::npos) << outcome.out;
}

TEST_F(Pictures, of_two_sweeps_are_the_map_of_who_wins) {
  const test::Output outcome =
      run("--bandwidth 400Gbit/s --packet-loss 1e-4 --sweep size=128KiB..1GiB:5 "
          "--sweep loss=1e-8..1e-2:3 --plot " +
          path_);
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const std::string svg = text_of_file(path_);
  for (const char* text : {"selective_repeat", "erasure", "128 KiB", "1 GiB"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(run("--packet-loss 1e-4 --plot /none/such.svg").status, 1);
}

// Nobody knows who wins where the least time is one that cannot be less.
TEST_F(Pictures, tell_a_winner_by_a_lower_bound_from_one_by_a_law) {
  const test::Output outcome =
      run("--bandwidth 1Gbit/s --rtt 5ms --packet-loss 1e-4 --sweep size=64KiB..1GiB:4 "
          "--sweep loss=1e-4..1e-3:2 --plot " +
          path_);
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(text_of_file(path_).find(">selective_repeat, by a lower bound only<"),
            std::string::npos);
}

TEST(Sweep, has_round_values_between_its_ends) {
  const auto sweep = parse_sweep("loss=1e-5..3e-2:6");
  ASSERT_TRUE(sweep);
  ASSERT_EQ(sweep->values.size(), 6u);
  EXPECT_EQ(sweep->values.front(), 1e-5);
  EXPECT_EQ(sweep->values.back(), 3e-2);
  EXPECT_NEAR(sweep->values[1], 5e-5, 1e-12);
  EXPECT_EQ(parse_sweep("in-flight=1..4:9")->values.size(), 4u);  // whole ones, each once
  const auto sizes = parse_sweep("size=64KiB..1GiB:15");
  for (const double size : sizes->values) {
    EXPECT_EQ(std::fmod(size, 4096), 0) << size;
  }
}

TEST(Sweep, sets_inputs_and_parameters) {
  Inputs inputs;
  std::vector<Plan> plans{*parse_plan("erasure"), *parse_plan("go_back_n")};
  parse_sweep("rtt=1ms..10ms:2")->apply(1e6, inputs, plans);
  EXPECT_EQ(inputs.rtt_ns, 1e6);
  const auto sweep = parse_sweep("erasure.m=1..16:3");
  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->values, (std::vector<double>{1, 4, 16}));
  sweep->apply(4, inputs, plans);
  EXPECT_EQ(plan_short_text(plans[0]), "erasure:m=4");
  EXPECT_EQ(plan_short_text(plans[1]), "go_back_n");
}

TEST(Sweep, is_refused_in_a_sentence) {
  for (const char* text : {"loss", "loss=1..2", "loss=1e-3..1e-5", "rtt=0ns..1ms", "depth=1..2",
                           "erasure.depth=1..2", "loss=1e-5..1e-3:1", "loss=1e-5..1e-3:1000"}) {
    EXPECT_FALSE(parse_sweep(text)) << text;
  }
}

/// Of the readme, or of help, where what goes on is indented.
size_t run_examples(const std::string& text) {
  std::istringstream lines(text);
  size_t examples = 0;
  std::string line;
  for (bool is_there = !!std::getline(lines, line); is_there;) {
    const std::string begun = line;
    const size_t at = begun.find("causeway-model --");
    std::string arguments = begun.substr(at == begun.npos ? 0 : at);
    while ((is_there = !!std::getline(lines, line)) &&
           (arguments.ends_with('\\') || line.starts_with("      --"))) {
      if (arguments.ends_with('\\')) arguments.pop_back();
      arguments += line;
    }
    if (at == begun.npos) continue;
    arguments.erase(0, std::string("causeway-model").size());
    arguments.resize(std::min(arguments.size(), arguments.find(" --plot")));
    const test::Output outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.out;
    ++examples;
  }
  return examples;
}

TEST(ModelManual, and_the_readme_have_examples_that_run) {
  EXPECT_GE(run_examples(text_of_file(CW_SOURCE_DIR "/control/model/README.md")), 2u);
  EXPECT_EQ(run_examples(run("--help").out), 4u);
}

}  // namespace
}  // namespace cw::model
