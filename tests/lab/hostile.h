// A stranger on the wire between the gateways: hears every frame of an interface, and puts frames
// of its own there.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/lab/space.h"

namespace cw::lab {

using Frame = std::vector<uint8_t>;

/// Thread: one.
class Recorder {
 public:
  /// Hears what arrives at an interface from now on, at most as much as its socket holds.
  Recorder(const Space& space, const std::string& interface);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// All that has been heard since the last call.
  std::vector<Frame> take();

 private:
  int fd_;
};

/// What a stranger may make of frames that it has heard: each kind in its turn, of the same length
/// of list as wanted. Of UDP over either IP; their checksums are finished.
///
///   garbage from anywhere, garbage in a peer's name, truncated ones, ones with a flipped bit, the
///   same with the packet's own CRC made right again, and ones as they were: replayed
std::vector<Frame> make_hostile(const std::vector<Frame>& heard, size_t count, uint64_t seed);

/// The frames as they were heard, their checksums finished.
std::vector<Frame> make_replay(const std::vector<Frame>& heard);

/// For whoever sent these frames: what a third host of his segment says of them by ICMP, who knows
/// only their addresses and UDP ports. For each of his source ports and each kind of complaint one:
/// "fragmentation needed" ("packet too big") first, everything else that stops a socket behind it.
std::vector<Frame> make_complaints(const std::vector<Frame>& heard);

/// Sends frames out of an interface, round and round, at a rate, in a thread of its own.
class Flood {
 public:
  Flood(const Space& space, const std::string& interface, std::vector<Frame> frames,
        uint32_t per_second);
  ~Flood();
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  /// Those that the interface has taken.
  uint64_t sent() const { return sent_; }
  /// Ends it.
  void stop();

 private:
  void run();

  int fd_;
  std::vector<Frame> frames_;
  uint32_t per_second_;
  std::atomic<uint64_t> sent_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace cw::lab
