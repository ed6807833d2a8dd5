// Which hosts share a link with an address of ours.
#include <gtest/gtest.h>

#include "dataplane/port/dpdk/dpdk_lan_port.h"

#include "tests/property/property.h"

namespace cw::test {
namespace {

bool has_bit(const HostAddress& it, unsigned bit) { return it.ip[bit / 8] >> (7 - bit % 8) & 1; }

void expect_prefix_decides() {
  const bool is_v4 = *rc::gen::arbitrary<bool>();
  const unsigned bits_max = is_v4 ? 32 : 128;
  LanAddress ours;
  ours.ip.version = is_v4 ? IpVersion::V4 : IpVersion::V6;
  ours.bits = static_cast<uint8_t>(*rc::gen::inRange(0u, bits_max + 1));
  for (unsigned i = 0; i < bits_max / 8; ++i) ours.ip.ip[i] = *rc::gen::arbitrary<uint8_t>();
  HostAddress other = ours.ip;
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    const unsigned bit = *rc::gen::inRange(0u, bits_max);
    other.ip[bit / 8] ^= static_cast<uint8_t>(0x80 >> bit % 8);
  }
  bool is_alike = true;
  for (unsigned bit = 0; bit < ours.bits; ++bit) {
    is_alike &= has_bit(ours.ip, bit) == has_bit(other, bit);
  }
  RC_ASSERT(ours.is_on_link(other) == is_alike);
  other.version = is_v4 ? IpVersion::V6 : IpVersion::V4;
  RC_ASSERT(!ours.is_on_link(other));
}

TEST(LanAddress, has_on_its_link_who_begins_with_the_same_bits) {
  EXPECT_TRUE(rc::check("the prefix decides", expect_prefix_decides));
}

}  // namespace
}  // namespace cw::test
