// Packets in frames: whatever their length, what goes in comes out.
#include "dataplane/port/sim/fabric/frame.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace cw {
namespace {

/// A packet and the memory that it names.
struct Written {
  explicit Written(size_t bytes, size_t payload_bytes = 0) : data(9000), payload(payload_bytes) {
    std::iota(data.begin(), data.end(), uint8_t{1});
    std::iota(payload.begin(), payload.end(), uint8_t{77});
    packet.data = data.data();
    packet.bytes = static_cast<uint32_t>(bytes);
    packet.bytes_max = static_cast<uint32_t>(data.size());
    packet.peer = 3;
    packet.path = 5;
    packet.ecn = 2;
    packet.dscp = 46;
    if (payload_bytes == 0) return;
    packet.payload = payload.data();
    packet.payload_bytes = static_cast<uint32_t>(payload_bytes);
  }
  std::vector<uint8_t> data, payload;
  Packet packet;
};

std::vector<uint8_t> bytes_of(const FabricFrames& frames, uint32_t place) {
  std::vector<uint8_t> data(9000);
  Packet packet;
  packet.data = data.data();
  packet.bytes_max = static_cast<uint32_t>(data.size());
  frames.read(place, packet);
  data.resize(packet.bytes);
  return data;
}

TEST(FabricFrames, packets_of_every_length_come_out_as_they_went_in) {
  FabricFrames frames(50);
  for (const size_t bytes : {1u, 199u, 200u, 201u, 400u, 401u, 4096u, 9000u}) {
    const Written written(bytes);
    const uint32_t place = frames.try_write(written.packet, false);
    ASSERT_NE(place, FabricFrames::none);
    const std::vector<uint8_t> expected(written.data.begin(),
                                        written.data.begin() + ptrdiff_t(bytes));
    EXPECT_EQ(bytes_of(frames, place), expected);
    EXPECT_EQ(frames.free_count(), 50 - (bytes + 199) / 200);
    const uint32_t copy = frames.try_copy(place);
    if (copy != FabricFrames::none) {
      frames.give_back(place);
      EXPECT_EQ(bytes_of(frames, copy), expected);
      frames.give_back(copy);
    } else {
      frames.give_back(place);
    }
    EXPECT_EQ(frames.free_count(), 50u) << bytes;
  }
}

TEST(FabricFrames, a_payload_elsewhere_is_referred_to_or_carried_with_its_pad) {
  FabricFrames frames(10);
  const Written written(56, 501);
  const uint32_t referring = frames.try_write(written.packet, false);
  EXPECT_EQ(bytes_of(frames, referring).size(), 56u);
  EXPECT_EQ(frames[referring].payload, written.payload.data());
  EXPECT_EQ(frames.free_count(), 9u);
  const uint32_t carrying = frames.try_write(written.packet, true);
  std::vector<uint8_t> expected(written.data.begin(), written.data.begin() + 56);
  expected.insert(expected.end(), written.payload.begin(), written.payload.end());
  expected.insert(expected.end(), 3, 0);
  EXPECT_EQ(bytes_of(frames, carrying), expected);
  EXPECT_EQ(frames[carrying].payload, nullptr);
  EXPECT_EQ(frames.free_count(), 6u);
}

TEST(FabricFrames, what_does_not_fit_as_a_whole_takes_none) {
  FabricFrames frames(3);
  EXPECT_EQ(frames.try_write(Written(601).packet, false), FabricFrames::none);
  EXPECT_EQ(frames.free_count(), 3u);
  const uint32_t place = frames.try_write(Written(400).packet, false);
  ASSERT_NE(place, FabricFrames::none);
  EXPECT_EQ(frames.try_copy(place), FabricFrames::none);
  EXPECT_EQ(frames.free_count(), 1u);
}

TEST(FabricFrames, a_bit_is_flipped_where_it_lies_and_nowhere_else) {
  FabricFrames frames(10);
  const Written written(450);
  const uint32_t place = frames.try_write(written.packet, false);
  EXPECT_TRUE(frames.try_flip(place, 8 * 401 + 3));
  EXPECT_FALSE(frames.try_flip(place, 8 * 450));
  std::vector<uint8_t> expected(written.data.begin(), written.data.begin() + 450);
  expected[401] ^= 8;
  EXPECT_EQ(bytes_of(frames, place), expected);
}

}  // namespace
}  // namespace cw
