// Packets that go from one shard to another: what one has received for another, by a queue that is
// not theirs alone, and what one sends by another's queue, having none.
//
//   shard 0 --[ring]--> shard 1      one ring for each pair and direction, of one producer and one
//   shard 0 <--[ring]-- shard 1      consumer; a word for each shard says which have something
//
// Where queues are as many as the shards and packets come by the right ones, nothing passes here,
// and a look is a read of a word that nobody writes.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/port.h"

namespace cw {

/// Packets under way are nobody's: who made them outlives this. Nothing allocates once it is made.
class HandOver {
 public:
  static constexpr size_t packets_max = 1024;  ///< under way from one shard to another
  static constexpr uint16_t shards_max = 32;

  explicit HandOver(uint16_t shards) : shards_(shards), inboxes_(new Inbox[shards]) {
    CW_ASSERT(shards <= shards_max);
    for (size_t i = 0; i < size_t{shards} * shards; ++i) {
      rings_.emplace_back(i / shards == i % shards ? 1 : packets_max);
    }
  }
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

  /// Takes packets from the front and returns how many; those that follow find no room, as the
  /// other shard stands still. Thread: that of shard `from`.
  size_t push(uint16_t from, uint16_t to, std::span<Packet* const> packets) {
    const size_t taken = ring(from, to).push_burst(packets);
    if (taken > 0) inboxes_[to].filled.fetch_or(1u << from, std::memory_order_acq_rel);
    return taken;
  }

  /// Shards take turns. Thread: that of shard `to`.
  size_t pop(uint16_t to, std::span<Packet*> out) {
    Inbox& inbox = inboxes_[to];
    if (inbox.filled.load(std::memory_order_relaxed) == 0 || out.empty()) return 0;
    // Who pushes meanwhile says so again.
    uint32_t filled = inbox.filled.exchange(0, std::memory_order_acq_rel);
    size_t count = 0;
    while (filled != 0 && count < out.size()) {
      const int ahead = std::countr_zero(std::rotr(filled, inbox.next));
      const int from = (inbox.next + ahead) % shards_max;
      const auto rest = out.subspan(count);
      const size_t taken = ring(static_cast<size_t>(from), to).pop_burst(rest);
      count += taken;
      if (taken < rest.size()) filled &= ~(1u << from);
      inbox.next = (from + 1) % shards_max;
    }
    if (filled != 0) inbox.filled.fetch_or(filled, std::memory_order_acq_rel);
    return count;
  }

 private:
  struct alignas(64) Inbox {
    std::atomic<uint32_t> filled = 0;  // one bit for each shard that has pushed something
    int next = 0;                      // whose turn it is
  };
  SpscRing<Packet*>& ring(size_t from, size_t to) { return rings_[from * shards_ + to]; }

  uint16_t shards_;
  std::deque<SpscRing<Packet*>> rings_;
  std::unique_ptr<Inbox[]> inboxes_;
};

}  // namespace cw
