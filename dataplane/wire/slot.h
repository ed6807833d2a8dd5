// What a gateway's slot begins with, and what each frame in it begins with (SPEC.md 7.1, 7.2). Both
// lie inside the coded bytes: a slot rebuilt by a code brings its own header.
//
//   slot:  | header 8 | ... tail of an earlier frame | frame header 8 | frame | frame header ...
//                     '------------------- used_bytes ------------------------------------->
//                                                    ^ first_frame, counted from behind the header
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "dataplane/base/endian.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/serial.h"

namespace cw {

inline constexpr size_t slot_header_bytes = 8;
inline constexpr size_t frame_header_bytes = 8;
inline constexpr uint16_t no_frame_start = 0xffff;
inline constexpr unsigned frame_length_bits = 14;
inline constexpr size_t frame_ip_bytes_min = 20;  ///< an IPv4 header

struct SlotHeader {
  MessageSeq seq;           ///< of the message, so that a slot of an earlier life is known for one
  uint16_t used_bytes = 0;  ///< stream bytes behind this header
  uint16_t first_frame = no_frame_start;  ///< where the first frame header begins in them

  bool operator==(const SlotHeader&) const = default;
};

/// What a frame waits for before it is released.
enum class FrameOrder : uint8_t {
  InTurn,  ///< for all earlier frames of its bucket; takes a number
  Behind,  ///< for the frames in turn below its number; takes none
  AtOnce,  ///< for nothing
};

struct FrameHeader {
  uint16_t bytes = 0;   ///< of the IP packet that follows
  uint16_t bucket = 0;  ///< of its flow
  uint32_t bucket_seq = 0;
  FrameOrder order = FrameOrder::InTurn;

  bool operator==(const FrameHeader&) const = default;
};

namespace detail {
struct SlotHeaderLayout {
  be32 seq;
  be16 used_bytes, first_frame;
};
struct FrameHeaderLayout {
  be16 order_and_bytes, bucket;
  be32 bucket_seq;
};
static_assert(sizeof(SlotHeaderLayout) == slot_header_bytes);
static_assert(sizeof(FrameHeaderLayout) == frame_header_bytes);
static_assert(limits::frame_bytes_max < 1u << frame_length_bits);
}  // namespace detail

/// Writes slot_header_bytes at `at`.
inline void encode_slot_header(const SlotHeader& header, uint8_t* at) {
  const detail::SlotHeaderLayout layout{be32(header.seq.value()), be16(header.used_bytes),
                                        be16(header.first_frame)};
  std::memcpy(at, &layout, sizeof(layout));
}

/// Reads the header of a hostile slot. Nothing when the slot is shorter than its header says, or
/// the first frame would not begin within the used bytes. Cost: hot.
inline std::optional<SlotHeader> parse_slot_header(std::span<const uint8_t> slot) {
  detail::SlotHeaderLayout layout;
  if (slot.size() < sizeof(layout)) return std::nullopt;
  std::memcpy(&layout, slot.data(), sizeof(layout));
  const SlotHeader header{MessageSeq(layout.seq.host()), layout.used_bytes.host(),
                          layout.first_frame.host()};
  if (header.used_bytes > slot.size() - sizeof(layout)) return std::nullopt;  // [C-45]
  const bool is_start_inside =
      header.first_frame < header.used_bytes || header.first_frame == no_frame_start;
  return is_start_inside ? std::optional(header) : std::nullopt;  // [C-45]
}

/// Writes frame_header_bytes at `at`.
inline void encode_frame_header(const FrameHeader& header, uint8_t* at) {
  const auto first = static_cast<uint16_t>(
      static_cast<unsigned>(header.order) << frame_length_bits | header.bytes);
  const detail::FrameHeaderLayout layout{be16(first), be16(header.bucket), be32(header.bucket_seq)};
  std::memcpy(at, &layout, sizeof(layout));
}

/// Reads a hostile frame header. Nothing when a frame of that length cannot be. Cost: hot.
inline std::optional<FrameHeader> parse_frame_header(
    std::span<const uint8_t, frame_header_bytes> bytes) {
  detail::FrameHeaderLayout layout;
  std::memcpy(&layout, bytes.data(), sizeof(layout));
  const uint16_t first = layout.order_and_bytes.host();
  const auto length = static_cast<uint16_t>(first & ((1u << frame_length_bits) - 1));
  const auto order = static_cast<FrameOrder>(first >> frame_length_bits);
  const FrameHeader header{length, layout.bucket.host(), layout.bucket_seq.host(), order};
  const bool can_be = length >= frame_ip_bytes_min && length <= limits::frame_bytes_max &&
                      order <= FrameOrder::AtOnce;
  return can_be ? std::optional(header) : std::nullopt;  // [C-48]
}

}  // namespace cw
