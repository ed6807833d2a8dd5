// A capture file of Ethernet frames for tests, in either order of bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <fstream>
#include <span>
#include <string>

#include "tests/unit/wire/capture.h"

namespace cw::test {

class PcapngText {
 public:
  explicit PcapngText(bool is_swapped) : is_swapped_(is_swapped) {
    const size_t section = begin(0x0a0d0d0a);
    put(uint32_t{0x1a2b3c4d}), put(uint16_t{1}), put(uint16_t{0}), put(~uint64_t{0});
    end(section);
    const size_t interface = begin(1);
    put(uint16_t{1}), put(uint16_t{0}), put(uint32_t{0});
    end(interface);
  }
  /// Of which the capture has `here` bytes.
  void add(const ByteVector& frame, size_t here) {
    const size_t packet = begin(6);
    put(uint32_t{0}), put(uint32_t{0}), put(uint32_t{7});
    put(static_cast<uint32_t>(here)), put(static_cast<uint32_t>(frame.size()));
    text_.append(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(here));
    end(packet);
  }
  void add(const ByteVector& frame) { add(frame, frame.size()); }
  /// That tells something else.
  void add_other(uint32_t type) {
    const size_t other = begin(type);
    text_ += "something";
    end(other);
  }
  const std::string& text() const { return text_; }

 private:
  template <class T>
  void put(T value) {
    if (is_swapped_) value = std::byteswap(value);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  size_t begin(uint32_t type) {
    const size_t at = text_.size();
    put(type), put(uint32_t{0});
    return at;
  }
  void end(size_t at) {
    text_.resize((text_.size() + 3) & ~size_t{3});
    const auto bytes = static_cast<uint32_t>(text_.size() - at + 4);
    put(bytes);
    std::copy_n(text_.end() - 4, 4, text_.begin() + static_cast<ptrdiff_t>(at) + 4);
  }

  bool is_swapped_;
  std::string text_;
};

}  // namespace cw::test
