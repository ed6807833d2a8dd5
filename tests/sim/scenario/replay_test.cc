// What a policy was told in a simulation, played again: it decides the same, call by call; another
// one does not, and what is damaged is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "control/sim/scenario.h"
#include "control/sim/simulation.h"
#include "control/trace/replay.h"
#include "control/trace/replaying.h"
#include "control/trace/trace_document.h"
#include "dataplane/sdr/seat/care/policy_finder.h"
#include "tests/command.h"
#include "tests/sim/scenario/scenario_files.h"

namespace cw {
namespace {

namespace fs = std::filesystem;
using trace::StreamTrace;

constexpr size_t bytes_max = size_t{16} << 20;
Scenario some_of(const std::string& name, uint64_t messages = 80) {
  Scenario scenario = load(scenarios / name);
  scenario.workload.messages = std::min(scenario.workload.messages, messages);
  return scenario;
}

trace::TraceDocument record(const Scenario& scenario, size_t bytes = bytes_max) {
  const auto simulation = Simulation::make(scenario);
  EXPECT_TRUE(simulation) << simulation.error().sentence;
  (*simulation)->record(bytes);
  (*simulation)->run([](uint64_t) {});
  return (*simulation)->recorded();
}

Result<const cw_policy_ops*> find(const std::string& name) {
  return sdr::ListedPolicies(Policies::built_in().known).find(name);
}

Result<trace::ReplayReport> replay(const StreamTrace& stream,
                                   const trace::ReplayOptions& options = {},
                                   std::vector<std::string>* lines = nullptr) {
  return trace::replay(stream, options, find, [&](const std::string& line) {
    if (lines != nullptr) lines->push_back(line);
  });
}

class Recorded : public testing::TestWithParam<std::string> {};

TEST_P(Recorded, is_decided_in_the_same_way_again) {
  const Scenario scenario = some_of(GetParam());
  const trace::TraceDocument document = record(scenario);
  ASSERT_EQ(document.streams.size(), 2u);
  for (const StreamTrace& each : document.streams) {
    EXPECT_EQ(each.state, "running");
    const auto report = replay(each);
    ASSERT_TRUE(report) << report.error().sentence;
    EXPECT_EQ(report->policy, scenario.policy->name);
    EXPECT_EQ(report->differences, 0u) << "call " << report->first_difference;
    EXPECT_GT(report->facts, 100u);
    EXPECT_GT(report->decisions, 20u);
  }
}

TEST_P(Recorded, changes_nothing_of_what_it_records) {
  const Scenario scenario = some_of(GetParam());
  const auto plain = Simulation::make(scenario), traced = Simulation::make(scenario);
  (*traced)->record(bytes_max);
  const uint64_t hash = (*plain)->run([](uint64_t) {}).trace_hash;
  EXPECT_EQ((*traced)->run([](uint64_t) {}).trace_hash, hash);
}

INSTANTIATE_TEST_SUITE_P(Files, Recorded,
                         testing::Values("bursty.toml", "erasure_uniform.toml",
                                         "go_back_n_collapse.toml", "hybrid_bursty.toml",
                                         "layered_bursty.toml", "lossless.toml", "passthrough.toml",
                                         "reorder_duplicate.toml", "two_paths.toml",
                                         "blackout.toml", "uniform_loss.toml"),
                         [](const auto& each) { return fs::path(each.param).stem().string(); });

TEST(Replay, of_another_policy_shows_where_it_would_have_decided_otherwise) {
  const trace::TraceDocument document = record(some_of("uniform_loss.toml"));
  std::vector<std::string> lines;
  const auto report =
      replay(document.streams[0], {.policy = "go_back_n", .shows_differences_only = true}, &lines);
  ASSERT_TRUE(report) << report.error().sentence;
  EXPECT_GT(report->differences, 0u);
  EXPECT_GT(report->first_difference, 0u);
  EXPECT_EQ(report->remark.find("recorded of selective_repeat"), 0u);
  const auto begins_with = [](const char* text) {
    return [text](const std::string& line) { return line.find(text) < 30; };
  };
  EXPECT_TRUE(std::ranges::any_of(lines, begins_with("recorded: ")));
  EXPECT_TRUE(std::ranges::any_of(lines, begins_with("replayed: ")));
}

TEST(Replay, shows_what_was_told_and_decided_in_words) {
  const trace::TraceDocument document = record(some_of("uniform_loss.toml"));
  std::vector<std::string> lines;
  ASSERT_TRUE(replay(document.streams[0], {.message = 3}, &lines));
  const auto has = [&](const std::string& a, const std::string& b) {
    return std::ranges::any_of(lines, [&](const std::string& line) {
      return line.find(a) != line.npos && line.find(b) != line.npos;
    });
  };
  EXPECT_TRUE(has("selective_repeat", "source"));
  EXPECT_TRUE(has("opened", "message 3,"));
  EXPECT_TRUE(has("appended", "message 3, first 0, count"));
  EXPECT_TRUE(has("sent", "kind data, departed"));
  EXPECT_TRUE(has("-> send", "message 3, first 0, count"));
  EXPECT_TRUE(has("ended", "message 3"));
  EXPECT_FALSE(has("opened", "message 4,"));
}

TEST(Replay, of_a_trace_without_room_for_more_is_right_as_far_as_it_goes) {
  const trace::TraceDocument document = record(some_of("hybrid_bursty.toml"), 20'000);
  for (const StreamTrace& each : document.streams) {
    EXPECT_EQ(each.state, "full");
    EXPECT_LE(each.bytes.size(), 20'000u);
    EXPECT_GT(each.bytes.size(), 15'000u);
    const auto report = replay(each);
    ASSERT_TRUE(report) << report.error().sentence;
    EXPECT_EQ(report->differences, 0u);
    EXPECT_GT(report->facts, 100u);
  }
}

TEST(Replay, takes_no_time_to_speak_of_in_bytes) {
  const trace::TraceDocument document = record(some_of("uniform_loss.toml"));
  for (const StreamTrace& each : document.streams) {
    const auto report = replay(each);
    ASSERT_TRUE(report);
    // A fact and what is decided in it; packets themselves have a thousand bytes and more.
    EXPECT_LT(each.bytes.size(), 64 * report->facts);
  }
}

TEST(Document, comes_back_as_it_was_also_out_of_a_bundle) {
  const trace::TraceDocument document = record(some_of("uniform_loss.toml", 5));
  const Json json = trace::json_of(document);
  for (const Json& whole : {json, Json({{"made", "today"}, {"trace", json}})}) {
    const auto read = trace::read_document(whole.dump());
    ASSERT_TRUE(read) << read.error().sentence;
    ASSERT_EQ(read->streams.size(), 2u);
    EXPECT_EQ(read->streams[0].bytes, document.streams[0].bytes);
    EXPECT_EQ(read->streams[1].bytes, document.streams[1].bytes);
    EXPECT_TRUE(read->streams[0].is_outward);
    EXPECT_FALSE(read->streams[1].is_outward);
  }
}

TEST(Document, that_is_damaged_is_refused_with_a_reason) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "there is no trace in it"},
           {"{}", "there is no trace in it"},
           {R"({"trace": 3})", "there is no trace in it"},
           {R"({"causeway_trace": 9})", "of version 9"},
           {R"({"causeway_trace": 1})", "damaged"},
           {R"({"causeway_trace": 1, "site": "s", "streams": [{"peer": 1}]})", "damaged"},
           {R"({"causeway_trace": 1, "site": "s", "streams": [{"peer": "p", "class": "c",
               "link": 0, "direction": "out", "state": "full", "facts": "%%%"}]})",
            "base64"}}) {
    const auto read = trace::read_document(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().sentence.find(why), std::string::npos) << read.error().sentence;
  }
}

