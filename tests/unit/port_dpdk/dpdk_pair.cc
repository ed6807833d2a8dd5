#include "tests/unit/port_dpdk/dpdk_pair.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "dataplane/base/limits.h"

namespace cw::test {
namespace {
/// Ends the process of a death test, in which GoogleTest itself prints no failure.
[[noreturn]] void exit_with_failures() {
  const auto& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int part = 0; part < result.total_part_count(); ++part) {
    std::fprintf(stderr, "%s\n", result.GetTestPartResult(part).message());
  }
  std::exit(result.Failed());
}

}  // namespace

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

FrameWanOptions wan_options(const std::string& device, const std::string& own,
                            const std::string& peer) {
  FrameWanOptions options;
  options.device = device;
  options.address = own;
  options.peers = {{.address = peer}};
  options.descriptors = 256;
  options.packets = 512;
  options.crc32 = cw_crc32;
  return options;
}

std::unique_ptr<FrameWanPort> make_wan_port(const FrameWanOptions& options) {
  auto port = FrameWanPort::make(dpdk_driver(), options);
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
    const FrameWanStatus near = a->status(), far = b->status();
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

}  // namespace cw::test
