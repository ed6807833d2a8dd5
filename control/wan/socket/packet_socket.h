// Raw Ethernet frames from and to one interface (AF_PACKET).
//
// In: a ring shared with the kernel, in its second version, in which each frame is visible the
// moment it has arrived. (The third version hands over blocks, up to a millisecond late: too late
// here.) Each frame carries the time of its arrival, so that the time for which it waited for us
// is not added to the link's delay. Out: sendmmsg. (A shared ring out is not safe over veth: the
// kernel declares the frame's memory free while the receiver still reads it.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "control/wan/link/direction.h"
#include "dataplane/base/result.h"

namespace cw::wan {

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }

 private:
  int fd_;
};

/// An interface by its name; refuses what is not there, not up or not Ethernet-like.
struct Interface {
  std::string name;
  int index = 0;
  size_t mtu = 0;

  static Result<Interface> find(const std::string& name);
};

class FrameInput {
 public:
  /// Takes all frames that come in at the interface, also those for others, never our own.
  static Result<FrameInput> open(const Interface& interface);
  FrameInput(FrameInput&&) noexcept;
  FrameInput& operator=(FrameInput&&) = delete;
  ~FrameInput();

  int fd() const { return socket_.get(); }
  /// The next frame, lent until pop(); `wall_ns` says when it came by the wall clock. False: none.
  bool try_front(Arrival& arrival, int64_t& wall_ns) const;
  void pop();
  /// How many frames the kernel had no room for since the last call.
  uint64_t take_missed();

 private:
  FrameInput(Descriptor socket, uint8_t* ring, size_t frame_bytes);
  uint8_t* front() const { return ring_ + next_ * frame_bytes_; }

  Descriptor socket_;
  uint8_t* ring_;
  size_t frame_bytes_;
  size_t next_ = 0;
};

class FrameOutput {
 public:
  static constexpr size_t burst_frames_max = 64;

  static Result<FrameOutput> open(const Interface& interface);

  struct Sent {
    size_t count = 0;         ///< of the frames, from the first on
    bool is_refused = false;  ///< the frame after them will never go
  };
  /// Sends up to burst_frames_max frames. Fewer without a refusal: there is no room just now.
  Sent send(std::span<const Direction::Due> frames);

 private:
  explicit FrameOutput(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

}  // namespace cw::wan
