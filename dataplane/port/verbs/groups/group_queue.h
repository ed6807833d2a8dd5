// The one UD queue pair of all groups and all of their members: slots and envelopes, multicast and
// not. A member more costs an address handle, once it is spoken to, and no queue.
//
//   out   a group header, copied to a place of ours, and the payload where it lies
//   in    groups/group_receives.h; what is shown as an Arrival lies there until the arrivals are
//   over
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/buffers.h"
#include "dataplane/port/verbs/device/memory.h"
#include "dataplane/port/verbs/device/queue_pair.h"
#include "dataplane/port/verbs/groups/group_receives.h"
#include "dataplane/port/verbs/peers.h"
#include "dataplane/port/verbs/queues/sender.h"
#include "dataplane/wan.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/group/datagram_inline.h"

namespace cw::verbs {

/// What peers of this port that are members have for the number of a link.
inline constexpr uint16_t group_link = limits::links_max;
static_assert(control_qpn_default + group_link == group::qpn_default);

struct GroupCounts {
  uint64_t own = 0;        ///< multicast of ours that the device has brought back
  uint64_t unknown = 0;    ///< from nobody in the list of members
  uint64_t malformed = 0;  ///< shorter than what the device puts in front
  uint64_t starved = 0;    ///< as often as the pair may have been without a receive request
};

/// Thread: the turn's, and the keeper's while it is broken.
class GroupQueue {
 public:
  /// All of these live longer. `frame_bytes`: the longest that the interface may bring.
  GroupQueue(const Device& device, const Peers& peers, Depth depth, uint32_t frame_bytes);

  /// Makes the pair, with memory that the device may read and write. Errors: the device's.
  Result<void> make(Memory& memory, ibv_cq& sends, ibv_cq& receives);
  bool keeps_own_back() const { return keeps_own_back_; }
  bool post_all() { return receives_.post_all(*sender.pair, sender.tag); }

  /// Copies a header to where the device reads it, until as many sends as the pair holds have left.
  ibv_sge put_prefix(const uint8_t* prefix) {
    uint8_t* const place = prefixes_.at(prefix_next_);
    if (++prefix_next_ == prefix_count_) prefix_next_ = 0;
    std::memcpy(place, prefix, limits::group_header_bytes);
    return {reinterpret_cast<uintptr_t>(place), limits::group_header_bytes, prefix_key_};
  }

  /// What a completion says; false: nothing for the station.
  bool try_take(const ibv_wc& completion, uint32_t lulls, Arrival& arrival);
  /// What was shown is not looked at any more.
  void end_arrivals();
  const GroupCounts& counts() const { return counts_; }

  Sender sender;  ///< its pair receives, too

 private:
  bool try_read(const ibv_wc& completion, Arrival& arrival);
  bool try_tell(const OuterHeader& outer, const ibv_wc& completion, Arrival& arrival);

  const Device& device_;
  const Peers& peers_;
  Depth depth_;
  bool is_v4_, keeps_own_back_ = false;
  Buffers prefixes_;
  uint32_t prefix_next_ = 0, prefix_count_, prefix_key_ = 0;
  GroupReceives receives_;
  ibv_gid latest_{};  // whom the last was from
  std::optional<uint16_t> latest_peer_;
  GroupCounts counts_;
};

}  // namespace cw::verbs
