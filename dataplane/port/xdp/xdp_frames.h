// The memory of a shard's packets, which its sockets share with the kernel (a UMEM): frames of one
// chunk each, of a page or half of one, or for long packets of several; one packet each. The kernel
// fills and sends chunks. A packet and its frame have the same number. A fork
// has the same memory, not a copy.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/port.h"

namespace cw {

/// Thread: one, once made. Nothing allocates then.
class XdpFrames {
 public:
  /// What the kernel leaves free in front of what arrives, and we of what we send.
  static constexpr uint32_t headroom = 256;
  static_assert(headroom >= limits::headers_bytes_max);

  /// What a frame takes for packets with room for so much, as they are sent and as they arrive:
  /// half a page, which is half the memory and half the cache, where that does.
  static constexpr uint32_t frame_bytes_for(uint32_t packet_bytes) {
    constexpr uint32_t around = headroom + limits::trailer_bytes_max;
    return std::bit_ceil(std::max(packet_bytes + around, page_bytes / 2));
  }

  /// Of `frame_bytes` each, a power of two. Null: there is no memory for it.
  static std::unique_ptr<XdpFrames> make(uint32_t frames, uint32_t frame_bytes);
  ~XdpFrames();
  XdpFrames(const XdpFrames&) = delete;
  XdpFrames& operator=(const XdpFrames&) = delete;

  uint8_t* area() { return area_; }
  uint64_t area_bytes() const { return uint64_t{count_} << shift_; }

  /// Packets may have several.
  bool has_chunks() const { return shift_ > page_shift; }
  uint32_t chunks_max() const { return has_chunks() ? 1u << (shift_ - page_shift) : 1; }
  uint32_t chunk_bytes() const { return uint32_t{1} << std::min(shift_, page_shift); }
  uint64_t chunk_end(uint64_t offset) const { return (offset | (chunk_bytes() - 1)) + 1; }
  /// Whether it is a frame's first chunk, or its only one.
  bool is_first_chunk(uint64_t offset) const {
    return offset - offset_at(frame_at(offset)) < chunk_bytes();
  }
  /// Of a packet, wherever it has its bytes.
  uint32_t chunks_of(const Packet& packet) const {
    if (!has_chunks()) return 1;
    const uint64_t start = offset_of(packet), last = start + std::max(packet.bytes, 1u) - 1;
    return static_cast<uint32_t>((last >> page_shift) - (start >> page_shift)) + 1;
  }

  uint32_t count() const { return count_; }
  size_t free_count() const { return free_.size(); }
  uint32_t take() {
    const uint32_t frame = free_.back();
    free_.pop_back();
    return frame;
  }
  void put(uint32_t frame) { free_.push_back(frame); }

  /// The queue whose kernel has it; zero: none.
  uint8_t holder(uint32_t frame) const { return holders_[frame]; }
  void hold(uint32_t frame, uint8_t holder) { holders_[frame] = holder; }

  bool has(const Packet& packet) const {
    return &packet >= packets_.data() && &packet < packets_.data() + packets_.size();
  }
  uint32_t frame_of(const Packet& packet) const {
    return static_cast<uint32_t>(&packet - packets_.data());
  }
  uint64_t offset_of(const Packet& packet) const {
    return static_cast<uint64_t>(packet.data - area_);
  }
  uint64_t offset_at(uint32_t frame) const { return uint64_t{frame} << shift_; }
  uint32_t frame_at(uint64_t offset) const { return static_cast<uint32_t>(offset >> shift_); }
  /// A new one at `offset` in its frame, of whose room it has what is left but for a trailer.
  Packet& make_packet(uint64_t offset) {
    const uint32_t frame = frame_at(offset);
    Packet& packet = packets_[frame];
    packet = {};
    packet.data = area_ + offset;
    packet.bytes_max =
        static_cast<uint32_t>(offset_at(frame + 1) - offset - limits::trailer_bytes_max);
    return packet;
  }
  Packet& packet(uint32_t frame) { return packets_[frame]; }

 private:
  static constexpr uint32_t page_shift = 12, page_bytes = 1 << page_shift;

  XdpFrames(uint8_t* area, uint32_t frames, uint32_t frame_bytes);

  uint8_t* area_;
  uint32_t count_, shift_;
  std::vector<Packet> packets_;
  std::vector<uint8_t> holders_;
  std::vector<uint32_t> free_;  // taken from the back: what was used last is warm
};

}  // namespace cw
