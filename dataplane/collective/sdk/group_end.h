// What a process has of a group: the member behind its port, what it counts, and the worker that
// gives it turns. The one way to put a group on a port, real or simulated.
//
//     GroupEnd end(port, options);
//     while (...) end.turn(clock.read());
#pragma once

#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/collective/group.h"
#include "dataplane/core/turn/worker.h"
#include "dataplane/datagram/end/member_port.h"

namespace cw::group {

struct GroupEndOptions : MemberOptions {
  uint64_t bytes_max = 0;      ///< of the memory that one operation fills
  uint64_t sum_bytes_max = 0;  ///< of a part that is added up
  Algorithm algorithm = Algorithm::Multicast;
  uint32_t chains = 0;
  Duration deadline = Duration::from_s(30);
  Duration recovery_worst;  ///< of the gateways between sites
};

/// Thread: one. Nothing allocates after it is made, save the sentence of a failure.
class GroupEnd {
 public:
  /// `port` outlives it; random's state too.
  GroupEnd(AnyWanPort port, const GroupEndOptions& options);
  GroupEnd(const GroupEnd&) = delete;
  GroupEnd& operator=(const GroupEnd&) = delete;

  Group& group() { return group_; }
  const Group& group() const { return group_; }
  WanPort& port() { return member_.port(); }
  const WanPort& port() const { return member_.port(); }
  Worker& worker() { return worker_; }
  const Counters& counters() const { return member_.counters(); }
  const Drops& drops() const { return member_.drops(); }
  bool turn(Instant now) { return worker_.turn(now); }

 private:
  MemberPort member_;
  Group group_;
  Worker worker_;  // goes first: it gives packets back
};

}  // namespace cw::group
