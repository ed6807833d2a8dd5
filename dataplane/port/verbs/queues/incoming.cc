#include "dataplane/port/verbs/queues/incoming.h"

#include <endian.h>

#include <algorithm>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/port/verbs/queues/tag.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::verbs {

Incoming::Incoming(ibv_cq& completions, ibv_comp_channel& channel, const Device& device,
                   Peers& peers, std::span<Epoch> epochs, std::span<ControlQueue> controls,
                   GroupQueue* groups)
    : completions_(completions),
      channel_(channel),
      is_v4_(is_v4(device.gid())),
      peers_(peers),
      epochs_(epochs),
      controls_(controls),
      groups_(groups) {}

Incoming::~Incoming() { ibv_ack_cq_events(&completions_, events_unacknowledged_); }

size_t Incoming::receive(std::span<Arrival> out, Instant now) {
  CW_ASSERT(shown_count_ == 0);
  size_t count = poll(out, now);
  if (count > 0) {
    if (is_armed_) (void)try_take_event();
    return count;
  }
  if (try_arm()) count = poll(out, now);
  if (count == 0) end_arrivals();  // nobody sees what came from strangers
  return count;
}

/// The channel says once that something has come; true: it has, and nobody waits any more.
bool Incoming::try_take_event() {
  ibv_cq* which = nullptr;
  void* context = nullptr;
  ++counts_.system_calls;
  if (ibv_get_cq_event(&channel_, &which, &context) != 0) return false;
  ++events_unacknowledged_;
  is_armed_ = false;
  return true;
}

/// True: what came before is not told any more, so it is to be looked for.
bool Incoming::try_arm() {
  if (is_armed_ && !try_take_event()) return false;
  ++counts_.system_calls;
  is_armed_ = ibv_req_notify_cq(&completions_, 0) == 0;
  return true;
}

size_t Incoming::poll(std::span<Arrival> out, Instant now) {
  std::array<ibv_wc, limits::burst_packets_max> completions;
  const size_t most = std::min(out.size(), completions.size());
  size_t count = 0;
  const int came = ibv_poll_cq(&completions_, static_cast<int>(most), completions.data());
  for (int i = 0; i < came; ++i) {
    Arrival& arrival = out[count];
    if (!try_take(completions[static_cast<size_t>(i)], arrival)) continue;
    arrival.at = now;
    arrival.error = {};
    counts_.bytes += arrival.bytes;
    ++count;
  }
  if (static_cast<size_t>(came) < most) ++lulls_;
  counts_.packets += count;
  counts_.completions += static_cast<uint64_t>(came > 0 ? came : 0);
  return count;
}

bool Incoming::try_take(const ibv_wc& completion, Arrival& arrival) {
  const Tag tag = Tag::of(completion.wr_id);
  if (tag.epoch == Tag::control) return try_take_datagram(completion, arrival);
  if (tag.epoch == Tag::group) return try_take_of_group(completion, arrival);
  Epoch& epoch = epochs_[tag.epoch];
  return epoch.receives() && try_take_write(completion, epoch, arrival);
}

bool Incoming::try_take_of_group(const ibv_wc& completion, Arrival& arrival) {
  const bool is_shown = groups_->try_take(completion, lulls_, arrival);
  has_broken_ |= groups_->sender.is_found_broken;
  return is_shown;
}

bool Incoming::try_take_write(const ibv_wc& completion, Epoch& epoch, Arrival& arrival) {
  const Tag tag = Tag::of(completion.wr_id);
  Receiver& receiver = *epoch.receivers[tag.queue];
  if (!receiver.is_ours() || receiver.tag != completion.wr_id) return false;
  if (completion.status != IBV_WC_SUCCESS) {
    receiver.is_found_broken = has_broken_ = true;
    return false;
  }
  counts_.starved += receiver.posted.take_one(lulls_);
  if (!receiver.fill(row_)) receiver.is_found_broken = has_broken_ = true;
  arrival.head = {};
  arrival.head.target_qp = epoch.first + tag.queue;
  arrival.head.immediate = be32toh(completion.imm_data);
  arrival.head.payload_bytes = completion.byte_len;
  arrival.payload = nullptr;
  arrival.bytes = header_bytes_of(Form::Write) + completion.byte_len;
  arrival.source_qp = 0;
  arrival.peer = epoch.peer;
  arrival.path = 0;
  arrival.form = Form::Write;
  arrival.ecn = arrival.dscp = 0;
  return completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
}

bool Incoming::try_take_datagram(const ibv_wc& completion, Arrival& arrival) {
  const Tag tag = Tag::of(completion.wr_id);
  ControlQueue& control = controls_[tag.queue];
  const bool is_live =
      control.sender.is_ours() && Tag::are_of_one_life(control.sender.tag, completion.wr_id);
  if (!is_live) return false;
  if (completion.status != IBV_WC_SUCCESS) {
    control.sender.is_found_broken = has_broken_ = true;
    return false;
  }
  shown_[shown_count_++] = {tag.queue, tag.count};
  const uint8_t* const buffer = control.buffers->at(tag.count);
  if (completion.byte_len < routing_header_bytes) return ++counts_.malformed, false;
  if (!try_tell(buffer, tag.queue, arrival)) return ++counts_.unknown, false;
  const uint32_t bytes = completion.byte_len - routing_header_bytes;
  arrival.head = {};
  arrival.head.target_qp = control_qpn_default + tag.queue;
  arrival.head.key = control_qkey;  // the device lets no other in
  arrival.head.payload_bytes = bytes;
  arrival.payload = buffer + routing_header_bytes;
  arrival.bytes = header_bytes_of(Form::Datagram) + bytes;
  arrival.source_qp = completion.src_qp;
  arrival.path = 0;
  arrival.form = Form::Datagram;
  return true;
}

/// From whom, and with which marks; false: from nobody we know.
bool Incoming::try_tell(const uint8_t* header, uint16_t link, Arrival& arrival) {
  const OuterHeader outer = read_outer(header, is_v4_);
  const auto peer = peers_.find(outer.source, link);
  if (!peer) return false;
  arrival.peer = *peer;
  arrival.ecn = outer.traffic_class & 3;
  arrival.dscp = outer.traffic_class >> 2;
  return true;
}

/// Buffers that were shown take what comes next. Of a queue that has broken all are, once it is
/// mended.
void Incoming::end_arrivals() {
  std::array<uint16_t, limits::burst_packets_max> indexes;
  for (size_t queue = 0; queue < controls_.size() && shown_count_ > 0; ++queue) {
    size_t count = 0;
    for (const Shown& each : std::span(shown_).first(shown_count_)) {
      if (each.queue == queue) indexes[count++] = each.buffer;
    }
    ControlQueue& control = controls_[queue];
    if (count == 0 || !control.sender.is_ours()) continue;
    if (!control.post(std::span(indexes).first(count))) {
      control.sender.is_found_broken = has_broken_ = true;
    }
  }
  shown_count_ = 0;
  if (groups_ != nullptr) groups_->end_arrivals();
}

}  // namespace cw::verbs
