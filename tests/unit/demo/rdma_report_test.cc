#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/demo/rdma.h"

namespace cw::demo {
namespace {

using Json = nlohmann::json;

RdmaReport some_report() {
  RdmaReport report;
  report.options.is_rdma = true;
  report.options.rtt = Duration::from_ms(20);
  report.options.policy = "hybrid";
  report.plain = {{2, 6, 4}, 195};
  report.plain_quick = {{12, 14, 13}, 300};
  report.plain_lossless = {{40, 40, 40}, 0};
  report.gateway = {{38, 39, 10}, 7};
  report.gateway_lossless = {{39, 40, 20}, 0};
  return report;
}

TEST(RdmaReport, a_program_finds_medians_by_name_and_retransmissions_as_a_number) {
  const Json it = Json::parse(to_json(some_report()));
  EXPECT_EQ(it["rc_mbps"]["plain"], 4);
  EXPECT_EQ(it["rc_mbps"]["plain_timeout_14"], 13);
  EXPECT_EQ(it["rc_mbps"]["plain_lossless"], 40);
  EXPECT_EQ(it["rc_mbps"]["gateway"], 38);
  EXPECT_EQ(it["rc_mbps"]["gateway_lossless"], 39);
  EXPECT_EQ(it["rc_mbps_runs"]["plain"], Json({2, 6, 4}));
  EXPECT_EQ(it["host_retransmits"], 7);
  EXPECT_EQ(it["host_retransmits_by_way"]["plain"], 195);
  EXPECT_EQ(it["link"]["rtt_ms"], 20);
  EXPECT_EQ(it["link"]["loss"], 0.01);
  EXPECT_EQ(it["policy"], "hybrid");
}

TEST(RdmaReport, a_person_sees_each_way_beside_its_own_without_loss) {
  const std::string text = to_table(some_report());
  EXPECT_NE(text.find("loses 1 % of all packets"), std::string::npos) << text;
  EXPECT_NE(text.find("without gateways                 4.0 Mbit/s               10 %"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("with gateways                   38.0 Mbit/s               97 %"),
            std::string::npos)
      << text;
}

TEST(RdmaReport, a_median_is_in_the_middle) {
  EXPECT_EQ(RdmaWay().median_mbps(), 0);
  EXPECT_EQ((RdmaWay{{3}, 0}).median_mbps(), 3);
  EXPECT_EQ((RdmaWay{{4, 2}, 0}).median_mbps(), 3);
  EXPECT_EQ((RdmaWay{{9, 1, 2}, 0}).median_mbps(), 2);
}

}  // namespace
}  // namespace cw::demo
