// Two real RDMA hosts, each in a virtual machine, and what lies between them: nothing but the bad
// line, or a gateway at each site. Made inside an enclosure (tests/lab/enclosure.h), where its
// files are.
#pragma once

#include <optional>
#include <string>

#include "tests/lab/enclosure.h"
#include "tests/lab/gateway.h"
#include "tests/lab/sites.h"
#include "tests/lab/virtual_host.h"
#include "tests/rdma/machine_gateway.h"

namespace cw::lab {

struct RdmaLine {
  std::string rtt = "20ms", loss = "0%", rate = "500Mbit/s";
  std::string burst;  ///< "N": the loss comes in bursts of N packets on average
  Arguments more;     ///< further options of causeway-wan
};

/// Of the hosts' QPs as RdmaSites' gateways are told: perftest's `-u 18`.
inline constexpr const char* rdma_host_timeout = "1.07 s";

/// Rows of a gateway's file: a class for RC, whose hosts wait for rdma_host_timeout, and one for
/// all else; both have `policy`, and room for packets while the machine is busy.
std::string rdma_classes(const std::string& policy);

struct RdmaPrograms {
  std::string emulator, daemon, guest;  ///< causeway-wan, causewayd; make_guest's folder
};

/// What this machine lacks for virtual hosts that start from `guest`, and how to get it; empty when
/// nothing.
std::string rdma_obstacle(const std::string& guest);

/// Thread: one.
class RdmaSites {
 public:
  /// Starts the machines; wait_ready() tells when they are up. `mtu` is of LAN and WAN.
  RdmaSites(const RdmaPrograms& programs, uint32_t mtu);
  void wait_ready();

  VirtualHost& host_a() { return a_host_; }
  VirtualHost& host_b() { return b_host_; }
  Gateway& gateway_a() { return a_; }
  Gateway& gateway_b() { return b_; }
  const Sites& sites() const { return sites_; }

  /// The line from now on; whoever is between the hosts stays there.
  void set_line(const RdmaLine& line);
  /// The gateways' kernels route; nobody repairs anything.
  void route_plainly();
  /// The gateways' kernels join the LANs into one, the line in its middle.
  void bridge();
  /// Gateways of ours, whose policy for everything is `policy`; fresh ones.
  void route_by_gateways(const std::string& policy, const RdmaLine& line);
  /// The same with a file's other keys; its MTUs and what it says of the line do not count.
  void route_by_gateways(GatewayFile file, const RdmaLine& line);
  /// By gateways in the hosts' own machines, whose WAN ports are RNICs: hosts are other ones then.
  void route_by_rnics(const std::string& policy, const RdmaLine& line);

  /// The hosts' RDMA device, and where A finds B.
  const char* device() const { return route_ == Route::Rnics ? "rx1" : "rx0"; }
  const char* address_of_b() const { return route_ == Route::Rnics ? inside_b.host : site_b.host; }

 private:
  void unroute();

  enum class Route { None, Plain, Bridged, Gateways, Rnics };
  RdmaPrograms programs_;
  uint32_t mtu_;
  Sites sites_;
  Folder folder_{enclosure_folder};
  Gateway a_, b_;
  VirtualHost a_host_, b_host_;
  MachineGateway a_rnic_, b_rnic_;
  Route route_ = Route::None;
  bool has_line_ = false;
};

}  // namespace cw::lab
