// The machines of a LAN as its router knows them: which addresses are ours, whose MAC is whose, and
// who is to be asked for now. Pure: time is an argument, and who has the wire asks and answers.
//
// Whose MAC a packet leaves for is learned from what hosts send, and asked for on the prefixes of
// our own addresses. Where a kernel sees the same frames, it answers for us, it may be asked for
// anybody, and what is behind a router is not learned from those who pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"
#include "dataplane/neighbour/neighbour_message.h"
#include "dataplane/neighbour/table/neighbour_table.h"

namespace cw {

/// An address of ours, and how many of its bits all hosts on the wire have alike.
struct LanAddress {
  HostAddress ip;
  uint8_t bits = 0;

  bool is_on_link(const HostAddress& host) const;
};

/// Thread: one. Nothing allocates after it is made.
class LanNeighbours {
 public:
  /// At most so many questions between two calls of allow_questions().
  static constexpr uint32_t questions_max = limits::questions_per_second_max / 10;

  /// `key` is the table's.
  LanNeighbours(std::vector<LanAddress> own, const uint64_t (&key)[2]);
  /// A kernel sees the frames; `local` are all addresses that it takes packets for.
  void join_kernel(std::vector<HostAddress> local);

  /// Whether packets for it are for this machine.
  bool is_local(const HostAddress& host) const;
  /// The address of ours whose prefix the host lies in; null: it is behind a router.
  const LanAddress* link_to(const HostAddress& host) const;

  struct Learned {
    Neighbour* neighbour = nullptr;  ///< null: nothing is learned from this host's
    bool is_news = false;
  };
  /// By a packet that is passing.
  Learned learn(const HostAddress& host, const MacAddress& mac, Instant now);
  /// What is known of a host, that somebody else may learn it. Null: nothing.
  const Neighbour* find(const HostAddress& host) { return table_.find(host); }
  /// Takes note of who speaks. True: it is a question that is ours to answer.
  bool hear(const NeighbourMessage& message, Instant now);

  struct Hop {
    Neighbour* neighbour = nullptr;   ///< null: nothing is known of it
    bool can_be_asked_for = false;    ///< if not, it is behind a router nobody has heard of
    bool is_to_be_asked_for = false;  ///< now; taken as done
  };
  /// Whom packets for `target` are handed to. Until the next call.
  Hop hop_to(const HostAddress& target, Instant now);

  /// Ten times a second; of several that ask on one wire each has its part.
  void allow_questions(uint32_t askers = 1) {
    questions_left_ = std::max(questions_max / askers, 1u);
  }
  /// The cable may lead elsewhere now: everybody is asked again before long.
  void doubt_all() { table_.doubt_all(); }
  size_t known_count() const { return table_.known_count(); }

 private:
  std::vector<LanAddress> own_;
  std::vector<HostAddress> local_;
  bool has_kernel_ = false;
  uint32_t questions_left_ = 0;
  NeighbourTable table_;
};

}  // namespace cw
