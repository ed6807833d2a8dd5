// What ./demo --wander understands, what it asks of its parts, and what it says of them.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <vector>

#include "control/json/json.h"
#include "control/wan/link/link_change.h"
#include "tests/demo/wander/wander.h"

namespace cw::demo {
namespace {

// ---- options ----

Result<Options> parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"causeway-demo", "--wander"});
  return parse_options(arguments);
}

TEST(WanderOptions, has_defaults_of_its_own) {
  const auto it = parsed({});
  ASSERT_TRUE(it) << it.error().sentence;
  EXPECT_TRUE(it->is_wander);
  EXPECT_EQ(it->policy, "adaptive");
  EXPECT_EQ(it->seconds, 12u);
  EXPECT_EQ(it->rtt, Duration::from_ms(25));
}

TEST(WanderOptions, takes_what_is_said_of_the_line_and_the_run) {
  const auto it = parsed({"--policy", "hybrid", "--seconds", "2", "--rtt", "10ms", "--rate",
                          "100Mbit/s", "--seed", "7", "--wan", "xdp", "--lan", "xdp", "--json"});
  ASSERT_TRUE(it) << it.error().sentence;
  EXPECT_EQ(it->policy, "hybrid");
  EXPECT_EQ(it->seconds, 2u);
  EXPECT_EQ(it->rtt, Duration::from_ms(10));
  EXPECT_EQ(it->rate, Rate::from_mbps(100));
  EXPECT_EQ(it->seed, 7u);
  EXPECT_EQ(it->wan, Wan::Xdp);
  EXPECT_TRUE(it->is_json);
}

TEST(WanderOptions, refuses_in_one_sentence_what_has_no_meaning) {
  for (const char* const each :
       {"--loss", "--burst", "--cores", "--warm-up", "--udp-rate", "--file"}) {
    const auto it = parsed({each, "1"});
    ASSERT_FALSE(it) << each;
    EXPECT_EQ(it.error().sentence,
              std::string(each) + " has no meaning with --wander; leave one of them out");
  }
  EXPECT_EQ(parsed({"--rdma"}).error().sentence,
            "--wander has no meaning with --rdma; leave one of them out");
  EXPECT_EQ(parsed({"--seconds", "1"}).error().sentence,
            "--seconds: at least 2 with --wander, as the first of each phase counts apart");
}

TEST(WanderOptions, a_policy_is_one_of_the_gateways_or_the_one_that_follows_the_line) {
  EXPECT_TRUE(parsed({"--policy", "adaptive"}));
  EXPECT_EQ(parsed({"--policy", "hybird"}).error().sentence,
            "--policy: \"hybird\" is none; there are adaptive, passthrough, go_back_n, "
            "selective_repeat, erasure, hybrid, layered_interleave");
  const std::vector<const char*> plain{"causeway-demo", "--policy", "adaptive"};
  EXPECT_FALSE(parse_options(plain)) << "one line, one policy";
}

TEST(WanderOptions, what_was_asked_for_comes_first_and_none_comes_twice) {
  const auto policies = [](const char* policy) {
    return policies_of(*parsed({"--policy", policy}));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(policies("adaptive"), (Names{"adaptive", "selective_repeat", "erasure"}));
  EXPECT_EQ(policies("hybrid"), (Names{"hybrid", "selective_repeat", "erasure"}));
  EXPECT_EQ(policies("erasure"), (Names{"erasure", "selective_repeat"}));
}

// ---- what its parts are told ----

TEST(WanderPhases, a_link_takes_each_and_nothing_of_the_one_before_remains) {
  wan::BothDirections link;
  for (const Phase& phase : phases_of(*parsed({}))) {
    const auto after = wan::changed(link, request_of(phase));
    ASSERT_TRUE(after) << phase.name << ": " << after.error().sentence;
    link = *after;
    for (const wan::DirectionOptions& each : link) {
      const Impairment& it = each.impairment;
      EXPECT_EQ(it.delay * 2, phase.rtt) << phase.name;
      EXPECT_NEAR(it.loss + it.gilbert_elliott.mean_loss(), phase.loss, 1e-12) << phase.name;
      EXPECT_EQ(it.gilbert_elliott.to_bad > 0, phase.burst > 1) << phase.name;
    }
  }
}

std::string file_of(const char* policy) {
  return config_of(lab::site_a, lab::site_b, "a", "b", *parsed({"--policy", policy}));
}

TEST(WanderConfig, what_follows_the_line_is_told_between_what_and_for_what) {
  const std::string file = file_of("adaptive");
  EXPECT_NE(file.find("policy = \"adaptive\"\n"
                      "hold = \"500 ms\"\n"
                      "policies = [\"selective_repeat\", \"erasure\"]\n"
                      "aim = \"tail\"\n"
                      "transfer = \"64 KiB\"\n"),
            file.npos)
      << file;
  EXPECT_NE(file.find("log_format = \"json\"\n"), file.npos) << file;
}

TEST(WanderConfig, a_fixed_policy_has_the_same_room_and_no_other_beside_it) {
  const std::string file = file_of("erasure");
  EXPECT_NE(file.find("policy = \"erasure\"\nhold = \"500 ms\"\n"), file.npos) << file;
  EXPECT_EQ(file.find("policies"), file.npos) << file;
  EXPECT_EQ(file.find("aim"), file.npos) << file;
}

TEST(WanderLog, a_decision_is_found_with_the_moment_at_which_it_was_taken) {
  const std::vector<Adapted> all = adapted_in(
      R"({"time":"2026-11-21T12:00:00.000Z","level":"info","event":"up","peer":"b"})"
      "\nwhat is no JSON\n"
      R"({"time":"2026-11-21T12:00:01.250Z","level":"info","event":"adapted","peer":"b",)"
      R"x("class":"everything","what":"loss 0.8 %: erasure (32,4) -> (32,6)"})x"
      "\n");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].what, "loss 0.8 %: erasure (32,4) -> (32,6)");
  const std::chrono::sys_days day = std::chrono::year(2026) / 11 / 21;
  EXPECT_EQ(all[0].at, day + std::chrono::hours(12) + std::chrono::milliseconds(1250));
}

