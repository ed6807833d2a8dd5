// The queues in front of links: who is admitted, who is marked, and when the last bit of each has
// left. A line of constant rate fixes all that when a packet comes, so nothing has to happen when
// it leaves; what it has taken of the buffer is given back when somebody next asks.
//
// What is exact: a queue counts a packet from its coming until its last bit has left (or the first,
// SwitchOptions::counts_sending), both to the nanosecond; who leaves at an instant makes room for
// who comes at it. Fractions of nanoseconds that a line takes are not lost: they add up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/memory/table.h"
#include "dataplane/base/units.h"
#include "dataplane/port/sim/fabric/way/topology.h"

namespace cw {

/// Counts since start; each only grows. They count when a packet comes to the queue.
struct FabricLinkCounters {
  uint64_t packets = 0;  ///< admitted, which have crossed the link but for those its model lost
  uint64_t bytes = 0;    ///< of these, on the wire
  uint64_t drops = 0;    ///< found no room
  uint64_t marks = 0;    ///< admitted with a congestion mark
  uint64_t queue_bytes_max = 0;
};

/// A packet that comes to a queue.
struct FabricComing {
  uint32_t bytes = 0;  ///< not 0
  bool takes_marks = false;
  Instant now;   ///< never goes back
  Instant from;  ///< its first bit leaves no sooner
};

/// What becomes of it.
struct FabricPassage {
  bool is_admitted = false;
  bool is_marked = false;
  Instant departs;  ///< when its last bit has left
};

/// The queues of all links of a fabric, by the links' numbers. Thread: one. Nothing allocates once
/// it is made. Memory: 80 bytes for each link and 32 for each of `packets_max`.
class FabricQueues {
 public:
  /// `packets_max` are in all queues together at most. NICs hold `nic_queue`.
  FabricQueues(const Topology& topology, size_t packets_max, Bytes nic_queue);
  ~FabricQueues();

  /// Cost: hot, constant in the long run; with a shared buffer logarithmic in its ports.
  FabricPassage admit(uint32_t link, const FabricComing& packet);
  /// Whether one of so many bytes would be admitted.
  bool has_room(uint32_t link, uint32_t bytes, Instant now);
  /// When the queue next gets shorter; never: it is empty.
  Instant next_leaving(uint32_t link) const;
  Duration delay_of(uint32_t link) const { return kinds_[links_[link].kind].cable.delay; }
  FabricLinkCounters counters_of(uint32_t link) const;

  /// Calls into the cache what admit() will touch: first the link, later what it leads to.
  void prefetch(uint32_t link) const { __builtin_prefetch(&links_[link], 1); }
  void prefetch_more(uint32_t link) const {
    if (links_[link].first == none) return;
    __builtin_prefetch(&stays_[links_[link].first], 1);
    __builtin_prefetch(&stays_[links_[link].last], 1);
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr uint16_t unshared = UINT16_MAX;

  /// What every packet touches, in one cache line.
  struct alignas(64) Link {
    Instant free_at;                     // when all that were admitted have left, rounded down
    uint64_t remainder = 0;              // of free_at, below 1 ns, times the rate
    uint64_t queue_bytes = 0;            // of those that had not left when it was last looked at
    uint32_t first = none, last = none;  // their stays
    uint16_t kind = 0;
    uint16_t buffer = unshared;
    bool is_in_heap = false;                               // of that buffer
    uint64_t packets = 0, bytes = 0, queue_bytes_max = 0;  // as FabricLinkCounters has them
  };
  static_assert(sizeof(Link) == 64);

  struct Rare {
    uint64_t drops = 0, marks = 0;
  };
  struct Stay {  // of a packet in a queue
    Instant until;
    uint32_t bytes = 0;
    uint32_t next = none;
  };
  struct Time {  // that a packet takes of a line
    uint32_t bytes = 0;
    Duration whole;
    uint64_t rest = 0;  // below 1 ns, times the rate
  };
  struct Kind {  // what many links have alike
    CableOptions cable;
    uint64_t limit = UINT64_MAX, mark_above = UINT64_MAX;
    bool counts_sending = true;
    std::array<Time, 8> times{};  // of sizes seen last: a division costs more than all else here
  };
  struct Buffer;

  void add_port(const Topology& topology, uint32_t link, Kind kind, uint16_t buffer);
  static Instant send(Link& link, Kind& kind, uint32_t bytes, Instant from);
  void hold(Link& link, uint32_t bytes, Instant until, Instant now);
  void release(Link& link, Instant now);
  void release_all(Buffer& buffer, Instant now);

  std::vector<Link> links_;
  std::vector<Rare> rare_;
  std::vector<Kind> kinds_;
  std::vector<Buffer> buffers_;
  Table<Stay> stays_;
  uint32_t first_free_ = 0;
};

}  // namespace cw
