// Two whole ends of a link, worker to worker, over UDP sockets of this machine and in real time.
#include <gtest/gtest.h>

#include "tests/unit/port/live_transfer.h"
#include "tests/unit/port/udp_pair.h"

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

TEST(UdpSdr, a_thousand_messages_cross_unharmed_over_ipv4) {
  UdpPair pair("127.0.0.1");
  expect_whole_transfer(*pair.a, *pair.b, site_options(1400, 1));
  EXPECT_EQ(pair.b->counters().rx_malformed, 0u);
}

TEST(UdpSdr, a_thousand_messages_cross_unharmed_over_ipv6_and_three_paths) {
  UdpPair pair("::1", [](UdpPortOptions& o) { o.paths = 3; });
  expect_whole_transfer(*pair.a, *pair.b, site_options(4096, 3));
  EXPECT_EQ(pair.b->counters().rx_malformed, 0u);
}

}  // namespace
}  // namespace cw::test
