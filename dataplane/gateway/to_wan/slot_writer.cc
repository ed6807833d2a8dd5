#include "dataplane/gateway/to_wan/slot_writer.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/gateway/ingress/ip_packet.h"

namespace cw::gateway {
namespace {

constexpr size_t framed_bytes_max = frame_header_bytes + limits::frame_bytes_max;
constexpr size_t room_min = limits::payload_bytes_min - slot_header_bytes;
constexpr size_t slots_min = (framed_bytes_max + room_min - 1) / room_min;

/// What a slot shows of a frame. CE stays inside: the outer header has its own to gather, and the
/// exit adds the two up (RFC 6040).
uint8_t outer_ecn_of(uint8_t inner) { return inner == ecn_ce ? ecn_ect0 : inner; }

uint8_t joint_ecn(uint8_t a, uint8_t b) {
  if (a == ecn_not_capable || b == ecn_not_capable) return ecn_not_capable;
  return a == b ? a : ecn_ect0;
}

}  // namespace

Result<SlotWriter> SlotWriter::make(sdr::Source stream, bool pads) {
  const sdr::StreamConfig& config = stream.config();
  if (config.data_slots_max < slots_min) {
    return failure("a message has " + std::to_string(config.data_slots_max) +
                   " slots: a frame of " + std::to_string(limits::frame_bytes_max) +
                   " bytes needs " + std::to_string(slots_min) + " of the smallest");
  }
  return SlotWriter(stream, pads);
}

SlotWriter::SlotWriter(sdr::Source stream, bool pads)
    : stream_(stream), pads_(pads), slots_max_(stream.config().data_slots_max) {}

void SlotWriter::restart(Instant now) {
  abandon();
  const sdr::StreamConfig& config = stream_.config();
  CW_ASSERT(config.payload_bytes >= limits::payload_bytes_min);
  room_ = config.payload_bytes - static_cast<uint32_t>(slot_header_bytes);
  last_append_ = now;
}

Appended SlotWriter::append(const FrameHeader& header, std::span<const uint8_t> packet,
                            FrameMarks marks, Instant now) {
  CW_DCHECK(packet.size() == header.bytes);
  marks.ecn = outer_ecn_of(marks.ecn);
  const size_t bytes = frame_header_bytes + packet.size();
  // A message may be over before it is full, when its receiver has given it up; the next one is
  // not concerned.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (room_ == 0 || !stream_.is_started()) return Appended::Broken;
    if (handle_ && !std::exchange(is_end_known_, true)) {
      // The slot under way counts: a message whose policy is to go has no more than it has.
      const uint32_t begun = slot_ + (used_ > 0 ? 1 : 0);
      slots_end_ = std::max(begun, std::min(slots_max_, stream_.slots_max(*handle_)));
    }
    if (handle_ && bytes > message_rest()) close(now);  // [C-47]
    if (!handle_) {
      if (!try_open()) return Appended::NoRoom;
      is_end_known_ = false;
    }
    if (!has_packets(bytes)) return Appended::NoRoom;
    if (!try_write(header, packet, marks, now)) continue;
    last_append_ = now;
    return Appended::Taken;
  }
  return Appended::Broken;
}

void SlotWriter::end_turn(Instant now) {
  if (handle_ && used_ > 0) try_flush(now);
  is_end_known_ = false;  // it changes between turns
}

void SlotWriter::on_time(Instant now) {
  if (next_due() <= now) close(now);
}

bool SlotWriter::try_open() {
  handle_ = stream_.try_open({});
  if (!handle_) return false;
  slot_ = 0;
  slots_end_ = slots_max_;
  frames_ = 0;
  begin_slot();
  return true;
}

/// For all that does not fit the slot under way.
bool SlotWriter::has_packets(size_t bytes) const {
  const size_t here = memory_ == nullptr ? 0 : room_ - used_;
  return bytes <= here || stream_.has_packets(*handle_, (bytes - here + room_ - 1) / room_);
}

void SlotWriter::close(Instant now) {
  end_turn(now);
  if (!handle_) return;  // that slot was the last, or the message was over
  // Fails only for a message that is over, which needs no closing.
  (void)stream_.close(*handle_, frames_);
  stream_.forget(*handle_);
  handle_.reset();
}

void SlotWriter::abandon() {
  if (handle_) stream_.forget(*handle_);
  handle_.reset();
  lost_ += ends_in_slot_;
  begin_slot();
}

void SlotWriter::begin_slot() {
  memory_ = nullptr;
  used_ = 0;
  ends_in_slot_ = 0;
  first_frame_ = no_frame_start;
}

/// Where the next byte of the slot under way goes.
uint8_t* SlotWriter::put_at() {
  if (memory_ == nullptr) memory_ = stream_.slot_memory(*handle_);
  return memory_ + slot_header_bytes + used_;
}

bool SlotWriter::try_flush(Instant now) {
  encode_slot_header({handle_->seq, static_cast<uint16_t>(used_), first_frame_}, memory_);
  const uint32_t bytes = pads_ ? fill_up() : used_;
  const sdr::SlotPiece piece{static_cast<uint16_t>(slot_header_bytes + bytes), marks_.ecn,
                             marks_.dscp};
  if (!stream_.append_slot(*handle_, piece, marks_.since)) {
    abandon();
    return false;
  }
  sent_ += ends_in_slot_;
  frames_ += ends_in_slot_;
  begin_slot();
  if (++slot_ >= slots_end_) close(now);
  return true;
}

/// Its header says where the zeros begin.
uint32_t SlotWriter::fill_up() {
  std::memset(memory_ + slot_header_bytes + used_, 0, room_ - used_);
  return room_;
}

void SlotWriter::touch(FrameMarks marks) {
  if (used_ > 0) {
    marks_.ecn = joint_ecn(marks_.ecn, marks.ecn);
  } else {
    marks_ = marks;
  }
}

bool SlotWriter::try_write(const FrameHeader& header, std::span<const uint8_t> packet,
                           FrameMarks marks, Instant now) {
  if (first_frame_ == no_frame_start) first_frame_ = static_cast<uint16_t>(used_);
  const size_t bytes = frame_header_bytes + packet.size();
  if (bytes <= room_ - used_) {
    touch(marks);
    uint8_t* const at = put_at();
    encode_frame_header(header, at);
    std::memcpy(at + frame_header_bytes, packet.data(), packet.size());
    used_ += static_cast<uint32_t>(bytes);
  } else if (!try_put_header(header, marks, now) || !try_put(packet, marks, now)) {
    return false;
  }
  ++ends_in_slot_;
  if (used_ == room_) try_flush(now);
  return true;
}

bool SlotWriter::try_put_header(const FrameHeader& header, FrameMarks marks, Instant now) {
  if (room_ - used_ < frame_header_bytes) {
    uint8_t encoded[frame_header_bytes];
    encode_frame_header(header, encoded);
    return try_put(encoded, marks, now);
  }
  touch(marks);
  encode_frame_header(header, put_at());
  used_ += static_cast<uint32_t>(frame_header_bytes);
  return true;
}

bool SlotWriter::try_put(std::span<const uint8_t> bytes, FrameMarks marks, Instant now) {
  while (!bytes.empty()) {
    if (used_ == room_ && !try_flush(now)) return false;
    touch(marks);
    const size_t count = std::min<size_t>(bytes.size(), room_ - used_);
    std::memcpy(put_at(), bytes.data(), count);
    used_ += static_cast<uint32_t>(count);
    bytes = bytes.subspan(count);
  }
  return true;
}

}  // namespace cw::gateway
