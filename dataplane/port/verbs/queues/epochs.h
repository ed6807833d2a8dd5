// The turn's part of the life of queues: which epochs there are, and what is to be handed to the
// keeper and taken back from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/port/verbs/keeper.h"
#include "dataplane/port/verbs/queues/outgoing.h"
#include "dataplane/port/verbs/queues/sender_index.h"

namespace cw::verbs {

/// Thread: the turn's.
class Epochs {
 public:
  /// `groups` may be null.
  Epochs(std::span<Epoch> epochs, std::span<ControlQueue> controls, GroupQueue* groups,
         SenderIndex& index, Outgoing& outgoing, Keeper& keeper)
      : epochs_(epochs),
        controls_(controls),
        groups_(groups),
        index_(index),
        outgoing_(outgoing),
        keeper_(keeper) {}

  // As the functions of WanPort that are called so.
  bool try_open(uint16_t peer, uint32_t first, std::span<uint32_t> numbers);
  bool try_connect(uint16_t peer, uint32_t first, std::span<const SendQueue> queues);
  void close(uint16_t peer, uint32_t first);

  /// Once per turn. `has_broken`: a queue has been found to be.
  void look_after(bool has_broken, Instant now);
  uint32_t count() const;
  uint64_t broken_count() const { return broken_; }

 private:
  Epoch* find(uint16_t peer, uint32_t first);
  void hand_over_broken(Epoch& epoch, Instant now);
  void take_back_mended(Epoch& epoch);
  void look_after_datagrams(Sender& sender, Instant now);
  void begin_closing(Epoch& epoch);
  void end(Epoch& epoch);
  bool is_stuck(const Sender& sender, Instant now) const;
  template <class Queue>
  bool try_hand_over(Queue& queue);

  std::span<Epoch> epochs_;
  std::span<ControlQueue> controls_;
  GroupQueue* groups_;
  SenderIndex& index_;
  Outgoing& outgoing_;
  Keeper& keeper_;
  Instant look_due_;
  uint64_t broken_ = 0;
};

}  // namespace cw::verbs
