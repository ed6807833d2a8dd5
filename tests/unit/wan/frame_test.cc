#include "control/wan/frame.h"

#include <gtest/gtest.h>

#include <vector>

namespace cw::wan {
namespace {

using Frame = std::vector<uint8_t>;

/// Ethernet, tags if wanted, then the bytes.
Frame frame_of(uint16_t type, const Frame& packet, size_t tags = 0) {
  Frame frame(12);
  for (size_t i = 0; i < tags; ++i) frame.insert(frame.end(), {0x81, 0, 0, 5});
  frame.insert(frame.end(), {static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type)});
  frame.insert(frame.end(), packet.begin(), packet.end());
  return frame;
}

uint16_t sum_of(std::span<const uint8_t> bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    sum += static_cast<uint32_t>(bytes[i] << 8) + (i + 1 < bytes.size() ? bytes[i + 1] : 0u);
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

// From RFC 1071's many illustrations: its header sums to 0xffff.
const Frame ipv4 = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                    0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};

Frame ipv4_with_ecn(uint8_t ecn) {
  Frame packet = ipv4;
  packet[1] = ecn;
  packet[11] = static_cast<uint8_t>(packet[11] - ecn);
  return packet;
}

TEST(Frame, a_mark_is_set_where_the_sender_knows_ecn_and_the_checksum_stays_right) {
  ASSERT_EQ(sum_of(ipv4), 0xffff);
  for (const size_t tags : {0, 1, 2}) {
    for (const uint8_t ecn : {1, 2, 3}) {
      Frame frame = frame_of(0x0800, ipv4_with_ecn(ecn), tags);
      EXPECT_TRUE(try_mark_congestion(frame));
      const auto header = std::span(frame).last(20);
      EXPECT_EQ(header[1], 3);
      EXPECT_EQ(sum_of(header), 0xffff);
    }
  }
}

TEST(Frame, a_mark_is_not_set_elsewhere) {
  Frame plain = frame_of(0x0800, ipv4), arp = frame_of(0x0806, Frame(28, 0xff));
  const Frame plain_before = plain, arp_before = arp;
  EXPECT_FALSE(try_mark_congestion(plain));
  EXPECT_FALSE(try_mark_congestion(arp));
  EXPECT_EQ(plain, plain_before);
  EXPECT_EQ(arp, arp_before);
}

TEST(Frame, a_mark_in_ipv6_touches_the_two_bits_only) {
  Frame packet(40);
  packet[0] = 0x6b;
  packet[1] = 0xa5;  // class 0xba: ECN 2; flow label begins with 5
  Frame frame = frame_of(0x86dd, packet);
  EXPECT_TRUE(try_mark_congestion(frame));
  EXPECT_EQ(frame[14], 0x6b);
  EXPECT_EQ(frame[15], 0xb5);
}

TEST(Frame, every_cut_of_a_frame_is_survived) {
  Frame packet(48, 58);
  for (const uint16_t type : {0x0800, 0x86dd, 0x8100}) {
    const Frame whole = frame_of(type, packet, 1);
    for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
      Frame cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
      try_mark_congestion(cut);
      is_neighbour_traffic(cut);
      finish_checksum(cut, 34, 6);
      EXPECT_EQ(cut.size(), bytes);
    }
  }
}

TEST(Frame, neighbour_traffic_is_arp_and_discovery_not_echo) {
  EXPECT_TRUE(is_neighbour_traffic(frame_of(0x0806, Frame(28))));
  EXPECT_FALSE(is_neighbour_traffic(frame_of(0x0800, ipv4)));
  Frame packet(48);
  packet[6] = 58;
  for (const int type : {132, 133, 135, 137, 138, 128}) {
    packet[40] = static_cast<uint8_t>(type);
    EXPECT_EQ(is_neighbour_traffic(frame_of(0x86dd, packet, 1)), type >= 133 && type <= 137);
  }
  packet[6] = 17;
  packet[40] = 135;
  EXPECT_FALSE(is_neighbour_traffic(frame_of(0x86dd, packet)));
}

TEST(Frame, a_finished_checksum_sums_up_and_is_never_zero) {
  for (const size_t bytes : {8u, 9u, 64u}) {
    Frame frame(20 + bytes, 0x3c);
    frame[26] = 0x12;  // the sum of a pseudo header
    frame[27] = 0x34;
    const auto covered = std::span(frame).subspan(20);
    finish_checksum(frame, 20, 6);
    const uint16_t without_pseudo = sum_of(covered);
    EXPECT_EQ(sum_of(Frame{0x12, 0x34, static_cast<uint8_t>(without_pseudo >> 8),
                           static_cast<uint8_t>(without_pseudo)}),
              0xffff);
  }
  Frame full(8, 0xff);
  finish_checksum(full, 0, 6);
  EXPECT_EQ(full[6], 0xff);
  EXPECT_EQ(full[7], 0xff);
}

TEST(Frame, a_checksum_whose_place_lies_outside_is_left_alone) {
  Frame frame(20, 1);
  const Frame before = frame;
  finish_checksum(frame, 21, 0);
  finish_checksum(frame, 10, 9);
  finish_checksum(frame, 65535, 65535);
  EXPECT_EQ(frame, before);
}

TEST(Frame, the_port_of_udp_is_found_behind_any_header) {
  Frame packet = ipv4;  // of 20 bytes, UDP
  packet.insert(packet.end(), {0x12, 0xb7, 0x12, 0xb8, 0, 8, 0, 0});
  for (const size_t tags : {0u, 1u, 2u}) {
    EXPECT_EQ(udp_source_port(frame_of(0x0800, packet, tags)), 4791);
  }
  Frame options = packet;
  options[0] = 0x46;
  options.insert(options.begin() + 20, 4, 0);
  EXPECT_EQ(udp_source_port(frame_of(0x0800, options)), 4791);
  Frame v6(40);
  v6[6] = 17;
  v6.insert(v6.end(), packet.end() - 8, packet.end());
  EXPECT_EQ(udp_source_port(frame_of(0x86dd, v6)), 4791);
}

TEST(Frame, what_is_not_udp_has_no_port) {
  Frame packet = ipv4;
  packet.insert(packet.end(), {0x12, 0xb7, 0x12, 0xb8, 0, 8, 0, 0});
  const Frame whole = frame_of(0x0800, packet);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const Frame cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_EQ(udp_source_port(cut), 0) << bytes;
  }
  Frame fragment = packet;
  fragment[7] = 1;
  EXPECT_EQ(udp_source_port(frame_of(0x0800, fragment)), 0);
  Frame tcp = packet;
  tcp[9] = 6;
  EXPECT_EQ(udp_source_port(frame_of(0x0800, tcp)), 0);
  EXPECT_EQ(udp_source_port(frame_of(0x0806, packet)), 0);
}

}  // namespace
}  // namespace cw::wan
