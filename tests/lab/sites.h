// Two sites and the long haul between them: five network namespaces, five machines.
//
//   host A ------------ gateway A ------------ the wide area ------------ gateway B -----------
//   host B [va .2]   LAN A   [la .1] [wa .1]      [ma]  causeway-wan  [mb]    [wb .2] [lb .1]  LAN
//   B  [vb .2]
//          10.1.0.0/24         192.0.2.0/24                     192.0.2.0/24        10.2.0.0/24
//          fd00:1::/64         fd00:9::/64                      fd00:9::/64         fd00:2::/64
//
// The hosts send everything to their gateway. What the gateways' kernels do with it is the user's
// choice: route it plainly, or hand it to a program of ours behind a TUN device. A third address in
// each LAN (.3) can be routed plainly beside the gateways' programs, for comparison.
//
// Nothing is left behind: the namespaces have no names and end with this process (space.h).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "tests/lab/space.h"

namespace cw::lab {

enum class At { HostA, GatewayA, Between, GatewayB, HostB };

struct SitesOptions {
  uint32_t lan_mtu = 1500, wan_mtu = 1500;
  /// Of the LAN cables: whether hosts hand whole trains of segments to their gateway, as on most
  /// machines. Off: frame by frame.
  bool lan_offloads = true;
};

/// Addresses of one site, in both families.
struct SiteAddresses {
  const char *gateway, *host, *beside, *prefix;
  const char *gateway_v6, *host_v6, *beside_v6, *prefix_v6;
  const char *wan, *wan_v6;
  const char *wan_interface, *lan_interface;
};
inline constexpr SiteAddresses site_a{"10.1.0.1",  "10.1.0.2",  "10.1.0.3",  "10.1.0.0/24",
                                      "fd00:1::1", "fd00:1::2", "fd00:1::3", "fd00:1::/64",
                                      "192.0.2.1", "fd00:9::1", "wa",        "la"};
inline constexpr SiteAddresses site_b{"10.2.0.1",  "10.2.0.2",  "10.2.0.3",  "10.2.0.0/24",
                                      "fd00:2::1", "fd00:2::2", "fd00:2::3", "fd00:2::/64",
                                      "192.0.2.2", "fd00:9::2", "wb",        "lb"};

/// Thread: one.
class Sites {
 public:
  /// Throws when a command fails.
  explicit Sites(const SitesOptions& options);

  const Space& space(At place) const { return spaces_[static_cast<size_t>(place)]; }
  int namespace_of(At place) const { return space(place).fd(); }

  /// Site A's cable to its host is gone, with the interfaces at both its ends; another is there.
  void take_lan_away() const;
  void bring_lan_back() const;

  /// The gateways' kernels route between the LANs, over the bare link.
  void route_plainly() const;
  /// They no longer do.
  void unroute() const;
  /// The same for the addresses beside, whatever else is routed how.
  void route_beside() const;

  /// Starts causeway-wan between the gateways: `program`, and options as on its command line.
  /// Throws when it does not become ready.
  void join(const std::string& program, const Arguments& options);
  /// The emulator; there must be one.
  Program& emulator() { return *emulator_; }
  /// Ends the emulator and returns its report, as it printed it.
  std::string part();

 private:
  std::array<Space, 5> spaces_;
  std::optional<Program> emulator_;
};

}  // namespace cw::lab
