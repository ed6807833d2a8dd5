// A packet under way in a fabric, in two pieces, since all that switches need of it is 16 bytes:
// those of tens of thousands of packets stay in a cache. Only hosts touch the rest. What does not
// fit into one goes on in further ones, `more` by `more`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/memory/table.h"
#include "dataplane/port.h"

namespace cw {

/// What switches see of a packet.
struct FabricHead {
  uint32_t link : 28 = 0;  ///< that it is on, or has come by
  uint32_t ecn : 2 = 0;
  uint32_t is_lost : 1 = 0;     ///< on this link
  uint32_t is_damaged : 1 = 0;  ///< the receiving port's own checks will fail
  uint32_t next = 0;            ///< behind it in a row; or the link by which it goes on
  uint32_t flow = 0;
  uint16_t target = 0;      ///< a host, or a group
  uint16_t wire_bytes = 0;  ///< what it takes of a link
};

struct alignas(16) FabricFrame {
  static constexpr size_t data_bytes = 200;

  Instant at;                        ///< when it has arrived
  const uint8_t* payload = nullptr;  ///< the sender's, behind `bytes`; as Packet::payload
  uint32_t payload_bytes = 0;
  uint32_t bytes = 0;  ///< in this frame and its further ones
  uint32_t more = 0;   ///< where its bytes go on
  uint16_t source = 0, path = 0;
  uint8_t dscp = 0;
  uint8_t data[data_bytes];
};
static_assert(sizeof(FabricHead) + sizeof(FabricFrame) == 256);

/// A fixed number of frames, named by their places. Thread: one. Nothing allocates once it is made.
class FabricFrames {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  /// 1 to 2^32 - 1.
  explicit FabricFrames(size_t count);

  FabricHead& head(uint32_t place) { return heads_[place]; }
  FabricFrame& operator[](uint32_t place) { return frames_[place]; }
  const FabricFrame& operator[](uint32_t place) const { return frames_[place]; }
  size_t capacity() const { return capacity_; }
  size_t free_count() const { return free_count_; }

  /// A frame, and as many further ones as it takes, with the bytes of `packet` and what belongs to
  /// them; `none` when there are not so many. A payload elsewhere is copied as well, pad included,
  /// or referred to.
  uint32_t try_write(const Packet& packet, bool carries_payload);
  /// Calls into the cache what read() will touch.
  void prefetch(uint32_t place) const {
    __builtin_prefetch(&frames_[place]);
    __builtin_prefetch(frames_[place].data + 40);
  }
  /// Another packet like it, or `none`.
  uint32_t try_copy(uint32_t place);
  /// Fills `packet` with what is in the frame; all of that fits into its buffer.
  void read(uint32_t place, Packet& packet) const;
  /// Flips a bit; false when it is none of `bytes`.
  bool try_flip(uint32_t place, uint32_t bit);
  /// With its further ones.
  void give_back(uint32_t place);

 private:
  static size_t count_for(size_t bytes) {
    return bytes == 0 ? 1 : (bytes + FabricFrame::data_bytes - 1) / FabricFrame::data_bytes;
  }
  uint32_t take();
  void append(uint32_t& last, size_t& used, std::span<const uint8_t> bytes);

  size_t capacity_, free_count_;
  uint32_t first_free_ = 0;
  Table<FabricHead> heads_;
  Table<FabricFrame> frames_;
};

/// A row of packets, first in first out. Each is in one row at most.
struct FrameRow {
  uint32_t first = FabricFrames::none, last = FabricFrames::none;

  bool is_empty() const { return first == FabricFrames::none; }
  void push(FabricFrames& frames, uint32_t place) {
    frames.head(place).next = FabricFrames::none;
    (is_empty() ? first : frames.head(last).next) = place;
    last = place;
  }
  /// There must be one.
  uint32_t pop(FabricFrames& frames) {
    const uint32_t place = first;
    first = frames.head(place).next;
    return place;
  }
};

}  // namespace cw
