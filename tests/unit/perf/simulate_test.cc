// Both ends in one process, as `causeway-perf client --port sim` has them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "control/perf/figures.h"
#include "control/perf/measure.h"
#include "policies/policies.h"
#include "tests/unit/perf/command_line.h"

namespace cw::perf {
namespace {

/// Runs the command line; the report without the seconds that real time takes.
Json measure(const std::string& arguments, bool is_stopped = false) {
  auto options = parse("client --port sim " + arguments);
  EXPECT_TRUE(options) << options.error().sentence;
  plugins::Registry policies;
  for (const cw_policy_ops* each : policy::all()) EXPECT_TRUE(policies.add(*each));
  if (!options->plugin.empty()) {
    EXPECT_TRUE(policies.load(options->plugin));
  }
  if (options->parameters.policy.empty()) options->parameters.policy = "selective_repeat";
  const StopFlag stop = is_stopped;
  const auto outcome = simulate(*options, policies, stop);
  if (!outcome) return {{"error", outcome.error().sentence}};
  return outcome->report;
}

TEST(PerfSimulation, every_message_arrives_whole_over_a_lossy_link) {
  const Json it = measure("--rtt 25ms --loss 1% --count 300 --verify");
  ASSERT_EQ(it["ended"], "done") << it;
  EXPECT_EQ(it["posted"], 300);
  EXPECT_EQ(it["done"], 300);
  EXPECT_EQ(it["arrived_whole"], 300);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_TRUE(it["verified"]);
  EXPECT_GT(it["resends"], 0);
  EXPECT_GT(it["link"]["lost"], 0);
  // A round trip is the least; the figures are in order.
  EXPECT_GE(it["completion_us"]["p50"], 25'000.0);
  EXPECT_LE(it["completion_us"]["p50"], it["completion_us"]["p99"]);
  EXPECT_LE(it["completion_us"]["p99"], it["completion_us"]["p999"]);
  EXPECT_LE(it["completion_us"]["p999"], it["completion_us"]["max"]);
}

TEST(PerfSimulation, a_seed_decides_everything) {
  const std::string arguments = "--rtt 10ms --loss 2% --reorder 1%,2ms --count 100 --seed ";
  const Json first = measure(arguments + "7"), again = measure(arguments + "7");
  EXPECT_EQ(first, again);
  EXPECT_NE(first["trace_hash"], measure(arguments + "8")["trace_hash"]);
}

TEST(PerfSimulation, a_policy_that_codes_gets_its_blocks_and_resends_nearly_nothing) {
  for (const char* policy : {"erasure", "hybrid", "layered_interleave"}) {
    const Json it = measure(
        "--rtt 20ms --loss 1% --rate 500Mbit/s --size 1MiB --inflight 1 "
        "--count 30 --verify --policy " +
        std::string(policy));
    EXPECT_EQ(it["arrived_whole"], 30) << policy;
    EXPECT_EQ(it["bytes_wrong"], 0) << policy;
    EXPECT_GT(it["repairs"], 30 * 256 / 32) << policy;  // a shard of each row of 32
    EXPECT_LT(it["resends"], 30) << policy;             // 77 slots were lost
  }
}

TEST(PerfSimulation, a_message_shorter_than_a_block_is_coded_too) {
  const Json it = measure("--rtt 20ms --loss 5% --size 1KiB --count 300 --verify --policy erasure");
  EXPECT_EQ(it["arrived_whole"], 300);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_GE(it["repairs"], 300);
}

TEST(PerfSimulation, a_perfect_link_carries_the_rate_and_resends_nothing) {
  const Json it = measure("--rtt 1ms --rate 500Mbit/s --size 1MiB --count 100");
  EXPECT_EQ(it["resends"], 0);
  // Headers and control packets take their share.
  EXPECT_GT(it["bandwidth_mbps"], 470.0);
  EXPECT_LE(it["bandwidth_mbps"], 500.0);
}

TEST(PerfSimulation, what_repairs_nothing_leaves_holes_that_are_counted) {
  const Json it = measure("--policy passthrough --loss 1% --count 200 --patience 20ms --verify");
  ASSERT_EQ(it["ended"], "done") << it;
  EXPECT_GT(it["arrived_with_holes"], 0);
  EXPECT_EQ(it["arrived_whole"].get<int>() + it["arrived_with_holes"].get<int>(), 200);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_EQ(it["resends"], 0);
}

TEST(PerfSimulation, a_time_can_be_given_instead_of_a_count) {
  const Json it = measure("--rtt 1ms --duration 200ms --rate 100Mbit/s");
  EXPECT_GE(it["seconds"], 0.2);
  EXPECT_LT(it["seconds"], 0.4);
  EXPECT_EQ(it["posted"], it["arrived_whole"]);
}

TEST(PerfSimulation, a_plugin_behaves_as_the_policy_it_was_built_from) {
  const std::string arguments = "--rtt 10ms --loss 1% --count 50 --policy selective_repeat";
  const Json built_in = measure(arguments);
  const Json plugin = measure(arguments + " --plugin " + CW_PLUGIN);
  EXPECT_EQ(plugin["trace_hash"], built_in["trace_hash"]);
}

TEST(PerfSimulation, what_was_measured_is_told_when_it_is_stopped) {
  const Json it = measure("--count 1000000", /*is_stopped=*/true);
  EXPECT_EQ(it["ended"], "interrupted");
  EXPECT_EQ(it["posted"], 0);
  EXPECT_NE(table_of(it).find("interrupted"), std::string::npos);
}

TEST(PerfSimulation, a_policy_or_parameter_that_does_not_exist_is_refused) {
  const std::string policy = measure("--policy selective_repaet")["error"];
  EXPECT_NE(policy.find("selective_repeat"), std::string::npos) << policy;
  const std::string parameter = measure("--policy-param window=1")["error"];
  EXPECT_NE(parameter.find("window"), std::string::npos) << parameter;
}

}  // namespace
}  // namespace cw::perf