// ---- what it says ----

constexpr double never = std::numeric_limits<double>::infinity();

Stretch stretch_of(std::vector<double> ms, uint64_t wan_bytes) {
  return {.times = {std::move(ms)}, .carried = {.host_bytes = 100, .wan_bytes = wan_bytes}};
}

PolicyRun run_of(const char* policy, double calm_ms, double bad_ms, uint64_t wan_bytes) {
  const std::vector<Phase> phases = phases_of(Options());
  PolicyRun run{.policy = policy};
  for (size_t i = 0; i < 2; ++i) {
    const double ms = i == 0 ? calm_ms : bad_ms;
    run.phases.push_back(
        {phases[i], stretch_of({1, 2}, wan_bytes), stretch_of({1, ms}, wan_bytes)});
  }
  return run;
}

WanderReport some_report() {
  WanderReport report{.options = *parsed({})};
  report.runs = {run_of("selective_repeat", 10, 50, 106), run_of("erasure", 11, never, 142),
                 run_of("adaptive", 10.5, 60, 120)};
  report.runs.back().decisions = {{0.3, "as few as possible"}, {13.5, "loss 0.8 %: erasure"}};
  return report;
}

TEST(WanderReport, a_time_that_never_ended_is_the_longest) {
  const TransferTimes times{{1, 2, never}};
  EXPECT_EQ(times.sent(), 3u);
  EXPECT_EQ(times.whole(), 2u);
  EXPECT_EQ(times.quantile_ms(0.5), 2);
  EXPECT_EQ(times.quantile_ms(1), never);
}

TEST(WanderReport, a_program_finds_each_phase_of_each_policy) {
  const Json it = Json::parse(to_json(some_report()));
  ASSERT_EQ(it["runs"].size(), 3u);
  const Json& erasure = it["runs"][1];
  EXPECT_EQ(erasure["policy"], "erasure");
  const Json& bad = erasure["phases"][1];
  EXPECT_EQ(bad["phase"], "bad");
  EXPECT_EQ(bad["burst"], 3);
  EXPECT_EQ(bad["transfers"], 2);
  EXPECT_EQ(bad["whole"], 1);
  EXPECT_TRUE(bad["p99_ms"].is_null()) << bad;
  EXPECT_FALSE(bad.contains("p999_ms")) << "two tell nothing of one in a thousand";
  EXPECT_EQ(bad["wan_per_host_byte"], 1.42);
  EXPECT_EQ(bad["settling"]["worst_ms"], 2);
  EXPECT_TRUE(erasure["decisions"].empty());
  EXPECT_EQ(it["runs"][2]["decisions"][1]["second"], 13.5);
}

TEST(WanderReport, a_person_sees_what_was_decided_in_which_phase) {
  const std::string text = to_table(some_report());
  EXPECT_NE(text.find("What adaptive decided at site A:\n"
                      "     0.3 s, calm    as few as possible\n"
                      "    13.5 s, bad     loss 0.8 %: erasure\n"),
            text.npos)
      << text;
  EXPECT_NE(text.find("bad     25 ms round trip, loses 1 % of all packets in bursts of 3"),
            text.npos)
      << text;
  EXPECT_NE(text.find("never"), text.npos) << text;
}

TEST(WanderReport, the_verdict_compares_what_was_measured) {
  const std::vector<std::string> verdict = verdict_of(some_report());
  EXPECT_EQ(verdict, (std::vector<std::string>{
                         "Smallest p99: calm selective_repeat (10.0 ms), bad selective_repeat "
                         "(50.0 ms).",
                         "adaptive is within a tenth of it in calm, not in bad.",
                         "Bytes on the line for each byte of the hosts: selective_repeat 1.06, "
                         "erasure 1.42, adaptive 1.20."}));
}

TEST(WanderReport, a_run_without_meaning_is_called_so) {
  WanderReport report = some_report();
  EXPECT_EQ(to_table(report).find("VOID"), std::string::npos);
  report.runs[1].is_void = true;
  report.runs[1].void_because = "the emulator was 2100 us late";
  EXPECT_NE(to_table(report).find("VOID: erasure: the emulator was 2100 us late\n"),
            std::string::npos);
}

}  // namespace
}  // namespace cw::demo
