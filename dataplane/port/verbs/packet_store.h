// The packets of an RNIC's port, in memory that the device may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/memory/buffers.h"
#include "dataplane/base/memory/pool.h"
#include "dataplane/port.h"

namespace cw::verbs {

/// Thread: the turn's.
class PacketStore {
 public:
  /// `count` of them, each for so many bytes.
  PacketStore(size_t count, uint32_t bytes)
      : bytes_(bytes), pool_(count), buffers_(count, headers_max + bytes) {}

  std::span<uint8_t> memory() const { return buffers_.all(); }
  void set_key(uint32_t key) { key_ = key; }  ///< of that memory, for the device
  uint32_t key() const { return key_; }
  bool holds(const uint8_t* at) const {
    return static_cast<size_t>(at - memory().data()) < memory().size();
  }

  /// Null: all are lent.
  Packet* try_take() {
    Packet* const packet = pool_.try_take();
    if (packet == nullptr) return nullptr;
    *packet = {};
    packet->data = buffers_.at(pool_.index_of(packet)) + headers_max;
    packet->bytes_max = bytes_;
    return packet;
  }
  /// Of a shared one its owner's part.
  void give_back(Packet* packet) {
    if (!try_leave(*packet)) pool_.give_back(packet);
  }

 private:
  /// In front of a packet, for the headers of who writes some, which no device reads.
  static constexpr size_t headers_max = 64;

  uint32_t bytes_;
  uint32_t key_ = 0;
  Pool<Packet> pool_;
  Buffers buffers_;
};

}  // namespace cw::verbs
