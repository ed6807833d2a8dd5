// What the demo says of a run.
#include "tests/demo/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cw::demo {
namespace {

Report report_of(const char* emulator) {
  Report report;
  report.options.policy = "hybrid";
  report.emulator = emulator;
  read_emulator(report);
  return report;
}

TEST(DemoReport, says_what_was_offered) {
  const Report report = report_of(R"({"void": false, "lateness_us": {"p99": 120.4}})");
  const std::string table = to_table(report);
  EXPECT_NE(table.find("UDP offered                          320.0 Mbit/s"), std::string::npos)
      << table;
  EXPECT_NE(table.find("emulator late           p99 120 us"), std::string::npos) << table;
  EXPECT_EQ(table.find("VOID"), std::string::npos) << table;
  EXPECT_EQ(nlohmann::json::parse(to_json(report))["udp_offered_mbps"], 320.0);
}

TEST(DemoReport, says_what_was_late_and_by_how_much_where_a_run_is_void) {
  const Report report = report_of(R"({"void": true, "lateness_us": {"p99": 2100},
      "void_because": "the emulator was 2100 us late"})");
  const std::string table = to_table(report);
  EXPECT_NE(table.find("VOID: the emulator was 2100 us late\n"), std::string::npos) << table;
  const auto link = nlohmann::json::parse(to_json(report))["link"];
  EXPECT_EQ(link["void"], true);
  EXPECT_EQ(link["void_because"], "the emulator was 2100 us late");
}

}  // namespace
}  // namespace cw::demo
