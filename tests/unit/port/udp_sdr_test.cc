// Two whole ends of a link, worker to worker, over UDP sockets of this machine and in real time.
#include <gtest/gtest.h>

#include "dataplane/core/clock.h"
#include "tests/sim/sdr/transfer.h"
#include "tests/unit/port/udp_pair.h"

namespace cw::test {
namespace {
using namespace literals;

void expect_whole_transfer(UdpPair& pair, const sim::SiteOptions& options) {
  const MonotonicClock clock;
  const Instant start = clock.read();
  sim::SiteOptions b_options = options;
  b_options.seed = options.seed + 1;
  sim::Site a(*pair.a, 0, options, start), b(*pair.b, 0, b_options, start);
  const auto sizes = [](uint64_t i) { return i * 7919 % 40000; };
  sim::Transfer transfer(a, b, {.messages = 1000, .bytes_of = sizes, .in_flight = 8});
  while (!transfer.is_done() && clock.read() - start < 100_s) {
    a.turn(clock.read());
    b.turn(clock.read());
    transfer.turn(clock.read());
  }
  EXPECT_TRUE(transfer.is_done()) << a.peer().link().why();
  EXPECT_EQ(transfer.whole_count(), 1000u);
  EXPECT_GT(transfer.bytes_checked(), 19'000'000u);
  EXPECT_EQ(transfer.no_wrong_byte().final_verdict(), std::nullopt);
  EXPECT_EQ(transfer.exactly_once().final_verdict(), std::nullopt);
  EXPECT_EQ(pair.b->counters().rx_malformed, 0u);
}

sim::SiteOptions site_options(uint32_t payload_bytes, uint16_t paths) {
  sim::SiteOptions options;
  options.policy = cw_policy_selective_repeat();
  options.stream.payload_bytes = payload_bytes;
  options.paths = paths;
  return options;
}

TEST(UdpSdr, a_thousand_messages_cross_unharmed_over_ipv4) {
  UdpPair pair("127.0.0.1");
  expect_whole_transfer(pair, site_options(1400, 1));
}

TEST(UdpSdr, a_thousand_messages_cross_unharmed_over_ipv6_and_three_paths) {
  UdpPair pair("::1", [](UdpPortOptions& o) { o.paths = 3; });
  expect_whole_transfer(pair, site_options(4096, 3));
}

}  // namespace
}  // namespace cw::test
