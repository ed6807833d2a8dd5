// The receive requests of a pair that takes the datagrams of groups, each with two pieces of
// memory: the forty bytes that the device puts in front, on a line of their own; and group header
// and payload, which begins on a cache line, as what is copied from there is to be fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/buffers.h"
#include "dataplane/port/verbs/device/handles.h"
#include "dataplane/port/verbs/device/outer_header.h"
#include "dataplane/port/verbs/queues/receiver.h"
#include "dataplane/port/verbs/queues/tag.h"

namespace cw::verbs {

/// They complete in the order in which they are posted, and are posted again in that order.
/// Thread: one at a time.
class GroupReceives {
 public:
  /// `count` of them, 65,536 at most, each for a datagram of `bytes`.
  GroupReceives(uint32_t count, uint32_t bytes)
      : outers_(count, routing_header_bytes),
        buffers_(count, lead_bytes + bytes),
        pieces_(2 * size_t{count}),
        requests_(count) {
    for (uint32_t i = 0; i < count; ++i) {
      pieces_[2 * i] = {reinterpret_cast<uintptr_t>(outers_.at(i)), routing_header_bytes, 0};
      pieces_[2 * i + 1] = {reinterpret_cast<uintptr_t>(datagram(i)), bytes, 0};
      requests_[i].sg_list = &pieces_[2 * i];
      requests_[i].num_sge = 2;
      if (i + 1 < count) requests_[i].next = &requests_[i + 1];
    }
  }

  std::span<uint8_t> outers() const { return outers_.all(); }
  std::span<uint8_t> buffers() const { return buffers_.all(); }
  /// Of these, for the device.
  void set_keys(uint32_t of_outers, uint32_t of_buffers) {
    for (size_t i = 0; i < pieces_.size(); i += 2) {
      pieces_[i].lkey = of_outers;
      pieces_[i + 1].lkey = of_buffers;
    }
  }

  uint32_t count() const { return static_cast<uint32_t>(requests_.size()); }
  const uint8_t* outer(uint32_t index) const { return outers_.at(index); }
  uint8_t* datagram(uint32_t index) const { return buffers_.at(index) + lead_bytes; }

  /// All, to a pair that has none, which completions will call `tag` with their number as its
  /// count. False: the pair takes no more.
  bool post_all(ibv_qp& pair, uint64_t tag) {
    for (uint32_t i = 0; i < count(); ++i) requests_[i].wr_id = tag | i;
    first_ = 0;
    taken_ = count();
    posted_ = {};
    return post_taken(pair);
  }
  /// One has completed; false: it is not its turn. `may_be_last`: the device may have had no more.
  bool try_take(uint32_t index, uint32_t lulls, bool& may_be_last) {
    const uint32_t next = first_ + taken_;
    if (index != (next < count() ? next : next - count()) || taken_ == count()) return false;
    ++taken_;
    may_be_last = posted_.take_one(lulls);
    return true;
  }
  uint32_t taken_count() const { return taken_; }
  /// Those that are done with. False: the pair takes no more.
  bool post_taken(ibv_qp& pair) {
    while (taken_ > 0) {
      const uint32_t row = std::min(taken_, count() - first_);
      ibv_recv_wr& last = requests_[first_ + row - 1];
      ibv_recv_wr* const behind = std::exchange(last.next, nullptr);
      ibv_recv_wr* refused = nullptr;
      const bool is_posted = ibv_post_recv(&pair, &requests_[first_], &refused) == 0;
      last.next = behind;
      if (!is_posted) return false;
      posted_.count += row;
      taken_ -= row;
      first_ = (first_ + row) % count();
    }
    return true;
  }

 private:
  /// In front of a datagram, so that what is behind a group header begins a cache line.
  static constexpr uint32_t lead_bytes = 64 - limits::group_header_bytes;

  Buffers outers_, buffers_;
  std::vector<ibv_sge> pieces_;
  std::vector<ibv_recv_wr> requests_;
  uint32_t first_ = 0, taken_ = 0;  // of those that are not posted
  Posted posted_;
};

}  // namespace cw::verbs
