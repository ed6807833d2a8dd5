// One operation of a group at one member: what was posted, how far the members are with it, and
// what is still to be fetched. Plain state; group.h says who changes it.
//
//   Free -> Posted -> Open -> Done    what was posted is ready at all; slots move; all have all
//             \________\____> Failed
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"
#include "dataplane/collective/recovery/demand.h"
#include "dataplane/collective/recovery/watch.h"
#include "dataplane/datagram/landing.h"
#include "dataplane/wire/group/records.h"

namespace cw::group {

/// How what all come to have spreads. All but the first are what there is without multicast, and
/// what it is measured against.
enum class Algorithm : uint8_t {
  Multicast,
  Unicast,  ///< a tree for a Broadcast of 64 KiB at most, else what Ring is
  Ring,     ///< each to the next rank; a Broadcast ends at the last one, which is a chain
  Tree,     ///< binomial, of a Broadcast; an Allgather by the ring
};
/// By value, as people write them and SPEC.md 18.5 has them.
inline constexpr std::array<const char*, 4> algorithm_names = {"multicast", "unicast", "ring",
                                                               "tree"};
constexpr const char* name_of(Algorithm algorithm) {
  return algorithm_names[static_cast<size_t>(algorithm)];
}

/// What all members post alike, but for the memory.
struct Posting {
  Operation operation = Operation::Broadcast;
  uint16_t root = 0;                         ///< of a Broadcast
  ElementType element = ElementType::Bytes;  ///< of what is added up
  /// Of one source. 0: nothing is sent, and all wait for each other.
  uint64_t bytes = 0;
  /// Where what all come to have lies, the caller's until the operation is over: the bytes of a
  /// Broadcast, or the parts of an Allgather by rank, of which the own one is there already. Over
  /// an RNIC it is registered before (WanPort::register_memory), or each slot is copied.
  uint8_t* memory = nullptr;
  /// Of a Reduce-Scatter: what we have for each rank, a part behind the other; and where the sum of
  /// what all have for us comes to lie. Likewise the caller's.
  const uint8_t* input = nullptr;
  uint8_t* output = nullptr;

  /// Parts come to lie in `memory`.
  bool has_landing() const { return bytes > 0 && operation != Operation::ReduceScatter; }
  bool is_added_up() const {
    return bytes > 0 && (operation == Operation::ReduceScatter || operation == Operation::Pair);
  }
};

enum class Stage : uint8_t { Free, Posted, Open, Done, Failed };

/// Records that are said again until they are answered.
struct Repeat {
  Instant due = Instant::never();
  Instant first;
  Duration interval;
  uint32_t tries = 0;

  bool has_begun() const { return interval != Duration(); }
  void begin(Duration start, Instant at) { *this = {at, at, start, 0}; }
  void end() { due = Instant::never(); }
  void again(Duration most, Instant now) {
    ++tries;
    due = now + interval;
    interval = std::min(interval * 2, most);
  }
};

/// Slots that one member has been asked for.
struct Ask {
  static constexpr size_t runs_max = limits::group_runs_max;

  bool is_open = false, is_answered = false;
  uint16_t to = 0;
  uint32_t tries = 0;
  uint32_t in_vain = 0;  // of them, the last ones
  uint32_t slots = 0;
  Instant first, sent, due;
  size_t run_count = 0;
  std::array<Run, runs_max> runs;

  bool has(uint32_t slot) const {
    return std::any_of(runs.begin(), runs.begin() + run_count, [slot](const Run& run) {
      return slot - run.first.host() < run.count.host();
    });
  }
  uint32_t last_slot() const {
    const Run& last = runs[run_count - 1];
    return last.first.host() + last.count.host() - 1;
  }
};

/// What a member lacks that it was asked for.
struct Lack {
  uint16_t to = 0;
  bool is_open = false;
  size_t run_count = 0;
  std::array<Run, Ask::runs_max> runs;
};

struct OperationState {
  static constexpr size_t children_max = 16;  // of a leader: in its site, and leaders

  OperationState(uint32_t slots_max, uint16_t members, uint32_t chains_max)
      : forwarded(slots_max), asked(slots_max), ended(members), watches(chains_max) {}

  Stage stage = Stage::Free;
  Posting posting;
  Step step;
  Instant posted, opened;
  std::string failure;

  /// READY of a step that is not posted here yet. By place among the children.
  struct Early {
    Ready ready;
    bool is_there = false;
  };
  std::array<Early, children_max> early{};

  // Adding up. By place among the children.
  std::array<uint32_t, children_max> ready{}, done{};  // members, itself included; 0: not yet
  std::array<Repeat, children_max> probes;
  Repeat up;                  // READY, then DONE
  bool is_here = false;       // all that it brings has come
  bool is_heard = false;      // something multicast has
  uint32_t fetched = 0;       // slots, here
  uint32_t fetched_all = 0;   // and below
  uint16_t fetched_most = 0;  // by the one that fetched most, in thousandths of the slots
  uint16_t fetched_most_rank = 0;

  // The fast path.
  uint32_t next = 0;  // of our part: to be handed to the line
  bool is_turn = false, is_sent = false;
  bool is_line_ours = false;        // of a pair: no more is multicast
  uint32_t wanted = 1, chains = 1;  // at least as many as are wanted
  Duration part_time;               // of one source on its chain
  Duration slot_time;               // likewise

  // Where nothing is multicast: slots that those behind us have been sent, and the first that they
  // may not.
  SlotBits forwarded;
  uint32_t forward_next = 0;

  // Fetching.
  SlotBits asked;
  std::vector<Instant> ended;  // by part: when its end was heard, or its successor; zero: not
  std::vector<Watch> watches;  // by chain
  std::array<Ask, 8> asks;
  std::array<Lack, 8> lacks;
  Demand demand;
  Instant fetch_due = Instant::never();
};

}  // namespace cw::group
