// Two sites with members of a group at each, by way of two gateways and the long line between them.
//
//   members 10.1.0.11.. [host A] --- gateway A --- causeway-wan --- gateway B --- [host
//   B] 10.2.0.11..
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/json/json.h"
#include "tests/lab/gateway.h"
#include "tests/lab/multicast_routes.h"
#include "tests/lab/program.h"
#include "tests/lab/sites.h"

namespace cw::bench {

struct TwoSitesSetup {
  std::string classes;                      ///< of both gateways, TOML
  std::string rtt = "50ms", loss = "0.1%";  ///< of the long line; lost each way
  uint32_t members = 4;                     ///< of each site
};

/// Out of both gateways, on the long line, since they came up.
struct Crossed {
  double bytes = 0;              ///< on the wire, headers and control included
  double frames = 0;             ///< of hosts
  double data = 0, repairs = 0;  ///< slots of gateways
};

/// Thread: one.
class TwoSites {
 public:
  static constexpr const char* group = "239.1.2.3";

  /// Both gateways are up then. Throws what keeps them from it.
  explicit TwoSites(const TwoSitesSetup& setup);

  /// Of all members by rank, those of A first; between commas.
  const std::string& addresses() const { return addresses_; }
  uint32_t members() const { return 2 * setup_.members; }
  /// Of the long line, one way, as options have it.
  const std::string& delay() const { return delay_; }
  /// Starts a member's program; it ends by itself.
  std::unique_ptr<lab::Program> start(uint32_t rank, const lab::Arguments& arguments) const;
  Crossed crossed() const;
  /// Frames of hosts out of both gateways in this class.
  double sent_in_class(const std::string& name) const;

 private:
  std::string file_of(bool is_a) const;
  void add_members();

  TwoSitesSetup setup_;
  lab::Folder folder_;
  lab::Sites sites_;
  std::vector<std::unique_ptr<lab::Gateway>> gateways_;
  std::optional<lab::MulticastRoutes> near_, far_;
  std::string addresses_, delay_;
};

}  // namespace cw::bench
