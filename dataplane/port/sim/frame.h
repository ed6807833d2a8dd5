// A packet of the simulator, the buffer it lies in, and the links that queue it while it travels.
// Ports and the wire each have a fixed set of frames. A packet changes sets by swapping buffers
// between a frame of one and a frame of the other, so no byte is copied on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/base/memory/pool.h"
#include "dataplane/port.h"

namespace cw {

struct alignas(64) SimFrame {
  Packet packet;  // packet.port_data is the frame
  uint8_t* buffer = nullptr;

  // While travelling (arrivals.h):
  uint64_t order = 0;  // of sending, over the whole network: breaks ties between equal instants
  SimFrame* next = nullptr;
  SimFrame* child = nullptr;
  bool is_damaged = false;  // the receiving port's own checks will fail
};

class FramePool {
 public:
  /// `frames` frames of at least `frame_bytes` usable bytes each; memory is touched when first
  /// used.
  FramePool(size_t frames, size_t frame_bytes)
      : frame_bytes_(frame_bytes),
        stride_(stride_for(frame_bytes)),
        pool_(frames),
        bytes_(std::make_unique_for_overwrite<uint8_t[]>(frames * stride_ + line_bytes)) {
    const auto base = reinterpret_cast<uintptr_t>(bytes_.get());
    uint8_t* first = bytes_.get() + (line_bytes - base % line_bytes) % line_bytes;
    for (size_t i = 0; i < frames; ++i) pool_.at(i).buffer = first + i * stride_;
  }

  /// An empty packet, or null when all are lent.
  SimFrame* try_take() {
    SimFrame* frame = pool_.try_take();
    if (frame == nullptr) return nullptr;
    frame->packet = {};
    frame->packet.data = frame->buffer;
    frame->packet.bytes_max = static_cast<uint32_t>(frame_bytes_);
    frame->packet.port_data = frame;
    frame->is_damaged = false;
    return frame;
  }
  /// A frame with the packet of another, which is left to be given back; or null when all are lent.
  SimFrame* try_move(SimFrame& source) {
    SimFrame* frame = pool_.try_take();
    if (frame == nullptr) return nullptr;
    std::swap(source.buffer, frame->buffer);
    frame->packet = source.packet;
    frame->packet.port_data = frame;
    frame->is_damaged = source.is_damaged;
    return frame;
  }
  /// From one of its owners; the last of them gives the frame itself.
  void give_back(SimFrame* frame) {
    if (!try_leave(frame->packet)) pool_.give_back(frame);
  }

  size_t lent_count() const { return pool_.lent_count(); }
  size_t capacity() const { return pool_.capacity(); }

 private:
  static constexpr size_t line_bytes = 64;
  /// An odd number of cache lines: the first lines of all buffers must not share a few cache sets.
  static size_t stride_for(size_t bytes) {
    return ((bytes + line_bytes - 1) / line_bytes | 1) * line_bytes;
  }

  size_t frame_bytes_, stride_;
  Pool<SimFrame> pool_;
  std::unique_ptr<uint8_t[]> bytes_;
};

}  // namespace cw
