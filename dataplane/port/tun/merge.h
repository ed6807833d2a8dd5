// Packets of one TCP connection that follow each other, merged into one of up to 64 KiB: what
// split.h does, undone. The kernel then takes them in one system call and one walk up its stack.
//
// Only what splitting gives back bit by bit is merged: equal headers but for length, sequence
// number, identification (in steps of one), checksums, and the flags that belong to the first or
// the last segment. A packet with a wrong checksum is never merged, for its error would be hidden.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/port/tun/offload.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {

/// Thread: one. Nothing allocates. The packets stay as they are while they are looked at.
class Merger {
 public:
  /// Starts over with a packet of any kind.
  void begin(std::span<const uint8_t> packet);
  /// Adds a packet if it continues those before it.
  bool try_add(std::span<const uint8_t> packet);

  size_t packet_count() const { return count_; }

  /// With at least two packets: the headers of the merged packet, and what must be said of it. Its
  /// payload is that of all packets in order, each behind header_bytes() of its own headers.
  std::span<const uint8_t> write_headers();
  Offload offload() const;
  size_t header_bytes() const { return header_bytes_; }

 private:
  static constexpr size_t header_bytes_max = ip_layout::v6::bytes + ip_layout::tcp::bytes_max;

  bool can_begin();
  bool continues(std::span<const uint8_t> packet) const;
  bool has_right_checksum(std::span<const uint8_t> packet) const;
  size_t payload_bytes(std::span<const uint8_t> packet) const {
    return packet.size() - header_bytes_;
  }

  std::span<const uint8_t> first_;
  bool is_open_ = false;      // more may be added
  bool is_verified_ = false;  // the first packet's checksums have been looked at
  bool is_v4_ = false;
  size_t transport_ = 0;     // where the TCP header begins
  size_t header_bytes_ = 0;  // IP and TCP
  size_t count_ = 0;
  size_t bytes_ = 0;  // of the merged packet
  uint8_t last_flags_ = 0;
  std::array<uint8_t, header_bytes_max> headers_;
};

}  // namespace cw
