#include "tests/unit/port/live_transfer.h"

#include <gtest/gtest.h>

#include "dataplane/core/turn/clock.h"
#include "tests/sim/sdr/transfer.h"

namespace cw::test {

using namespace literals;

void expect_whole_transfer(Port& a_port, Port& b_port, const sim::SiteOptions& options) {
  const MonotonicClock clock;
  const Instant start = clock.read();
  sim::SiteOptions a_options = options;
  a_options.in_real_time = true;
  sim::SiteOptions b_options = a_options;
  b_options.seed = options.seed + 1;
  sim::Site a(a_port, 0, a_options, start), b(b_port, 0, b_options, start);
  const auto sizes = [](uint64_t i) { return i * 7919 % 40000; };
  sim::Transfer transfer(a, b, {.messages = 1000, .bytes_of = sizes, .in_flight = 8});
  while (!transfer.is_done() && clock.read() - start < 100_s) {
    a.turn(clock.read());
    b.turn(clock.read());
    transfer.turn(clock.read());
  }
  EXPECT_TRUE(transfer.is_done()) << a.link().why();
  EXPECT_EQ(transfer.whole_count(), 1000u);
  EXPECT_GT(transfer.bytes_checked(), 19'000'000u);
  EXPECT_EQ(transfer.no_wrong_byte().final_verdict(), std::nullopt);
  EXPECT_EQ(transfer.exactly_once().final_verdict(), std::nullopt);
}

}  // namespace cw::test
