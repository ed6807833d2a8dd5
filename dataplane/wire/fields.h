// One list of fields for both directions. A record names its fields once, in wire order,
//
//   static void fields(auto& probe, auto& wire) { wire(probe.qp, zeros<2>, probe.next_seq); }
//
// and three codecs walk that list: FieldCounter (how long would it be), FieldWriter and
// FieldReader. So an encoder and its decoder cannot drift apart. Integers travel big-endian in the
// width of their C++ type. A field without a length of its own (text, rows, fill) reaches to the
// end of the body and is therefore the last one of its record.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "dataplane/base/endian.h"
#include "dataplane/base/serial.h"

namespace cw {

/// Reserved bytes: written as zeros; anything else is refused when read.
template <size_t Count>
struct Zeros {};
template <size_t Count>
inline constexpr Zeros<Count> zeros{};

/// Zero bytes to the end of the body, however many [C-19].
struct ZeroFill {
  uint16_t bytes = 0;
  bool operator==(const ZeroFill&) const = default;
};

/// Entries to the end of the body, in wire layout (bytes, or structs of be16/32/64). Read: a view
/// into the packet, alive as long as its bytes.
template <class Entry>
struct Row : std::span<const Entry> {
  static_assert(alignof(Entry) == 1 && std::is_trivially_copyable_v<Entry>);
  using std::span<const Entry>::span;
  bool operator==(const Row& other) const { return std::ranges::equal(*this, other); }
};

/// A name and a text, on the wire with one zero byte between them. Neither contains a zero byte.
/// Views: read, they point into the packet. Hostile: escape them before they are printed [C-17].
struct NamedText {
  std::string_view name;
  std::string_view text;

  bool is_valid() const {
    return !name.empty() && name.find('\0') == name.npos && text.find('\0') == text.npos;
  }
  bool operator==(const NamedText&) const = default;
};

template <class T>
concept WireInteger = (std::unsigned_integral<T> && !std::same_as<T, bool>) || std::is_enum_v<T>;

/// Adds up the bytes that a record's fields take.
class FieldCounter {
 public:
  void operator()(const auto&... field) { (add(field), ...); }
  size_t bytes() const { return bytes_; }

 private:
  void add(const WireInteger auto& value) { bytes_ += sizeof(value); }
  void add(const MessageSeq&) { bytes_ += 4; }
  template <size_t Count>
  void add(const Zeros<Count>&) {
    bytes_ += Count;
  }
  void add(const ZeroFill& fill) { bytes_ += fill.bytes; }
  void add(const NamedText& named) { bytes_ += named.name.size() + 1 + named.text.size(); }
  void add(const std::string_view& text) { bytes_ += text.size(); }
  template <class Entry>
  void add(const Row<Entry>& row) {
    bytes_ += row.size_bytes();
  }

  size_t bytes_ = 0;
};

/// Writes fields from `at` on. The room was counted before: nothing is checked here.
class FieldWriter {
 public:
  explicit FieldWriter(uint8_t* at) : at_(at) {}
  void operator()(const auto&... field) { (add(field), ...); }

 private:
  void put(const void* bytes, size_t count) {
    if (count > 0) std::memcpy(at_, bytes, count);
    at_ += count;
  }
  void put_zeros(size_t count) {
    if (count > 0) std::memset(at_, 0, count);
    at_ += count;
  }
  template <std::unsigned_integral T>
  void add(const T& value) {
    const BigEndian<T, sizeof(T)> wire(value);
    put(&wire, sizeof(wire));
  }
  template <class T>
    requires std::is_enum_v<T>
  void add(const T& value) {
    add(static_cast<std::underlying_type_t<T>>(value));
  }
  void add(const MessageSeq& seq) { add(seq.value()); }
  template <size_t Count>
  void add(const Zeros<Count>&) {
    put_zeros(Count);
  }
  void add(const ZeroFill& fill) { put_zeros(fill.bytes); }
  void add(const NamedText& named) {
    add(named.name);
    put_zeros(1);
    add(named.text);
  }
  void add(const std::string_view& text) { put(text.data(), text.size()); }
  template <class Entry>
  void add(const Row<Entry>& row) {
    put(row.data(), row.size_bytes());
  }

  uint8_t* at_;
};

/// Reads fields from a hostile body and never beyond it. After the first field that does not fit
/// its bytes, the rest of the fields keep their values and is_complete() is false.
class FieldReader {
 public:
  explicit FieldReader(std::span<const uint8_t> body) : rest_(body) {}
  void operator()(auto&&... field) { (add(field), ...); }
  /// All fields were there, and nothing behind them.
  bool is_complete() const { return is_sound_ && rest_.empty(); }

 private:
  /// The next `count` bytes; empty, and the reader unsound, when there are fewer.
  std::span<const uint8_t> take(size_t count) {
    is_sound_ = is_sound_ && count <= rest_.size();
    if (!is_sound_) return {};
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  void take_zeros(size_t count) {
    const auto taken = take(count);
    is_sound_ = is_sound_ && std::ranges::all_of(taken, [](uint8_t byte) { return byte == 0; });
  }
  std::string_view take_text(size_t count) {
    const auto taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  template <std::unsigned_integral T>
  void add(T& value) {
    const auto taken = take(sizeof(T));
    if (taken.empty()) return;
    BigEndian<T, sizeof(T)> wire;
    std::memcpy(&wire, taken.data(), sizeof(wire));
    value = wire.host();
  }
  template <class T>
    requires std::is_enum_v<T>
  void add(T& value) {
    auto number = static_cast<std::underlying_type_t<T>>(value);
    add(number);
    value = static_cast<T>(number);
  }
  void add(MessageSeq& seq) {
    uint32_t value = seq.value();
    add(value);
    seq = MessageSeq(value);
  }
  template <size_t Count>
  void add(const Zeros<Count>&) {
    take_zeros(Count);
  }
  void add(ZeroFill& fill) {
    fill.bytes = static_cast<uint16_t>(rest_.size());  // a body's length is 16 bits
    take_zeros(rest_.size());
  }
  void add(NamedText& named) {
    const auto end = std::ranges::find(rest_, uint8_t{0});
    if (end == rest_.end()) {
      is_sound_ = false;
      return;
    }
    named.name = take_text(static_cast<size_t>(end - rest_.begin()));
    take_zeros(1);
    add(named.text);
  }
  void add(std::string_view& text) { text = take_text(rest_.size()); }
  template <class Entry>
  void add(Row<Entry>& row) {
    const size_t count = rest_.size() / sizeof(Entry);
    const auto taken = take(count * sizeof(Entry));
    row = Row<Entry>(reinterpret_cast<const Entry*>(taken.data()), taken.size() / sizeof(Entry));
  }

  std::span<const uint8_t> rest_;
  bool is_sound_ = true;
};

}  // namespace cw
