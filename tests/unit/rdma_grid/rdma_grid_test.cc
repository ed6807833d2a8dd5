// What bench/rdma keeps between runs, and what it says of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "bench/rdma/grid_table.h"
#include "bench/rdma/operations.h"
#include "bench/rdma/results.h"

namespace cw::bench {
namespace {

class RdmaGrid : public testing::Test {
 protected:
  std::string path_ =
      testing::TempDir() + "causeway_rdma_grid_" + std::to_string(getpid()) + ".json";
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override { std::filesystem::remove(path_); }
};

Cell write_at(const std::string& loss, const std::string& policy) {
  return {1500, "20ms", loss, policy, "write"};
}

void add_rounds(Results& results, const Cell& cell, std::initializer_list<double> mbps) {
  for (const double each : mbps) results.add(cell, {.mbps = each, .commit = "abc"});
}

TEST_F(RdmaGrid, what_was_written_is_read_again) {
  Results results;
  results.add(write_at("1%/8", "plain"), {.mbps = 4.5, .retransmits = 195, .commit = "abc"});
  results.add(write_at("1%/8", "plain"), {.failure = "a \"quoted\" reason", .commit = "abc-dirty"});
  results.add({1500, "60ms", "0%", "hybrid", "latency"}, {.p50_us = 30'100, .p99_us = 33'000});
  results.write(path_);
  const auto again = Results::read(path_);
  ASSERT_TRUE(again) << again.error().sentence;
  ASSERT_EQ(again->cells().size(), 2);
  const auto& samples = again->cells().at(write_at("1%/8", "plain"));
  ASSERT_EQ(samples.size(), 2);
  EXPECT_EQ(samples[0].mbps, 4.5);
  EXPECT_EQ(samples[0].retransmits, 195);
  EXPECT_EQ(samples[1].failure, "a \"quoted\" reason");
  EXPECT_EQ(samples[1].commit, "abc-dirty");
  EXPECT_EQ(again->median({1500, "60ms", "0%", "hybrid", "latency"}, &Sample::p99_us), 33'000);
}

TEST_F(RdmaGrid, begins_empty_and_refuses_what_it_did_not_write) {
  const auto none = Results::read(path_);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->cells().empty());
  for (const char* const text : {"", "{}", "{\"cells\": [{\"mtu\": 1500}]}", "{\"cells\": 3}"}) {
    std::ofstream(path_) << text;
    const auto other = Results::read(path_);
    ASSERT_FALSE(other) << text;
    EXPECT_NE(other.error().sentence.find("--fresh begins anew"), std::string::npos);
  }
}

TEST_F(RdmaGrid, runs_that_failed_are_no_figures_and_are_made_again) {
  Results results;
  const Cell cell = write_at("3%", "plain");
  EXPECT_EQ(results.count(cell), 0);
  results.add(cell, {.retransmits = 7, .failure = "not in time"});
  EXPECT_EQ(results.count(cell), 0);
  EXPECT_FALSE(results.median(cell, &Sample::mbps));
  add_rounds(results, cell, {2, 9, 4});
  EXPECT_EQ(results.count(cell), 3);
  EXPECT_EQ(results.median(cell, &Sample::mbps), 4);
  EXPECT_EQ(results.retransmits(cell), 7);
  const std::string page = page_of(results, "bench/rdma/grid");
  EXPECT_NE(page.find("* write, RTT 20ms, loss 3%, plain: not in time"), std::string::npos) << page;
}

TEST_F(RdmaGrid, promises_are_met_from_95_percent_of_five_rounds_on) {
  Results results;
  add_rounds(results, write_at("0%", "passthrough"), {100, 100, 100, 100, 100});
  add_rounds(results, write_at("0%", "hybrid"), {95, 95, 95, 1, 99});
  add_rounds(results, write_at("1%", "hybrid"), {90.2, 90.2, 90.2, 200, 3});
  add_rounds(results, write_at("0%", "erasure"), {100, 100, 100, 100, 100});
  add_rounds(results, write_at("1%", "erasure"), {100, 100, 100, 100});
  const auto promises = promises_of(results);
  ASSERT_EQ(promises.size(), 4);
  const Promise &erasure_lossy = promises[0], &erasure = promises[1], &hybrid_lossy = promises[2],
                &hybrid = promises[3];
  EXPECT_EQ(erasure_lossy.outcome, Promise::Open);  // four rounds
  EXPECT_EQ(erasure_lossy.rounds, 4);
  EXPECT_EQ(erasure.outcome, Promise::Met);
  EXPECT_EQ(hybrid_lossy.outcome, Promise::Missed);
  EXPECT_NEAR(hybrid_lossy.ratio, 0.9495, 0.0001);
  EXPECT_EQ(hybrid.outcome, Promise::Met);
  EXPECT_DOUBLE_EQ(hybrid.ratio, 0.95);
  const std::string page = page_of(results, "bench/rdma/grid --quick");
  EXPECT_NE(page.find("`hybrid` at 1 % loss, of itself without loss: 94.9 % in 5 rounds, "
                      "**missed**"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("in 4 rounds, open"), std::string::npos) << page;
}

TEST_F(RdmaGrid, tables_are_in_the_order_of_their_numbers_and_empty_where_nothing_was_measured) {
  Results results;
  for (const char* const loss : {"3%", "1%/8", "1%", "0.1%", "0%"}) {
    add_rounds(results, write_at(loss, "hybrid"), {30});
  }
  add_rounds(results, write_at("0%", "plain"), {40.25});
  results.add({1500, "1ms", "0%", "plain", "write"}, {.mbps = 0.0626});
  results.add({1500, "20ms", "0%", "plain", "latency"}, {.p50_us = 11'005, .p99_us = 1'100'000});
  const std::string page = page_of(results, "bench/rdma/grid");
  EXPECT_NE(page.find("| loss | 0% | 0.1% | 1% | 1%/8 | 3% |\n|---|---|---|---|---|---|\n"
                      "| no gateways | 40.2 (0) |  |  |  |  |\n"
                      "| `hybrid` | 30.0 (0) | 30.0 (0) | 30.0 (0) | 30.0 (0) | 30.0 (0) |\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("| no gateways | 0.063 (0) |"), std::string::npos) << page;
  EXPECT_NE(page.find("| no gateways | 11.01, 1100.00 (0) |"), std::string::npos) << page;
  EXPECT_LT(page.find("RTT 1ms"), page.find("RTT 20ms"));
}

TEST_F(RdmaGrid, operations_are_found_by_name) {
  ASSERT_NE(find_operation("write"), nullptr);
  EXPECT_STREQ(find_operation("write")->command, "ib_write_bw -u 18");
  EXPECT_TRUE(find_operation("send_ud")->receiver_counts);
  EXPECT_TRUE(find_operation("latency")->is_latency);
  EXPECT_EQ(find_operation("no such thing"), nullptr);
}

}  // namespace
}  // namespace cw::bench
