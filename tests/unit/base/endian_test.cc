#include "dataplane/base/endian.h"

#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>

#include "tests/property/property.h"

namespace cw {
namespace {

// What must not compile, for every width: a forgotten conversion in either direction, and a
// comparison of wire bytes with a host number. What must hold: a header overlays any byte address.
template <class Wire, class Host>
constexpr bool refuses_implicit_conversion() {
  return !std::is_convertible_v<Host, Wire> && !std::is_convertible_v<Wire, Host> &&
         !std::is_constructible_v<Host, Wire> && !std::is_assignable_v<Wire&, Host> &&
         !std::equality_comparable_with<Wire, Host> && !std::is_convertible_v<Wire, bool>;
}
static_assert(refuses_implicit_conversion<be16, uint16_t>());
static_assert(refuses_implicit_conversion<be24, uint32_t>());
static_assert(refuses_implicit_conversion<be32, uint32_t>());
static_assert(refuses_implicit_conversion<be64, uint64_t>());
static_assert(!std::is_convertible_v<be16, be32> && !std::is_constructible_v<be32, be16>);

template <class Wire>
constexpr bool overlays_bytes(size_t size) {
  return sizeof(Wire) == size && alignof(Wire) == 1 && std::is_trivial_v<Wire> &&
         std::is_standard_layout_v<Wire>;
}
static_assert(overlays_bytes<be16>(2) && overlays_bytes<be24>(3));
static_assert(overlays_bytes<be32>(4) && overlays_bytes<be64>(8));

static_assert(be16::max == 0xffff && be24::max == 0xffffff);
static_assert(be32::max == 0xffffffff && be64::max == UINT64_MAX);
static_assert(be24(0x123456).host() == 0x123456, "usable in constant expressions");

template <class Wire>
std::string bytes_of(Wire wire) {
  return std::string(reinterpret_cast<const char*>(&wire), sizeof wire);
}

TEST(BigEndian, lies_most_significant_byte_first) {
  EXPECT_EQ(bytes_of(be16(0x0102)), "\x01\x02");
  EXPECT_EQ(bytes_of(be24(0x010203)), "\x01\x02\x03");
  EXPECT_EQ(bytes_of(be32(0x01020304)), "\x01\x02\x03\x04");
  EXPECT_EQ(bytes_of(be64(0x0102030405060708)), "\x01\x02\x03\x04\x05\x06\x07\x08");
}

TEST(BigEndian, cuts_off_the_bits_above_its_width) {
  EXPECT_EQ(be24(0xff000001).host(), 1u);
  EXPECT_EQ(be24(be24::max + 1), be24(0));
}

TEST(BigEndian, reads_from_an_odd_address) {
  const unsigned char bytes[] = {0xee, 0xde, 0xad, 0xbe, 0xef};
  be32 wire;
  std::memcpy(&wire, bytes + 1, sizeof wire);
  EXPECT_EQ(wire.host(), 0xdeadbeefu);
}

RC_GTEST_PROP(BigEndian, gives_back_what_was_put_in, (uint64_t value)) {
  RC_ASSERT(be16(static_cast<uint16_t>(value)).host() == static_cast<uint16_t>(value));
  RC_ASSERT(be24(static_cast<uint32_t>(value)).host() == (value & be24::max));
  RC_ASSERT(be32(static_cast<uint32_t>(value)).host() == static_cast<uint32_t>(value));
  RC_ASSERT(be64(value).host() == value);
}

RC_GTEST_PROP(BigEndian, is_equal_exactly_when_the_numbers_are, (uint32_t a, uint32_t b)) {
  RC_ASSERT((be32(a) == be32(b)) == (a == b));
  RC_ASSERT(be32(a) == be32(a));
}

}  // namespace
}  // namespace cw
