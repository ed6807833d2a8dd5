// What leaves: rows of work requests to one queue each, and what becomes of them. A row is posted
// with one call; the completion of its last request releases all of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/port/verbs/device/memory.h"
#include "dataplane/port/verbs/groups/group_queue.h"
#include "dataplane/port/verbs/groups/multicast.h"
#include "dataplane/port/verbs/packet_store.h"
#include "dataplane/port/verbs/peers.h"
#include "dataplane/port/verbs/queues/control_queue.h"
#include "dataplane/port/verbs/queues/epoch.h"
#include "dataplane/port/verbs/queues/sender_index.h"
#include "dataplane/wan.h"

namespace cw::verbs {

struct OutgoingCounts {
  uint64_t packets = 0, bytes = 0;
  uint64_t posts = 0;  ///< rows
  uint64_t completions = 0;
  uint64_t refused = 0;       ///< as often as a queue had no room
  uint64_t unresolved = 0;    ///< control packets to whom no way is known
  uint64_t lost = 0;          ///< to queues that are not, or are broken
  uint64_t copied = 0;        ///< from memory that nobody has registered
  uint64_t slots_copied = 0;  ///< of groups, of these
  uint64_t broken = 0;        ///< queues
};

/// Where groups are: null, there are none.
struct Groups {
  GroupQueue* queue = nullptr;
  const Multicast* multicast = nullptr;
};

/// Thread: the turn's.
class Outgoing {
 public:
  /// All of these live longer. `held_max`: by all queues together.
  Outgoing(ibv_cq& completions, PacketStore& packets, Memory& memory, Peers& peers,
           std::span<Epoch> epochs, std::span<ControlQueue> controls, const Groups& groups,
           SenderIndex& index, size_t held_max);

  /// As WanPort::send().
  size_t send(std::span<const Send> sends, Instant now);
  size_t take_done(std::span<uint64_t> out);
  /// Releases what has been read. Returns whether a queue was found broken.
  bool poll(Instant now);
  /// The device reads nothing of this queue any more.
  void give_up(Sender& sender) { release(sender, sender.holds.count()); }
  bool is_holding() const { return held_ > 0; }
  const OutgoingCounts& counts() const { return counts_; }

 private:
  /// Requests to one queue.
  struct Row {
    Sender* sender = nullptr;
    size_t count = 0;
    uint64_t bytes = 0;  ///< of payload and pad
    std::array<ibv_send_wr, limits::burst_packets_max> requests{};
    std::array<std::array<ibv_sge, 2>, limits::burst_packets_max> pieces{};
    std::array<Packet*, limits::burst_packets_max> copies{};  ///< null: sent where it lies
  };
  enum class Fit { Taken, Lost, Full };

  size_t send_row(std::span<const Send> sends, Instant now);
  Sender* sender_of(const Send& send);
  Fit add(const Send& send);
  Fit add_slot(const Send& send, ibv_send_wr& request);
  bool try_address(const Send& send, ibv_send_wr& request);
  bool try_address_group(const Send& send, size_t group, ibv_send_wr& request);
  bool try_locate(const Send& send, ibv_sge& piece);
  bool try_copy(const Send& send, ibv_sge& piece);
  size_t post(std::span<const Send> sends, Instant now);
  bool on_completion(const ibv_wc& completion, Instant now);
  void release(Sender& sender, size_t count);
  void release(const Sender::Hold& hold);
  void lose(const Send& send) { release({send.packet, send.cookie}); }

  ibv_cq& completions_;
  PacketStore& packets_;
  Memory& memory_;
  Peers& peers_;
  std::span<Epoch> epochs_;
  std::span<ControlQueue> controls_;
  Groups groups_;
  SenderIndex& index_;
  Ring<uint64_t> done_;
  size_t held_ = 0;
  OutgoingCounts counts_;
  Row row_;
};

}  // namespace cw::verbs
