// Gateways, and programs of the SDK, whose WAN is an RNIC: soft-RoCE of a virtual machine, 20 ms
// from the other end over a line that loses packets. Counts and bytes are compared, and no times.
//
// The machines are started once. They route plainly between them: what is a host elsewhere is a
// gateway here, and the end of its own TUN device stands for its hosts.
#pragma once

#include <chrono>
#include <string>

#include "control/json/json.h"
#include "tests/rdma/machine_gateway.h"
#include "tests/rdma/rdma_suite.h"

namespace cw::lab {

inline constexpr uint32_t wan_mtu = rnic_mtu(CW_LAB_MTU);

/// A gateway's file: `site` and `wan` are rows of these tables, `peer` more of the other's.
std::string rows_of(const Inside& own, const Inside& other, const std::string& site,
                    const std::string& wan, const std::string& peer = "");

/// Lines of bash that start a gateway over the machine's RNIC.
std::string start_gateway(const Inside& own, const Inside& other);
/// What they are followed by: waits until its link is up, or ends with status 9.
std::string wait_up();
/// These, then `then`; the gateway ends with it, whose status stays. Its status is printed last.
std::string with_gateway(const Inside& own, const Inside& other, const std::string& then);

/// Of the status that with_gateway() has left behind what its lines printed.
Json status_of(const Outcome& outcome);

class RnicWan : public RdmaSuite {
 protected:
  void SetUp() override {
    RdmaSuite::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    sites().set_line(line());
    sites().route_plainly();
  }
  virtual RdmaLine line() const { return {.loss = "1%", .rate = "100Mbit/s"}; }

  /// Of a gateway's status, that nothing was lost but by the line.
  static void expect_sound(const Json& status);
  /// And that no queue broke or starved, and that packets are as long as the machine's MTU allows.
  static void expect_sound_rnic(const Json& status);
};

}  // namespace cw::lab
