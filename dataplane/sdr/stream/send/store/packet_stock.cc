#include "dataplane/sdr/stream/send/store/packet_stock.h"

#include <algorithm>

#include "dataplane/wire/roce_inline.h"

namespace cw::sdr {
namespace {

constexpr size_t line_bytes = 64;
/// From Packet::data on: a port's buffers begin on a cache line.
constexpr uint32_t slot_offset =
    (slot_write_header_bytes + line_bytes - 1) / line_bytes * line_bytes;
constexpr uint32_t gap_bytes = slot_offset - uint32_t{slot_write_header_bytes};
static_assert(slot_offset <= limits::headers_bytes_max);

/// Of so many packets in all.
size_t kept_max_of(size_t packets) {
  constexpr size_t left_max = 1024;
  return packets == 0 ? SIZE_MAX : packets - std::min(packets / 4, left_max);
}

}  // namespace

PacketStock::PacketStock(PortBase& port)
    : port_(port), keeping_(kept_max_of(port.facts().packets)) {}

PacketStock::~PacketStock() {
  CW_ASSERT(keeping_.held() == 0);
  rest();
}

SlotTableStock& PacketStock::tables(uint32_t slots_max) {
  for (SlotTableStock& each : tables_) {
    if (each.slots_max() == slots_max) return each;
  }
  return tables_.emplace_back(slots_max);
}

bool PacketStock::try_fill(size_t count) {
  count = std::min(count, capacity);
  // More than that where there is room, since one by one they cost more; but who sends a packet now
  // and then would only give them back.
  batch_ = std::min(2 * batch_, limits::burst_packets_max);
  const size_t room = std::max(count, batch_) - count_;
  count_ += port_.take_burst(std::span(at_hand_).subspan(count_, room));
  return count <= count_;
}

Packet& PacketStock::keep(Portion& stream) {
  stream.take();
  CW_ASSERT(count_ > 0);
  Packet& packet = *at_hand_[--count_];
  CW_DCHECK(packet.bytes_max >= slot_offset + port_.facts().payload_max);
  packet.data += gap_bytes;
  packet.bytes_max -= gap_bytes;
  packet.slot = packet.data + slot_write_header_bytes;
  return packet;
}

void PacketStock::flush() {
  if (given_up_count_ == 0) return;
  port_.give_back(std::span(given_up_).first(given_up_count_));
  given_up_count_ = 0;
}

void PacketStock::rest() {
  flush();
  batch_ = batch_min;
  if (count_ == 0) return;
  port_.give_back(std::span(at_hand_).first(count_));
  count_ = 0;
}

}  // namespace cw::sdr
