#include "dataplane/wire/immediate.h"

#include <gtest/gtest.h>

#include "tests/property/property.h"

namespace cw::test {
namespace {

TEST(Immediate, the_golden_split_puts_the_id_on_top) {
  // As the captured packets of tests/data have it: 5 << 22 | i << 4 | i.
  EXPECT_EQ(split_default.pack({5, 9, 9}), 5u << 22 | 9u << 4 | 9u);
  EXPECT_EQ(split_default.unpack(0xffffffff), (ImmediateSplit::Parts{1023, 262143, 15}));
  EXPECT_EQ(split_long_messages.unpack(0x12345678), (ImmediateSplit::Parts{0x12, 0xd159e, 0}));
  EXPECT_EQ(split_multicast.unpack(0x12345678), (ImmediateSplit::Parts{0x12, 0x345678, 0}));
}

TEST(Immediate, the_user_immediate_takes_8_slots_or_16_or_cannot_travel_in_slots) {
  EXPECT_EQ(split_default.fragment_count(), 8u);
  EXPECT_EQ(split_long_messages.fragment_count(), 16u);
  EXPECT_EQ(split_multicast.fragment_count(), 0u);
  EXPECT_EQ(ImmediateSplit(9, 20, 3).fragment_count(), 11u);
  EXPECT_EQ(split_default.fragment(0xfeedbeef, 0), 0xfu);
  EXPECT_EQ(split_default.fragment(0xfeedbeef, 8 + 3), 0xbu);
  EXPECT_EQ(split_multicast.fragment(0xfeedbeef, 1), 0u);
  // The worked example of SPEC.md 7.3.
  EXPECT_EQ(split_default.pack({5, 9, split_default.fragment(0xfeedbeef, 9)}), 0x0140009eu);
}

TEST(Immediate, refuses_widths_that_do_not_fill_32_bits_or_exceed_the_limits) {
  EXPECT_TRUE(ImmediateSplit::can_be(10, 18, 4));
  EXPECT_FALSE(ImmediateSplit::can_be(10, 18, 5));
  EXPECT_FALSE(ImmediateSplit::can_be(11, 18, 3));
  EXPECT_FALSE(ImmediateSplit::can_be(7, 25, 0));
  EXPECT_FALSE(ImmediateSplit::can_be(0, 24, 8));
  EXPECT_FALSE(ImmediateSplit::can_be(10, 0, 22));
  EXPECT_FALSE(ImmediateSplit::can_be(8, 24, 256));
}

ImmediateSplit any_split() {
  const unsigned id_bits = *rc::gen::inRange(1u, 11u);
  const unsigned slot_bits = *rc::gen::inRange(1u, 25u);
  if (!ImmediateSplit::can_be(id_bits, slot_bits, 32 - id_bits - slot_bits)) return split_multicast;
  return {id_bits, slot_bits, 32 - id_bits - slot_bits};
}

RC_GTEST_PROP(Immediate, packs_what_it_unpacks, (uint32_t immediate)) {
  const ImmediateSplit split = any_split();
  RC_ASSERT(split.pack(split.unpack(immediate)) == immediate);
}

RC_GTEST_PROP(Immediate, any_row_of_slots_as_long_as_the_count_carries_the_whole_user_immediate,
              (uint32_t user, uint16_t first)) {
  const ImmediateSplit split = any_split();
  RC_PRE(split.user_bits() > 0);
  uint32_t gathered = ~user;
  // From a multiple of the count on, or from anywhere: the fragments are the same.
  for (uint32_t slot = first; slot < first + split.fragment_count(); ++slot) {
    gathered = split.with_fragment(gathered, slot, split.fragment(user, slot));
  }
  RC_ASSERT(gathered == user);
}

}  // namespace
}  // namespace cw::test
