// Memory that the device may read or write: the port's own and what is lent to it, by address; and
// windows, each of which is a registration of its own, so that its end is the end of its key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/port/verbs/device/device.h"
#include "dataplane/wan.h"

namespace cw::verbs {

/// Thread: one.
class Memory {
 public:
  explicit Memory(const Device& device) : device_(device) {}

  /// To be read and written here. One registration serves all of equal bounds, until as many
  /// remove(). Errors: the device's; with the limit that they hint at. `where`: it is another
  /// device's, whose descriptor is kept as a duplicate; without one it is memory as any.
  Result<uint32_t> add(std::span<uint8_t> memory, const Dmabuf& where = {});
  /// Nothing is read there any more.
  void remove(std::span<uint8_t> memory);
  /// The key for bytes from `at` on; nothing: they are not ours.
  std::optional<uint32_t> find(const uint8_t* at) {
    const auto offset = static_cast<size_t>(at - latest_.data());
    return offset < latest_.size() ? std::optional(latest_key_) : search(at);
  }
  /// A registration of its own, which peers may write by; null: the device does not want to.
  Registration lay_open(std::span<uint8_t> memory) const;

 private:
  struct Region {
    std::span<uint8_t> memory;
    OwnedFd dmabuf;
    uint64_t dmabuf_offset = 0;
    Registration registration;
    uint32_t uses = 0;
  };

  const Region* holder_of(const uint8_t* at) const;  // null: nobody has registered it
  Registration make(std::span<uint8_t> memory, const Dmabuf& where, int access) const;

  std::optional<uint32_t> search(const uint8_t* at);
  std::vector<Region>::iterator find_region(std::span<const uint8_t> memory);

  const Device& device_;
  std::vector<Region> regions_;
  std::span<const uint8_t> latest_;  // which one was found
  uint32_t latest_key_ = 0;
};

/// Thread: one.
class Windows {
 public:
  /// `count` at most at a time. `memory` lives longer.
  Windows(const Memory& memory, size_t count);

  /// A key of 0: there is none more, or the device does not want to. Two system calls for each
  /// window, and no packet is as short as the message that has it.
  Window open(std::span<uint8_t> memory);
  void close(uint32_t key);
  size_t count() const { return count_; }
  uint64_t refused_count() const { return refused_; }

 private:
  size_t place_of(uint32_t key) const;

  const Memory& memory_;
  size_t count_ = 0, count_max_;
  uint64_t refused_ = 0;
  std::array<uint8_t, 64> nowhere_{};  // for messages without bytes
  std::vector<Registration> table_;    // by key, with linear probing
  size_t mask_;
};

}  // namespace cw::verbs
