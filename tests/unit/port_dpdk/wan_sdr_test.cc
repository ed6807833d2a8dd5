// Two whole ends of a link, worker to worker, over DPDK ports of this process and in real time.
#include <gtest/gtest.h>

#include "dataplane/port/impair/impaired_port.h"
#include "tests/unit/port/live_transfer.h"
#include "tests/unit/port_dpdk/dpdk_pair.h"

namespace cw::test {
namespace {
using namespace literals;

sim::SiteOptions site_options(uint32_t payload_bytes, uint16_t paths) {
  sim::SiteOptions options;
  options.policy = cw_policy_selective_repeat();
  options.stream.payload_bytes = payload_bytes;
  options.paths = paths;
  return options;
}

void give_packets(FrameWanOptions& options) { options.packets = 4096; }

TEST(DpdkSdr, a_thousand_messages_cross_unharmed_over_ipv4) {
  DpdkPair pair("192.0.2.1", "192.0.2.2", give_packets);
  expect_whole_transfer(*pair.a, *pair.b, site_options(1400, 1));
  EXPECT_EQ(pair.b->counters().rx_malformed, 0u);
}

TEST(DpdkSdr, a_thousand_messages_cross_unharmed_in_jumbo_frames_over_ipv6_and_three_paths) {
  DpdkPair pair("2001:db8::1", "2001:db8::2", [](FrameWanOptions& o) {
    give_packets(o);
    o.paths = 3;
  });
  expect_whole_transfer(*pair.a, *pair.b, site_options(8192, 3));
  EXPECT_EQ(pair.b->counters().rx_malformed, 0u);
}

TEST(DpdkSdr, what_a_bad_path_loses_doubles_and_reorders_is_mended) {
  DpdkPair pair("192.0.2.1", "192.0.2.2", give_packets);
  Impairment bad;
  bad.delay = 1_ms;
  bad.loss = 0.02;
  bad.duplicate = 0.02;
  bad.reorder = 0.02;
  bad.reorder_delay = 1_ms;
  ImpairedPort a(*pair.a, {.tx = bad, .seed = 7, .held_packets_max = 2048});
  expect_whole_transfer(a, *pair.b, site_options(1400, 1));
  EXPECT_GT(a.tx_counters(0).lost_total(), 50u);
}

}  // namespace
}  // namespace cw::test
