// The two gateways: their config files, their programs, and what they count.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/demo/options.h"
#include "tests/lab/sites.h"

namespace cw::demo {

/// Both gateways together, since their start.
struct GatewayCounts {
  uint64_t repaired = 0;                  ///< slots sent again, and slots rebuilt from repair
  uint64_t given_up = 0;                  ///< frames that never came
  std::map<std::string, uint64_t> drops;  ///< by reason, those that happened

  GatewayCounts since(const GatewayCounts& earlier) const;
};

/// Both gateways together, since their start.
struct Carried {
  uint64_t host_bytes = 0;  ///< of packets that hosts sent
  uint64_t wan_bytes = 0;   ///< of packets to the other gateway, whatever they are for
  uint64_t resends = 0;     ///< slots sent again
  uint64_t repairs = 0;     ///< slots sent as repair, before anybody asked

  Carried since(const Carried& earlier) const;
};

/// What a policy that follows the line has decided, as the gateway said it.
struct Adapted {
  std::chrono::system_clock::time_point at;
  std::string what;
};
/// Those that a daemon's log tells of, whose lines are JSON; other lines are passed over.
std::vector<Adapted> adapted_in(const std::string& log);

/// A pair of running gateways; ends with this object.
class Gateways {
 public:
  /// Writes the files, starts `program` with them and waits until the link is up. Throws what the
  /// programs say when it does not come up.
  Gateways(const lab::Sites& sites, const Options& options, const std::string& program);

  /// As their status files say; those are written once a second, and this waits for the next. When
  /// hosts are quiet, lest frames under way count as given up.
  GatewayCounts counts() const;
  /// Asked of both now.
  Carried carried() const;
  /// What site A's has decided so far; with --wander.
  std::vector<Adapted> adapted() const { return adapted_in(a_->err_so_far()); }
  /// Processor time of both since their start.
  std::chrono::nanoseconds processor_time() const;
  /// Has site A read its file again, with this policy in it.
  void order(const std::string& policy);
  /// Whether that is done at site A, over every link, and how long the slowest took.
  bool has_swapped(double& took_ms) const;
  /// What both have said, for who has waited in vain.
  std::string why_not(const std::string& policy) const;
  /// False when one of them has ended; what it said is then thrown by check().
  void check();

 private:
  void wait_for_link();
  std::vector<std::string> swaps_told() const;

  Options options_;
  size_t told_before_ = 0;  // swaps, before the latest order
  std::optional<lab::Program> a_, b_;
};

/// What the demo swaps to, in this order: the policy that it runs under comes last.
std::vector<std::string> swap_targets(const Options& options);

/// What is written for site A or B: for the tests of the demo, too.
std::string config_of(const lab::SiteAddresses& own, const lab::SiteAddresses& other,
                      const char* name, const char* other_name, const Options& options);

}  // namespace cw::demo
