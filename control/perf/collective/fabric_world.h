// Members of a group on a fabric, in virtual time: the real endpoints, turned when something has
// come for them or is due.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/collective/sdk/group_end.h"
#include "dataplane/port/sim/fabric/network.h"

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

  FabricNetwork& network() { return *network_; }
  const FabricNetwork& network() const { return *network_; }
  Group& group(size_t rank) { return members_[rank]->end.group(); }
  const Group& group(size_t rank) const { return members_[rank]->end.group(); }
  const Drops& drops(size_t rank) const { return members_[rank]->end.drops(); }
  const Counters& counters(size_t rank) const { return members_[rank]->end.counters(); }
  size_t members() const { return members_.size(); }
  uint16_t host_of(size_t rank) const { return hosts_[rank]; }
  /// Of several sites: the link by which all leaves one of them that goes to others.
  uint32_t long_line_from(uint16_t site) const;
  Instant now() const { return network_->now(); }

  /// What this member does is not done any more, until it is woken.
  void stop(size_t rank) { members_[rank]->is_stopped = true; }
  /// Another process takes its place, which knows nothing.
  void restart(uint16_t rank);
  /// Something was posted, outside of a turn.
  void touch(size_t rank) { wake(static_cast<uint16_t>(rank), now()); }
  /// Until `is_over`, asked after each instant, or `limit` from now; returns whether it was over.
  bool run(Duration limit, const std::function<bool()>& is_over);
  /// Until all are up.
  bool join(Duration limit = Duration::from_s(10));

 private:
  struct Member {
    Member(FabricPort& port, const GroupEndOptions& options) : end(port, options) {}
    GroupEnd end;
    Instant due = Instant::never();
    bool is_stopped = false;
  };
  struct Wake {
    Instant at;
    uint16_t rank;
    bool operator>(const Wake& other) const { return at > other.at; }
  };
  void wake(uint16_t rank, Instant at);
  void turn(uint16_t rank);
  void place_ranks();

  WorldOptions options_;
  Prng prng_;
  std::unique_ptr<FabricNetwork> network_;
  std::vector<uint16_t> hosts_, ranks_;  // by rank; by host
  std::vector<std::unique_ptr<Member>> members_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

}  // namespace cw::group
