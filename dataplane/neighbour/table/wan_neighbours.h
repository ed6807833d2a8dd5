// Whom a WAN port hands the packets for its peers to: a router or the peer itself, of which several
// peers may have one in common, and whose MAC is asked for until it answers (neighbour.h). Pure:
// what is heard goes in, whom to ask comes out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/neighbour/neighbour.h"
#include "dataplane/neighbour/neighbour_message.h"

namespace cw {

/// `text` is a MAC, which is never asked for, a router's IP, or empty: the peer itself.
Result<Neighbour> parse_next_hop(const std::string& text, const HostAddress& peer);

/// Thread: one. Nothing allocates once all peers are there.
class WanNeighbours {
 public:
  explicit WanNeighbours(const HostAddress& own) : own_(own) {}

  /// Of the peer that follows those before.
  void add_peer(const Neighbour& hop);
  const Neighbour& hop_of(size_t peer) const { return hops_[hop_of_peer_[peer]]; }

  /// Takes what a message says of its sender. True: it asks for us.
  bool hear(const NeighbourMessage& message, Instant now);
  /// The cable may lead elsewhere now: everybody is asked again.
  void doubt_all();
  /// Whom it is time to ask, one by one; taken as done. Null: nobody more.
  Neighbour* next_to_ask(Instant now);

  /// The addresses of those who have not answered yet.
  std::vector<std::string> unresolved() const;

 private:
  HostAddress own_;
  std::vector<Neighbour> hops_;
  std::vector<size_t> hop_of_peer_;
};

}  // namespace cw
