// A whole site in one machine: an RDMA host, and the gateway in front of it, whose WAN port is the
// machine's RNIC. Soft-RoCE lives in a machine's first namespace only, so both are there, and the
// LAN between them goes around by another:
//
//   rx1 on h0, 10.50.1.2 ---- l0, 10.50.1.1 [lan] TUN device ---- causewayd ---- rx0 on eth0
//
// The host knows nothing of it: its default way to the other site is a router, 10.50.1.1.
#pragma once

#include <chrono>
#include <string>

#include "tests/lab/virtual_host.h"

namespace cw::lab {

/// `wan` is the address of the machine's RNIC, `router` what the host knows of the gateway.
struct MachineSite {
  const char *name, *wan, *router, *host, *prefix;
};
inline constexpr MachineSite machine_a{"a", site_a.host, "10.50.1.1", "10.50.1.2", "10.50.1.0/24"};
inline constexpr MachineSite machine_b{"b", site_b.host, "10.50.2.1", "10.50.2.2", "10.50.2.0/24"};

/// What a gateway is told of the line, and what it does about it.
struct MachineOrder {
  std::string rtt, rate;
  std::string classes;  ///< rows of its file
  uint32_t mtu;         ///< of the line and of the LAN
};

/// Thread: one.
class MachineGateway {
 public:
  /// Nothing runs yet; `machine` and `daemon`, a causewayd, outlive it.
  MachineGateway(VirtualHost& machine, bool is_a, const std::string& daemon)
      : machine_(machine), is_a_(is_a), daemon_(daemon) {}

  /// Lays the LAN where there is none, and starts the gateway; wait_up() tells what came of it.
  void start(const MachineOrder& order);
  /// Waits until its link is up; throws what it says when it does not come up.
  void wait_up(std::chrono::seconds most = std::chrono::seconds(60));
  /// Ends it; throws when it does not end well.
  void stop();

 private:
  std::string file(const MachineOrder& order) const;
  std::string lines(const MachineOrder& order) const;

  VirtualHost& machine_;
  bool is_a_;
  std::string daemon_;
  int script_ = -1;
};

}  // namespace cw::lab
