// The rules that take packets to their shard's queue in a NIC: compiled and compared with golden
// files that dpdk-testpmd reads. No NIC here has ever had one.
#include "dataplane/port/dpdk/eal/flow_rules.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "dataplane/base/shards.h"
#include "tests/unit/port_dpdk/dpdk_pair.h"

namespace cw::test {
namespace {

struct Layout {
  const char* name;
  uint16_t shards, links, paths;
  std::vector<const char*> peers;
  const char* own;
  uint16_t source_port = 0;  // of RNICs
};

class FlowRules : public testing::TestWithParam<Layout> {};

/// As the site deals links out, of shard 0.
FrameWanOptions options_of(const Layout& it) {
  FrameWanOptions options = wan_options("0000:3b:00.0", it.own, it.peers.front());
  options.peers.clear();
  options.shards = it.shards;
  options.paths = it.paths;
  for (const char* const peer : it.peers) {
    for (uint16_t link = 0; link < it.links; ++link) {
      const auto shard = static_cast<uint16_t>(shard_of_link(link, it.shards));
      if (shard == 0) {
        options.peers.push_back({.address = peer, .link = link, .source_port = it.source_port});
      } else {
        options.elsewhere.push_back(
            {.address = peer, .link = link, .shard = shard, .source_port = it.source_port});
      }
    }
  }
  return options;
}

/// What it says is beside the file, for whoever changes a rule on purpose.
TEST_P(FlowRules, of_each_layout_are_those_of_the_golden_file) {
  const Layout& it = GetParam();
  const auto flows = FrameWanPort::flows_of(options_of(it));
  ASSERT_TRUE(flows) << flows.error().sentence;
  const size_t of_any_port = it.source_port == 0 ? 0 : it.peers.size();
  EXPECT_EQ(flows->size(), it.peers.size() * it.links * it.paths + of_any_port);
  std::string rules;
  for (const PathFlow& flow : *flows) rules += rule_text(0, flow, flow.shard) + "\n";
  std::ifstream file(std::string(CW_SOURCE_DIR "/tests/data/flow-rules/") + it.name + ".txt");
  const std::string golden((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(rules, golden);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, FlowRules,
    testing::Values(Layout{"one-core", 1, 1, 2, {"192.0.2.2", "198.51.100.2"}, "192.0.2.1"},
                    Layout{"two-cores-four-links", 2, 4, 2, {"192.0.2.2"}, "192.0.2.1"},
                    Layout{"ipv6-three-cores", 3, 3, 1, {"2001:db8::2"}, "2001:db8::1"},
                    Layout{"two-rnics", 2, 2, 2, {"192.0.2.2", "192.0.2.3"}, "192.0.2.1", 49152}),
    [](const auto& each) {
      std::string name = each.param.name;
      std::ranges::replace(name, '-', '_');
      return name;
    });

// A device without rules says so in a sentence, and is none the worse for it.
TEST(FlowRule, that_a_device_has_no_place_for_is_refused_with_its_reason) {
  start_small_eal();
  const auto device = DpdkDevice::make({.device = "net_null0", .packet_bytes = 1500});
  ASSERT_TRUE(device) << device.error().sentence;
  EXPECT_FALSE(create_rule(0, {}, 0).empty());
  const FrameDeviceStatus status = (*device)->status();
  EXPECT_FALSE(status.is_isolated);
  EXPECT_EQ(status.rules, 0u);
}

}  // namespace
}  // namespace cw::test
