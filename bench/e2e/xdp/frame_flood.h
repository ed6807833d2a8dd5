// Frames put on a wire as fast as a core can, or at a rate: the kernel makes them of one that it
// was given and sends them on from a program of XDP (BPF_F_TEST_XDP_LIVE_FRAMES), seven times as
// fast as by calls for rows of them. At the other end of a veth their way up to where they are
// dropped, or wait, is walked in the flood's time, on its core.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "tests/lab/space.h"

struct frames_bpf;

namespace cw::bench {

/// Thread: one, besides its own, which has its core wholly.
class FrameFlood {
 public:
  /// Out of `interface` of a namespace, as if they came from there; 0 a second: as fast as it goes.
  /// The other end of a veth must have a program of XDP, or join packets (`gro on`).
  FrameFlood(const lab::Space& space, const std::string& interface, std::vector<uint8_t> frame,
             uint64_t per_second, unsigned core);
  ~FrameFlood();
  FrameFlood(const FrameFlood&) = delete;
  FrameFlood& operator=(const FrameFlood&) = delete;

  /// Throws what it could not do.
  uint64_t sent() const;

 private:
  void load(const std::string& interface, uint64_t per_second);
  void run();

  std::vector<uint8_t> frame_;
  frames_bpf* program_ = nullptr;
  std::atomic<bool> is_loaded_ = false, has_failed_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace cw::bench