/// Of any bytes, what is read ends, and what is played holds to its bounds.
TEST(Reader, takes_no_damaged_trace_for_a_whole_one) {
  const trace::TraceDocument document = record(some_of("hybrid_bursty.toml", 3), 30'000);
  for (const StreamTrace& each : document.streams) {
    for (size_t cut = 0; cut < each.bytes.size(); cut += 1 + cut / 40) {
      StreamTrace damaged = each;
      damaged.bytes.resize(cut);
      (void)replay(damaged);
      damaged = each;
      damaged.bytes[cut] ^= 0x15;
      (void)replay(damaged);
    }
  }
  StreamTrace nothing;
  EXPECT_FALSE(replay(nothing));
}

// ---- the program

TEST(Program, records_and_plays_again) {
  const fs::path file = fs::path(testing::TempDir()) / "causeway_sim.replay.json";
  const std::string program = CW_SIM_PROGRAM " ";
  const std::string scenario = (scenarios / "erasure_uniform.toml").string();
  const auto run = test::output_of(program + scenario + " --record " + file.string() + " 2>&1");
  ASSERT_EQ(run.status, 0) << run.out;
  const std::string play = program + "--replay " + file.string();
  const auto table = test::output_of(play + " --message 2 2>&1");
  EXPECT_EQ(table.status, 0) << table.out;
  EXPECT_NE(table.out.find("class stream, to receiver"), std::string::npos);
  EXPECT_NE(table.out.find("class stream, from sender"), std::string::npos);
  EXPECT_NE(table.out.find("all as recorded"), std::string::npos);
  const auto json = test::output_of(play + " --differences --json");
  EXPECT_EQ(json.status, 0);
  const Json read = Json::parse(json.out);
  EXPECT_EQ(read["streams"].size(), 2u);
  EXPECT_EQ(read["streams"][0]["report"]["differences"], 0);
  EXPECT_EQ(read["streams"][0]["head"]["policy"], "erasure");
  const auto other = test::output_of(play + " --policy selective_repeat --differences 2>&1");
  EXPECT_EQ(other.status, 1) << other.out;
  const auto unknown = test::output_of(play + " --policy selectif 2>&1");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.out.find("there is no policy \"selectif\" here"), std::string::npos);
  const auto none = test::output_of(program + "--replay " + scenario + " 2>&1");
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.out.find("there is no trace in it"), std::string::npos) << none.out;
  fs::remove(file);
}

}  // namespace
}  // namespace cw
