// Workers on the hosts of a fabric, in virtual time: each turned when something has come for it or
// is due.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/core/turn/worker.h"
#include "dataplane/datagram/end/member_port.h"
#include "dataplane/port/sim/fabric/network.h"

namespace cw::group {

struct FabricShape {
  uint64_t seed = 1;
  uint16_t hosts = 8;
  Rate rate = Rate::from_gbps(100);  ///< of cables
  double share = 0.95;               ///< of it that members take
  Duration delay = Duration::from_us(1);
  uint32_t payload_bytes = 4096;
  uint32_t overhead_bytes = 0;  ///< of the layers below, on each packet
  std::vector<uint16_t> sites;  ///< by rank; empty: one
  /// Between sites, each way, if there are several: each has one switch then, and all are joined by
  /// one more.
  Duration far_delay;
  bool is_shuffled = false;  ///< ranks sit on hosts by chance, not in order
  uint16_t paths = 1;        ///< source ports by which switches choose
  /// So many hosts at a leaf, and as many spines as wished; 0: as topology_of() says.
  size_t leaf_hosts = 0, spines = 0;
  SwitchOptions switches;
};

/// Thread: one.
class FabricRunner {
 public:
  FabricRunner(const FabricShape& shape, Prng& prng);

  FabricNetwork& network() { return *network_; }
  const FabricNetwork& network() const { return *network_; }
  const std::vector<uint16_t>& hosts() const { return hosts_; }  ///< by rank
  /// What a member is there, whatever group it is of. Its random numbers are `prng`'s.
  MemberOptions member(uint16_t rank, Prng& prng) const;
  FabricPort& port(uint16_t rank) { return network_->port(hosts_[rank]); }
  Instant now() const { return network_->now(); }

  /// Who is turned at this rank from now on; it outlives this, or is replaced before it ends.
  void set_worker(uint16_t rank, Worker* worker);
  /// What this rank does is not done any more.
  void stop(uint16_t rank) { seats_[rank].is_stopped = true; }
  /// Something was posted, outside of a turn.
  void touch(uint16_t rank) { wake(rank, now()); }
  /// Until `is_over`, asked after each instant, or `limit` from now; returns whether it was over.
  bool run(Duration limit, const std::function<bool()>& is_over);

 private:
  struct Seat {
    Worker* worker = nullptr;
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
  void place_ranks(Prng& prng);

  FabricShape shape_;
  std::unique_ptr<FabricNetwork> network_;
  std::vector<uint16_t> hosts_, ranks_;  // by rank; by host
  std::vector<Seat> seats_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

}  // namespace cw::group
