#include "tests/unit/port_dpdk/dpdk_pair.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "dataplane/base/limits.h"
#include "dataplane/core/turn/clock.h"

namespace cw::test {
namespace {
using namespace literals;

constexpr Duration patience = 20_s;

void read_into(std::vector<Packet*>& all, Port& port, const std::function<bool()>& is_over) {
  std::array<Packet*, limits::burst_packets_max> burst;
  const Instant start = clock_now();
  while (!is_over() && clock_now() - start < patience) {
    const size_t got = port.rx_burst(burst, clock_now());
    all.insert(all.end(), burst.begin(), burst.begin() + static_cast<ptrdiff_t>(got));
    if (got == 0) usleep(100);
  }
}

/// Ends the process of a death test, in which GoogleTest itself prints no failure.
[[noreturn]] void exit_with_failures() {
  const auto& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int part = 0; part < result.total_part_count(); ++part) {
    std::fprintf(stderr, "%s\n", result.GetTestPartResult(part).message());
  }
  std::exit(result.Failed());
}

}  // namespace

Instant clock_now() {
  static const MonotonicClock clock;
  return clock.read();
}

EalChoice start_small_eal() {
  const auto started = start_eal({.memory_mib = 192});
  if (!started) throw std::runtime_error(started.error().sentence);
  return *started;
}

std::string own_path(const std::string& name) {
  return (std::filesystem::temp_directory_path() /
          ("causeway-test-" + std::to_string(getpid()) + "-" + name))
      .string();
}

DpdkWanOptions wan_options(const std::string& device, const std::string& own,
                           const std::string& peer) {
  DpdkWanOptions options;
  options.device = device;
  options.address = own;
  options.peers = {{.address = peer}};
  options.descriptors = 256;
  options.packets = 512;
  options.crc32 = cw_crc32;
  return options;
}

std::unique_ptr<DpdkWanPort> make_wan_port(const DpdkWanOptions& options) {
  auto port = DpdkWanPort::make(options);
  if (!port) throw std::runtime_error(port.error().sentence);
  return std::move(*port);
}

DpdkPair::DpdkPair(const std::string& a_ip, const std::string& b_ip, const Change& change) {
  start_small_eal();
  const std::string wire = ",bsize=9216,rsize=9,socket-abstract=no,socket=" + own_path("memif");
  auto a_options = wan_options("net_memif0,role=server" + wire, a_ip, b_ip);
  auto b_options = wan_options("net_memif1,role=client" + wire, b_ip, a_ip);
  change(a_options), change(b_options);
  a = make_wan_port(a_options);
  b = make_wan_port(b_options);
}

DpdkPair::~DpdkPair() { std::filesystem::remove(own_path("memif")); }

bool DpdkPair::meet(Duration most) {
  const Instant start = clock_now();
  Packet* none = nullptr;
  while (clock_now() - start < most) {
    a->rx_burst({&none, 1}, clock_now());
    b->rx_burst({&none, 1}, clock_now());
    const DpdkWanStatus near = a->status(), far = b->status();
    const bool is_joined = near.device.is_link_up && far.device.is_link_up;
    if (is_joined && near.unresolved.empty() && far.unresolved.empty()) return true;
    usleep(1000);
  }
  return false;
}

void expect_in_own_process(void (*test)()) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((test(), exit_with_failures()), testing::ExitedWithCode(0), "");
}

std::vector<Packet*> receive(Port& port, size_t count) {
  std::vector<Packet*> all;
  read_into(all, port, [&] { return all.size() >= count; });
  return all;
}

std::vector<Packet*> receive_until(Port& port, const std::function<bool()>& is_over) {
  std::vector<Packet*> all;
  read_into(all, port, is_over);
  return all;
}

}  // namespace cw::test
