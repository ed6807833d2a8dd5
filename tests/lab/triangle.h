// Three sites around one wide area: seven network namespaces, seven machines. Or more of them.
//
//   host 1 -- gateway 1 ==.             .== gateway 3 -- host 3        LAN of site n: 10.n.0.0/24,
//   host 2 -- gateway 2 ==+-- switch ---'                              host .2, gateway .1
//                                                                      WAN: 192.0.2.n
// Each gateway's cable to the switch passes a causeway-wan of its own, so that the way between two
// sites has the impairments of both. Nothing is left behind (space.h).
#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include "tests/lab/space.h"

namespace cw::lab {

/// Thread: one. Sites are numbered from 1.
class Triangle {
 public:
  static constexpr int site_count = 3;

  /// `program` is causeway-wan, and `line` its options for each cable. Throws when a command fails
  /// or an emulator does not become ready. What `more` has of a site is its cable's besides.
  Triangle(const std::string& program, const Arguments& line, int sites = site_count,
           const std::map<int, Arguments>& more = {});

  const Space& host(int site) const { return hosts_[static_cast<size_t>(site - 1)]; }
  const Space& gateway(int site) const { return gateways_[static_cast<size_t>(site - 1)]; }
  static std::string host_address(int site) { return "10." + std::to_string(site) + ".0.2"; }
  /// In its LAN.
  static std::string gateway_address(int site) { return "10." + std::to_string(site) + ".0.1"; }
  static std::string prefix(int site) { return "10." + std::to_string(site) + ".0.0/24"; }
  static std::string wan_address(int site) { return "192.0.2." + std::to_string(site); }

 private:
  void add_site(int site) const;

  std::vector<Space> hosts_, gateways_;
  Space switch_;
  std::list<Program> lines_;
};

}  // namespace cw::lab
