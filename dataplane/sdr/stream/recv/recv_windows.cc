// Where the port places payload itself: which messages it may write to, and what of it lands
// sealed.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/core/wire_drops.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"

namespace cw::sdr {

void RecvStream::set_placer(WanPort& port, uint16_t peer) {
  CW_ASSERT(posted_count_ == 0);
  placing_.begin(port, peer);
}

void RecvStream::set_stage(BitStage& stage, uint16_t number) {
  CW_ASSERT(placing_.has_begun() && !placing_.is_landing());
  stage_ = &stage;
  stage_stream_ = number;
}

RecvStream::~RecvStream() {
  for (uint32_t place = 0; place < config_.messages; ++place) placing_.close(messages_[place]);
}

void RecvStream::open_windows(Message& message) {
  if (is_read_along() && !placing_.is_landing()) {
    message.memory = buffers_->take();
    message.is_lent = true;
  }
  placing_.open(message, place_of(message));
}

bool RecvStream::try_open_landed(const SlotArrival& slot, Arrival& landed) {
  const ImmediateSplit::Parts& parts = slot.parts;
  const uint32_t slots_end = config_.data_slots_max + config_.repair_slots_max;
  DropReason reason = DropReason::slot_range;
  if (parts.id >= config_.messages || parts.slot >= slots_end) return drops_.add(reason), false;
  const Message& message = messages_[parts.id];
  reason = DropReason::message_not_open;
  if (message.data.key == 0) return drops_.add(reason), false;
  reason = DropReason::window_misaligned;
  if (slot.slot.payload_bytes > config_.landing_bytes()) return drops_.add(reason), false;
  landed.head = slot.slot;
  landed.head.target_qp = address_.qpn_of(config_, slot.generation, slot.channel, slot.path);
  if (placing_.try_open(landed, message, parts)) return true;
  return drops_.add(reason_of(landed.error)), false;
}

/// Of the first messages that have not begun, as far as `row` reaches; returns how many.
size_t RecvStream::take_placements(std::span<Placement> row) const {
  size_t count = 0;
  for (MessageSeq seq = retired_seq_; count < row.size() && seq.is_before(next_seq_); ++seq) {
    const Message& message = messages_[config_.place_of(seq)];
    if (message.seq != seq || message.is_opened || message.data.key == 0) continue;
    row[count++] = {be32(seq.value()), be32(message.data.key), be64(message.data.address),
                    be32(message.repairs.key), be64(message.repairs.address)};
  }
  return count;
}

}  // namespace cw::sdr
