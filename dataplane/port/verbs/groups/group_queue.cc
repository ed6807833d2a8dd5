#include "dataplane/port/verbs/groups/group_queue.h"

#include <endian.h>

#include <algorithm>

#include "dataplane/port/verbs/queues/tag.h"

namespace cw::verbs {
namespace {

/// Requests are posted in rows of so many at least.
constexpr uint32_t row_min = 16;

bool are_same(const ibv_gid& a, const ibv_gid& b) {
  return a.global.interface_id == b.global.interface_id &&
         a.global.subnet_prefix == b.global.subnet_prefix;
}

/// What is too short for a group header has none.
void show(const uint8_t* datagram, uint32_t bytes, bool has_immediate, Arrival& arrival) {
  arrival.form = has_immediate ? Form::DatagramImmediate : Form::Datagram;
  arrival.bytes = header_bytes_of(arrival.form) + bytes;
  const bool has_prefix = has_immediate && bytes >= limits::group_header_bytes;
  const uint32_t prefix_bytes = has_prefix ? limits::group_header_bytes : 0;
  arrival.prefix = has_prefix ? datagram : nullptr;
  arrival.payload = datagram + prefix_bytes;
  arrival.head.payload_bytes = bytes - prefix_bytes;
}

}  // namespace

GroupQueue::GroupQueue(const Device& device, const Peers& peers, Depth depth, uint32_t frame_bytes)
    : sender(depth.sends),
      device_(device),
      peers_(peers),
      depth_(depth),
      is_v4_(is_v4(device.gid())),
      prefixes_(depth.sends, limits::group_header_bytes),
      prefix_count_(depth.sends),
      receives_(depth.receives, frame_bytes) {}

Result<void> GroupQueue::make(Memory& memory, ibv_cq& sends, ibv_cq& receives) {
  const auto prefix_key = memory.add(prefixes_.all());
  if (!prefix_key) return std::unexpected(prefix_key.error());
  prefix_key_ = *prefix_key;
  const auto outer_key = memory.add(receives_.outers());
  if (!outer_key) return std::unexpected(outer_key.error());
  const auto key = memory.add(receives_.buffers());
  if (!key) return std::unexpected(key.error());
  receives_.set_keys(*outer_key, *key);
  auto made = make_group_ud(device_, sends, receives, depth_, control_qkey);
  if (!made) return std::unexpected(made.error());
  sender.pair = std::move(made->pair);
  keeps_own_back_ = made->keeps_own_back;
  sender.tag = Tag{Tag::group, 0, 0, 0}.bits();
  if (post_all()) return {};
  return failure("the queue pair of groups takes no receive requests");
}

/// From whom, to whom and with which marks; false: it is ours, or from nobody we know.
inline bool GroupQueue::try_tell(const OuterHeader& outer, const ibv_wc& completion,
                                 Arrival& arrival) {
  const bool is_own = completion.src_qp == sender.pair->qp_num && outer.is_multicast &&
                      are_same(outer.source, device_.gid());
  if (is_own) return ++counts_.own, false;
  if (!latest_peer_ || !are_same(outer.source, latest_)) {
    latest_ = outer.source;
    latest_peer_ = peers_.find(outer.source, group_link);
    if (!latest_peer_) return ++counts_.unknown, false;
  }
  arrival.head = {};
  arrival.head.target_qp = outer.is_multicast ? group::multicast_qp : group::qpn_default;
  arrival.head.key = control_qkey;  // the device lets no other in
  arrival.peer = *latest_peer_;
  arrival.path = 0;
  arrival.ecn = outer.traffic_class & 3;
  arrival.dscp = outer.traffic_class >> 2;
  return true;
}

inline bool GroupQueue::try_read(const ibv_wc& completion, Arrival& arrival) {
  const bool is_whole =
      completion.byte_len >= routing_header_bytes && (completion.wc_flags & IBV_WC_GRH) != 0;
  if (!is_whole) return ++counts_.malformed, false;
  const uint16_t index = Tag::of(completion.wr_id).count;
  if (!try_tell(read_outer(receives_.outer(index), is_v4_), completion, arrival)) return false;
  const bool has_immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
  arrival.head.immediate = has_immediate ? be32toh(completion.imm_data) : 0;
  arrival.source_qp = completion.src_qp;
  show(receives_.datagram(index), completion.byte_len - routing_header_bytes, has_immediate,
       arrival);
  return true;
}

bool GroupQueue::try_take(const ibv_wc& completion, uint32_t lulls, Arrival& arrival) {
  const bool is_live = sender.is_ours() && Tag::are_of_one_life(sender.tag, completion.wr_id);
  if (!is_live) return false;
  bool may_be_last = false;
  const bool is_right = completion.status == IBV_WC_SUCCESS &&
                        receives_.try_take(Tag::of(completion.wr_id).count, lulls, may_be_last);
  if (!is_right) {
    sender.is_found_broken = true;
    return false;
  }
  counts_.starved += may_be_last;
  return try_read(completion, arrival);
}

void GroupQueue::end_arrivals() {
  if (!sender.is_ours()) return;
  const uint32_t least = std::min(row_min, receives_.count() / 4);
  if (receives_.taken_count() <= least) return;
  if (!receives_.post_taken(*sender.pair)) sender.is_found_broken = true;
}

}  // namespace cw::verbs
