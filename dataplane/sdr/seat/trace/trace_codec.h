// How a trace is written: numbers as differences from the same field of the same kind before, seven
// bits a byte, so that what counts up or stays takes one.
//
//   "CWTRACE1", policy, version, wire version, parameters, what it was made for (cw_env)
//   { kind, time, [has memory], fields, what follows }     one call into the policy
//   { 0x80 | kind, fields, what follows } ...              what it decided in that call
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace cw::sdr {

inline constexpr std::string_view trace_magic = "CWTRACE1";
inline constexpr uint8_t trace_decision_bit = 0x80;
inline constexpr size_t trace_fields_max = 20;  // of one kind

/// What each field of each kind was last.
using TraceBefore = std::array<uint64_t, trace_fields_max>;

/// A field as a number; a double as its bits.
template <class Field>
uint64_t trace_number(Field field) {
  if constexpr (std::is_same_v<Field, double>) {
    return std::bit_cast<uint64_t>(field);
  } else {
    return static_cast<uint64_t>(field);
  }
}
template <class Field>
Field trace_field(uint64_t number) {
  if constexpr (std::is_same_v<Field, double>) {
    return std::bit_cast<double>(number);
  } else {
    return static_cast<Field>(number);
  }
}

/// Small for what is near zero on either side.
constexpr uint64_t folded(uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}
constexpr uint64_t unfolded(uint64_t number) { return number >> 1 ^ (0 - (number & 1)); }

/// Writes into memory that is there; what has no room is left out, and told.
class TraceWriter {
 public:
  explicit TraceWriter(std::span<uint8_t> room) : room_(room) {}

  size_t used() const { return used_; }
  bool is_full() const { return is_full_; }

  void put_byte(uint8_t byte) {
    if (used_ == room_.size()) {
      is_full_ = true;
      return;
    }
    room_[used_++] = byte;
  }
  void put(uint64_t number) {
    for (; number >= 0x80; number >>= 7) put_byte(static_cast<uint8_t>(number | 0x80));
    put_byte(static_cast<uint8_t>(number));
  }
  void put_bytes(std::span<const uint8_t> bytes) {
    if (room_.size() - used_ < bytes.size()) {
      is_full_ = true;
      return;
    }
    if (!bytes.empty()) std::memcpy(&room_[used_], bytes.data(), bytes.size());
    used_ += bytes.size();
  }
  void put_text(std::string_view text) {
    put(text.size());
    put_bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  void put_difference(uint64_t number, uint64_t& before) {
    put(folded(number - before));
    before = number;
  }

 private:
  std::span<uint8_t> room_;
  size_t used_ = 0;
  bool is_full_ = false;
};

/// Reads what may be anything: beyond the end, and where a number is none, all are zero.
class TraceBytes {
 public:
  explicit TraceBytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool is_at_end() const { return at_ == bytes_.size(); }
  bool has_failed() const { return has_failed_; }
  size_t at() const { return at_; }
  uint8_t peek() const { return is_at_end() ? 0 : bytes_[at_]; }

  uint8_t byte() {
    if (is_at_end()) return fail();
    return bytes_[at_++];
  }
  uint64_t number() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      number |= uint64_t{next & 0x7fu} << shift;
      if (next < 0x80) return number;
    }
    return fail();
  }
  std::span<const uint8_t> bytes(uint64_t count) {
    if (count > bytes_.size() - at_) return fail(), std::span<const uint8_t>();
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  std::string_view text() {
    const auto its = bytes(number());
    return {reinterpret_cast<const char*>(its.data()), its.size()};
  }
  uint64_t difference(uint64_t& before) {
    before += unfolded(number());
    return before;
  }
  uint8_t fail() {
    has_failed_ = true;
    at_ = bytes_.size();
    return 0;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool has_failed_ = false;
};

}  // namespace cw::sdr
