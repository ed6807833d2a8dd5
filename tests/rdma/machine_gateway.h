// A whole site in one machine: an RDMA host, and the gateway in front of it, whose WAN port is the
// machine's RNIC. Soft-RoCE lives in a machine's first namespace only, so both are there, and the
// LAN between them goes around by another:
//
//   rx1 on h0, 10.50.1.2 ---- l0, 10.50.1.1 [lan] TUN device ---- causewayd ---- rx0 on eth0
//
// The host knows nothing of it: its default way to the other site is a router, 10.50.1.1.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "tests/lab/virtual_host.h"

namespace cw::lab {

/// A site whose gateway may be in a machine: `wan` is the gateway's address there, `lan` its own in
/// its LAN, and `host` the one behind it, where there is one.
struct Inside {
  const char *name, *wan, *lan, *prefix, *host = nullptr;
};
inline constexpr Inside inside_a{"a", site_a.host, "10.50.1.1", "10.50.1.0/24", "10.50.1.2"};
inline constexpr Inside inside_b{"b", site_b.host, "10.50.2.1", "10.50.2.0/24", "10.50.2.2"};

/// What is to stand in `a.key`, and in `b.key`: always the same.
std::string private_key_of(const Inside& own);

/// What a line of this MTU carries for an RNIC: its path MTU is the next power of two that fits, up
/// to 4096, and more is of no use.
constexpr uint32_t rnic_mtu(uint32_t mtu) { return std::min(mtu, 4200u); }

/// A gateway's file; its TUN device is `inside`. What crosses is sealed.
struct InsideFile {
  std::string rtt, rate;
  uint32_t mtu = 0;                       ///< of the line
  std::string site, lan, wan, peer = "";  ///< further rows of these tables
  std::string classes;                    ///< rows of its own

  std::string text(const Inside& own, const Inside& other) const;
};

/// Rows of the table wan: the machine's RNIC.
inline constexpr const char* rnic_rows = "port = \"verbs\"\ndevice = \"rx0\"\n";
/// Rows of the table site, and that of the API: what start_lines() expects.
inline constexpr const char* site_rows =
    "status = \"/tmp/status.json\"\n[api]\nfolder = \"/tmp/api\"\n";

/// Options of causeway-perf that say the same.
std::string rnic_options(const Inside& own, const Inside& other);

/// Lines of bash that start `daemon`, a causewayd, with this file in /tmp of a machine: gw.log has
/// what it says, gw.pid and $gateway its number, a.key and b.key both private keys.
std::string start_lines(const std::string& daemon, const std::string& file);

/// Thread: one.
class MachineGateway {
 public:
  /// Nothing runs yet; `machine` and `daemon`, a causewayd, outlive it.
  MachineGateway(VirtualHost& machine, bool is_a, const std::string& daemon)
      : machine_(machine), is_a_(is_a), daemon_(daemon) {}

  /// Lays the LAN where there is none, and starts the gateway; wait_up() tells what came of it.
  /// `order` has the rtt, the rate, the MTU and the classes.
  void start(InsideFile order);
  /// Waits until its link is up; throws what it says when it does not come up.
  void wait_up(std::chrono::seconds most = std::chrono::seconds(60));
  /// Ends it; throws when it does not end well.
  void stop();

 private:
  VirtualHost& machine_;
  bool is_a_;
  std::string daemon_;
  int script_ = -1;
};

}  // namespace cw::lab
