#include "dataplane/wire/slot.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/property/property.h"
#include "tests/unit/wire_control/key.h"

namespace cw::test {
namespace {

std::vector<uint8_t> slot_of(const SlotHeader& header, size_t bytes) {
  std::vector<uint8_t> slot(bytes);
  encode_slot_header(header, slot.data());
  return slot;
}
bool is_taken(uint16_t used, uint16_t first, size_t bytes) {
  return parse_slot_header(ExactCopy(slot_of({MessageSeq(1), used, first}, bytes))).has_value();
}

TEST(Slot, the_header_lies_as_specified) {
  const auto slot = slot_of({MessageSeq(0x01020304), 0x0506, 0x0102}, 0x0506 + 8);
  EXPECT_EQ(std::vector(slot.begin(), slot.begin() + 8),
            (std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 1, 2}));
  EXPECT_EQ(parse_slot_header(slot), (SlotHeader{MessageSeq(0x01020304), 0x0506, 0x0102}));
}

TEST(Slot, uses_no_more_bytes_than_it_has) {
  EXPECT_TRUE(is_taken(92, no_frame_start, 100));
  EXPECT_FALSE(is_taken(93, no_frame_start, 100));
  EXPECT_FALSE(is_taken(0xffff, no_frame_start, 100));
  EXPECT_TRUE(is_taken(0, no_frame_start, 8));
}

TEST(Slot, the_first_frame_begins_within_the_used_bytes) {
  EXPECT_TRUE(is_taken(50, 0, 100));
  EXPECT_TRUE(is_taken(50, 49, 100));
  EXPECT_FALSE(is_taken(50, 50, 100));
  EXPECT_FALSE(is_taken(0, 0, 100));
  EXPECT_FALSE(is_taken(50, 0xfffe, 100));
}

TEST(Slot, a_slot_shorter_than_its_header_is_refused) {
  const auto slot = slot_of({}, 8);
  for (size_t count = 0; count < 8; ++count) {
    EXPECT_FALSE(parse_slot_header(ExactCopy(std::span(slot).first(count))));
  }
}

std::optional<FrameHeader> parsed(const FrameHeader& header) {
  uint8_t bytes[frame_header_bytes];
  encode_frame_header(header, bytes);
  return parse_frame_header(bytes);
}

TEST(Frame, the_header_lies_as_specified) {
  uint8_t bytes[frame_header_bytes];
  encode_frame_header({0x0102, 0x0304, 0x05060708}, bytes);
  EXPECT_EQ(std::vector(bytes, bytes + 8), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Frame, is_as_long_as_an_ip_packet_can_be) {
  EXPECT_FALSE(parsed({0, 1, 2}));
  EXPECT_FALSE(parsed({19, 1, 2}));
  EXPECT_TRUE(parsed({20, 1, 2}));
  EXPECT_TRUE(parsed({limits::frame_bytes_max, 1, 2}));
  EXPECT_FALSE(parsed({limits::frame_bytes_max + 1, 1, 2}));
}

TEST(Frame, says_in_its_first_two_bits_what_it_waits_for) {
  for (const auto order : {FrameOrder::InTurn, FrameOrder::Behind, FrameOrder::AtOnce}) {
    const FrameHeader header{limits::frame_bytes_max, 1, 2, order};
    EXPECT_EQ(parsed(header), header);
  }
  EXPECT_FALSE(parsed({20, 1, 2, static_cast<FrameOrder>(3)}));
}

RC_GTEST_PROP(Slot, headers_come_back_as_they_went, (uint32_t seq, uint32_t bucket_seq)) {
  const auto used = *rc::gen::inRange<uint16_t>(1, 500);
  const auto first = *rc::gen::inRange<uint16_t>(0, used);
  const SlotHeader slot{MessageSeq(seq), used, first};
  RC_ASSERT(parse_slot_header(slot_of(slot, 508)) == slot);
  const FrameHeader frame{static_cast<uint16_t>(used + 20), first, bucket_seq};
  RC_ASSERT(parsed(frame) == frame);
}

}  // namespace
}  // namespace cw::test
