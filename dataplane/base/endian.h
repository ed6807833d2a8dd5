// Integers as they lie on the wire: most significant byte first, alignment one. They convert only
// when asked, in both directions, so a forgotten byte swap does not compile.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cw {

/// What lies there, of whatever alignment: a big-endian integer below, or one as the machine has
/// it.
template <class T>
T read_at(const uint8_t* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// `Size` bytes of a big-endian unsigned integer that fits `Host`.
template <class Host, size_t Size>
class BigEndian {
 public:
  static_assert(Size <= sizeof(Host));
  static constexpr Host max = static_cast<Host>(~Host{0}) >> (8 * (sizeof(Host) - Size));

  /// Leaves the bytes as they are, so that a header can be laid over a received packet.
  BigEndian() = default;
  /// Bits of `value` above the width are cut off.
  explicit constexpr BigEndian(Host value) {
    if (is_one_load && !std::is_constant_evaluated()) {
      value = std::byteswap(value);
      std::memcpy(bytes_, &value, Size);
      return;
    }
    for (size_t i = 0; i < Size; ++i) {
      bytes_[i] = static_cast<uint8_t>(value >> (8 * (Size - 1 - i)));
    }
  }
  constexpr Host host() const {
    Host value = 0;
    if (is_one_load && !std::is_constant_evaluated()) {
      std::memcpy(&value, bytes_, Size);
      return std::byteswap(value);
    }
    for (size_t i = 0; i < Size; ++i) value = static_cast<Host>(value << 8 | bytes_[i]);
    return value;
  }
  constexpr bool operator==(const BigEndian&) const = default;

 private:
  // GCC 12 does not see one load and one byte swap in the loops below; packet code would pay for
  // it.
  static constexpr bool is_one_load =
      Size == sizeof(Host) && std::endian::native == std::endian::little;

  uint8_t bytes_[Size];
};

using be16 = BigEndian<uint16_t, 2>;
using be24 = BigEndian<uint32_t, 3>;
using be32 = BigEndian<uint32_t, 4>;
using be64 = BigEndian<uint64_t, 8>;

static_assert(sizeof(be16) == 2 && sizeof(be24) == 3 && sizeof(be32) == 4 && sizeof(be64) == 8);
static_assert(alignof(be64) == 1);

}  // namespace cw
