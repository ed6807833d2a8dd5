// A packet of many segments, as a kernel with segmentation offload hands it out, cut into the
// packets that a network would carry: TCP (sequence numbers, flags) and UDP, over IPv4
// (identification, header checksum) and IPv6, each with its own right checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/port/tun/offload.h"

namespace cw {

/// Cuts one packet, piece by piece. Never reads or writes outside what it was given, whatever the
/// headers say. Thread: one. Nothing allocates.
class Splitter {
 public:
  /// With nothing to cut.
  Splitter() = default;

  /// `packet` stays as it is until the last next(). Nothing when its headers do not fit the kind of
  /// `offload`, or lie outside it.
  static std::optional<Splitter> make(std::span<const uint8_t> packet, const Offload& offload);

  /// Of the longest piece.
  size_t piece_bytes_max() const;
  size_t pieces_left() const;
  /// Writes the next piece, which must be there; `out` holds piece_bytes_max(). Returns its length.
  size_t next(std::span<uint8_t> out);

 private:
  size_t payload_bytes() const { return packet_.size() - header_bytes_; }
  void write_ip(std::span<uint8_t> piece) const;
  void write_tcp(std::span<uint8_t> piece) const;

  std::span<const uint8_t> packet_;
  bool is_v4_ = false, is_tcp_ = false;
  size_t transport_ = 0;     // where the TCP or UDP header begins
  size_t header_bytes_ = 0;  // all headers
  size_t segment_bytes_ = 1;
  uint16_t base_sum_ = 0;  // of the pseudo header, but for the length
  size_t offset_ = 0;      // payload that has been cut off
  uint16_t index_ = 0;
};

}  // namespace cw
