// A short text in place, for where nothing may allocate.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cw {

template <size_t Capacity>
  requires(Capacity <= UINT16_MAX)
class FixedText {
 public:
  FixedText() = default;
  /// What is longer is cut off.
  FixedText(std::string_view text)
      : bytes_(static_cast<uint16_t>(std::min(text.size(), Capacity))) {
    std::ranges::copy(text.substr(0, bytes_), text_.begin());
  }

  static constexpr size_t capacity() { return Capacity; }
  std::string_view view() const { return {text_.data(), bytes_}; }
  bool is_empty() const { return bytes_ == 0; }
  friend bool operator==(const FixedText& a, const FixedText& b) { return a.view() == b.view(); }

 private:
  uint16_t bytes_ = 0;
  std::array<char, Capacity> text_;
};

}  // namespace cw
