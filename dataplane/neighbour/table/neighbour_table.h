// The machines of a LAN, as many as memory was set aside for. Who is heard or wanted when its place
// is full takes that of the one heard longest ago. Pure: time is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/neighbour/neighbour.h"

namespace cw {

/// Thread: one. Cost: hot; a lookup reads one set of a few neighbours, nothing allocates.
class NeighbourTable {
 public:
  static constexpr size_t ways = 4;  ///< an address has so many places, wherever they are

  /// `count` is a power of two from `ways` on. `key` is secret, lest strangers choose whose places
  /// they share.
  NeighbourTable(size_t count, const uint64_t (&key)[2]);

  /// Null: not there. Until the next take().
  Neighbour* find(const HostAddress& ip) { return in(set_of(ip), ip); }
  /// The one of this address, made when it is not there. Until the next take().
  Neighbour& take(const HostAddress& ip);
  /// All of them may have moved: each is asked again before long.
  void doubt_all();

  size_t known_count() const;
  size_t size() const { return all_.size(); }

 private:
  Neighbour* set_of(const HostAddress& ip);
  static Neighbour* in(Neighbour* set, const HostAddress& ip);

  uint64_t key_[2];
  std::vector<Neighbour> all_;  // an address of zeros: free
};

}  // namespace cw
