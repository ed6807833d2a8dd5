// One queue of a TUN device of the kernel: opened or made, and closed with the object. A device
// that nobody made persistent is gone with its last queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "dataplane/base/result.h"
#include "dataplane/port/descriptor_store.h"

namespace cw {

struct TunDeviceOptions {
  std::string name;  ///< at most 15 characters; empty: the kernel chooses, tun0 and so on
  uint32_t mtu = 0;  ///< 0: leave it as it is, 1500 for a new device
  /// Further queues may join under the same name, and this one may. Each flow stays on one of them
  /// as long as there are as many (tun_steering.h).
  bool multi_queue = false;
  bool offload = true;               ///< checksums and segmentation are ours to do
  bool up = true;                    ///< set the interface up
  size_t queue = 0, queues = 1;      ///< which this is, of how many; for the store
  DescriptorStore* store = nullptr;  ///< where queues of an earlier life may be, and this one goes
};

/// Thread: one.
class TunDevice {
 public:
  /// Errors: no TUN in this kernel; no right to it (the sentence names the capability and the way
  /// without); the name is taken or no TUN device; the MTU cannot be had; several queues cannot.
  static Result<TunDevice> make(const TunDeviceOptions& options);

  TunDevice(TunDevice&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        name_(std::move(other.name_)),
        mtu_(other.mtu_),
        has_offload_(other.has_offload_),
        is_taken_(other.is_taken_) {}
  TunDevice& operator=(TunDevice&&) = delete;
  ~TunDevice();

  int fd() const { return fd_; }
  const std::string& name() const { return name_; }
  uint32_t mtu() const { return mtu_; }
  /// Packets may come with checksums to finish, and TCP packets with many segments.
  bool has_offload() const { return has_offload_; }
  /// An earlier life has made it, with its addresses and routes.
  bool is_taken() const { return is_taken_; }

 private:
  explicit TunDevice(int fd) : fd_(fd) {}
  static Result<TunDevice> open_one(const TunDeviceOptions& options);
  Result<void> attach(const TunDeviceOptions& options);
  Result<void> agree(const TunDeviceOptions& options);
  Result<void> set_up(const TunDeviceOptions& options);

  int fd_;
  std::string name_;
  uint32_t mtu_ = 0;
  bool has_offload_ = false, is_taken_ = false;
};

}  // namespace cw
