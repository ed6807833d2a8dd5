// What a site takes, counted byte by byte as it is made from a plan, over real sockets.
#include <gtest/gtest.h>

#include <string>

#include "dataplane/port/sim/network.h"
#include "dataplane/port/udp/udp_port.h"
#include "tests/sim/checkers/heap_watch.h"
#include "tests/sim/gateway/site_seat.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {
using namespace literals;

std::string file_of(int peers, const std::string& classes = {}) {
  std::string file =
      "[site]\nname = 'centre'\nmemory = '64 GiB'\n[wan]\nrate = '500 Mbit/s'\n"
      "address = '127.0.0.1'\n[pair]\nkey_file = 'key'\nrtt = '25 ms'\nrate = '500 Mbit/s'\n";
  for (int i = 1; i <= peers; ++i) {
    const std::string n = std::to_string(i);
    file += "[[peer]]\nname = 'site " + n + "'\naddress = '127.0.1." + n + "'\nroutes = ['10." + n +
            ".0.0/16']\n";
  }
  return file + classes;
}

/// Without the LAN port, which is no peer's.
uint64_t bytes_of(const std::string& file, Bytes* said = nullptr) {
  SimNetwork network({.port_packets = 64, .payload_max = limits::frame_bytes_max});
  SimPort& lan = network.add_port();
  Prng prng(1);
  const int64_t before = HeapWatch::live_bytes();
  site::Plan plan = plan_of(file);
  if (said != nullptr) *said = plan.memory;
  plan.wan.udp_port = 14'791;
  auto wan = UdpPort::make(plan.wan);
  EXPECT_TRUE(wan) << wan.error().sentence;
  auto site = site::Site::make(std::move(plan), {.lan = std::make_unique<PortAround>(lan),
                                                 .wan = std::move(*wan),
                                                 .now = network.now(),
                                                 .random = sdr::RandomSource::of(prng)});
  EXPECT_TRUE(site) << site.error().sentence;
  return static_cast<uint64_t>(HeapWatch::live_bytes() - before);
}

// Peers have small tables of their own: rings of their pacers and policies, buckets of flows.
TEST(SiteMemory, follows_from_the_rate_and_hardly_from_the_number_of_peers) {
  constexpr uint64_t own_bytes_max = 7 << 20;
  Bytes said_of_one, said_of_many;
  const uint64_t one = bytes_of(file_of(1), &said_of_one);
  const uint64_t many = bytes_of(file_of(64), &said_of_many);
  EXPECT_LE(many, 2 * one + 63 * own_bytes_max);
  EXPECT_LE(said_of_many.count(), 2 * said_of_one.count());
}

}  // namespace
}  // namespace cw::sim
