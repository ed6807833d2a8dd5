#include "dataplane/port/sim/fabric/frame.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {

FabricFrames::FabricFrames(size_t count)
    : capacity_(count), free_count_(count), heads_(count), frames_(count) {
  CW_ASSERT(count > 0 && count < none);
  for (uint32_t i = 0; i < count; ++i) heads_[i].next = i + 1;
}

uint32_t FabricFrames::take() {
  CW_DCHECK(free_count_ > 0);
  --free_count_;
  const uint32_t place = first_free_;
  first_free_ = heads_[place].next;
  frames_[place].more = none;
  return place;
}

void FabricFrames::give_back(uint32_t place) {
  while (place != none) {
    const uint32_t more = frames_[place].more;
    heads_[place].next = first_free_;
    first_free_ = place;
    ++free_count_;
    place = more;
  }
  CW_ASSERT(free_count_ <= capacity_);
}

/// Behind `used` bytes in the frame `last`, and on in further ones.
void FabricFrames::append(uint32_t& last, size_t& used, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    if (used == FabricFrame::data_bytes) {
      last = frames_[last].more = take();
      used = 0;
    }
    const size_t part = std::min(bytes.size(), FabricFrame::data_bytes - used);
    std::memcpy(frames_[last].data + used, bytes.data(), part);
    used += part;
    bytes = bytes.subspan(part);
  }
}

uint32_t FabricFrames::try_write(const Packet& packet, bool carries_payload) {
  static constexpr uint8_t zeros[4] = {};
  const bool carries = carries_payload && packet.payload != nullptr;
  const size_t pad = carries ? -packet.payload_bytes & 3 : 0;
  const size_t bytes = packet.bytes + (carries ? packet.payload_bytes + pad : 0);
  if (free_count_ < count_for(bytes)) return none;
  const uint32_t place = take();
  uint32_t last = place;
  size_t used = 0;
  append(last, used, {packet.data, packet.bytes});
  if (carries) {
    append(last, used, {packet.payload, packet.payload_bytes});
    append(last, used, {zeros, pad});
  }
  FabricFrame& frame = frames_[place];
  frame.bytes = static_cast<uint32_t>(bytes);
  frame.payload = carries ? nullptr : packet.payload;
  frame.payload_bytes = carries ? 0 : packet.payload_bytes;
  frame.path = packet.path;
  frame.dscp = packet.dscp;
  heads_[place].target = packet.peer;
  heads_[place].ecn = packet.ecn & 3;
  heads_[place].is_lost = heads_[place].is_damaged = 0;
  return place;
}

uint32_t FabricFrames::try_copy(uint32_t place) {
  if (free_count_ < count_for(frames_[place].bytes)) return none;
  const uint32_t copy = take();
  uint32_t target = copy, source = place;
  size_t left = frames_[place].bytes;
  heads_[target] = heads_[source];
  std::memcpy(static_cast<void*>(&frames_[target]), &frames_[source], offsetof(FabricFrame, data));
  while (true) {
    const size_t part = std::min(left, FabricFrame::data_bytes);
    std::memcpy(frames_[target].data, frames_[source].data, part);
    left -= part;
    if (left == 0) break;
    source = frames_[source].more;
    target = frames_[target].more = take();
  }
  frames_[target].more = none;
  return copy;
}

void FabricFrames::read(uint32_t place, Packet& packet) const {
  const FabricFrame& frame = frames_[place];
  CW_ASSERT(frame.bytes <= packet.bytes_max);
  packet.bytes = frame.bytes;
  packet.payload = frame.payload;
  packet.payload_bytes = frame.payload_bytes;
  packet.ecn = heads_[place].ecn;
  packet.dscp = frame.dscp;
  packet.peer = frame.source;
  packet.path = frame.path;
  packet.at = frame.at;
  for (size_t at = 0; at < frame.bytes; at += FabricFrame::data_bytes) {
    const size_t part = std::min(frame.bytes - at, FabricFrame::data_bytes);
    std::memcpy(packet.data + at, frames_[place].data, part);
    place = frames_[place].more;
  }
}

bool FabricFrames::try_flip(uint32_t place, uint32_t bit) {
  size_t at = bit / 8;
  if (at >= frames_[place].bytes) return false;
  for (; at >= FabricFrame::data_bytes; at -= FabricFrame::data_bytes) place = frames_[place].more;
  frames_[place].data[at] ^= static_cast<uint8_t>(1u << bit % 8);
  return true;
}

}  // namespace cw
