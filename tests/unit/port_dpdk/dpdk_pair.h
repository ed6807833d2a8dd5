// Two WAN ports over DPDK that are each other's peer, joined by a memif inside this process, and
// packets for them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/port/dpdk/dpdk_driver.h"
#include "dataplane/port/dpdk/eal/eal.h"
#include "dataplane/port/frame/frame_wan_port.h"
#include "offload/crc32.h"
#include "tests/unit/port/made_packet.h"
#include "tests/unit/port/polling.h"

namespace cw::test {

/// Starts the EAL of this process, small; throws what is wrong.
EalChoice start_small_eal();

/// A path in the temporary folder that no other process uses.
std::string own_path(const std::string& name);

FrameWanOptions wan_options(const std::string& device, const std::string& own,
                            const std::string& peer);
std::unique_ptr<FrameWanPort> make_wan_port(const FrameWanOptions& options);

struct DpdkPair {
  using Change = std::function<void(FrameWanOptions&)>;
  explicit DpdkPair(
      const std::string& a_ip = "192.0.2.1", const std::string& b_ip = "192.0.2.2",
      const Change& change = [](auto&) {});

  ~DpdkPair();

  /// Turns both until the link is up and the next hops are known, or time is over.
  bool meet(Duration most = Duration::from_s(20));

  std::unique_ptr<FrameWanPort> a, b;
};

/// For what a process can have only once, such as a start of the EAL.
void expect_in_own_process(void (*test)());

}  // namespace cw::test
