// Members of a group on a fabric, in virtual time: the real endpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "control/perf/fabric/fabric_runner.h"
#include "dataplane/base/prng.h"
#include "dataplane/collective/sdk/group_end.h"

namespace cw::group {

struct WorldOptions {
  uint64_t seed = 1;
  uint16_t hosts = 8;
  Rate rate = Rate::from_gbps(100);  ///< of cables
  double share = 0.95;               ///< of it that groups take
  Duration delay = Duration::from_us(1);
  uint32_t payload_bytes = 4096;
  uint32_t overhead_bytes = 0;  ///< of the layers below, on each packet
  uint64_t bytes_max = 1 << 20, sum_bytes_max = 0;
  Algorithm algorithm = Algorithm::Multicast;
  uint32_t chains = 0;
  Duration deadline = Duration::from_s(30);
  std::vector<uint16_t> sites;
  /// Between sites, each way, if there are several: each has one switch then, and all are joined by
  /// one more.
  Duration far_delay;
  Duration recovery_worst;
  std::optional<uint16_t> deaf;  ///< a rank to whom nothing is multicast
  bool is_shuffled = false;      ///< ranks sit on hosts by chance, not in order
  /// What one member is told otherwise.
  std::function<void(uint16_t rank, GroupEndOptions& options)> alter;
};

/// Thread: one.
class FabricWorld {
 public:
  explicit FabricWorld(const WorldOptions& options);
  ~FabricWorld();

  FabricNetwork& network() { return runner_.network(); }
  const FabricNetwork& network() const { return runner_.network(); }
  Group& group(size_t rank) { return members_[rank]->group(); }
  const Group& group(size_t rank) const { return members_[rank]->group(); }
  const Drops& drops(size_t rank) const { return members_[rank]->drops(); }
  const Counters& counters(size_t rank) const { return members_[rank]->counters(); }
  size_t members() const { return members_.size(); }
  uint16_t host_of(size_t rank) const { return runner_.hosts()[rank]; }
  /// Of several sites: the link by which all leaves one of them that goes to others.
  uint32_t long_line_from(uint16_t site) const;
  Instant now() const { return runner_.now(); }

  /// What this member does is not done any more.
  void stop(size_t rank) { runner_.stop(static_cast<uint16_t>(rank)); }
  /// Another process takes its place, which knows nothing.
  void restart(uint16_t rank);
  /// Something was posted, outside of a turn.
  void touch(size_t rank) { runner_.touch(static_cast<uint16_t>(rank)); }
  /// As FabricRunner::run().
  bool run(Duration limit, const std::function<bool()>& is_over) {
    return runner_.run(limit, is_over);
  }
  /// Until all are up.
  bool join(Duration limit = Duration::from_s(10));

 private:
  WorldOptions options_;
  Prng prng_;
  FabricRunner runner_;
  std::vector<std::unique_ptr<GroupEnd>> members_;
};

}  // namespace cw::group
