// Exact ICRCs without the IPv4 identification [SPEC 3.8]: any is taken, and nothing else but what
// looks like one.
#include "dataplane/wire/crc/unseen_id.h"

#include <gtest/gtest.h>
#include "tests/property/property.h"

#include <set>

#include "dataplane/base/prng.h"
#include "dataplane/wire/crc/polynomials.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

constexpr size_t id_offset = 4;  // in an IPv4 header

/// What crosses the wire, and what a socket makes of it: the headers with identification zero.
struct Arrival {
  Frame frame;
  ByteVector bytes, outer;

  Arrival(ByteVector packet, FrameStart start) : bytes(std::move(packet)) {
    frame = *parse_frame(bytes, start);
    const auto ip_and_udp = frame.ip_and_udp_of(bytes);
    outer.assign(ip_and_udp.begin(), ip_and_udp.end());
    if (frame.address.ip_version == IpVersion::V4) outer[id_offset] = outer[id_offset + 1] = 0;
  }
  /// Between the ICRC for identification zero and the one that has come.
  uint32_t difference() const {
    const auto covered = frame.covered_of(bytes);
    return exact_icrc().of(outer, frame.transport_of(bytes)) ^
           Icrc::read(covered.last<icrc_bytes>());
  }
  /// By the tables of the common length, and by the general way.
  bool is_taken() const {
    const bool by_table =
        UnseenId(frame.transport_bytes).explains(difference(), frame.transport_bytes);
    const bool slowly = UnseenId(1).explains(difference(), frame.transport_bytes);
    EXPECT_EQ(by_table, slowly);
    return by_table;
  }
};

Transport slot_of(const ByteVector& payload) {
  Transport packet;
  packet.opcode = opcode_uc_write_only_immediate;
  packet.target_qp = 0x11;
  packet.rdma = {0x1000, 0x2c9, static_cast<uint32_t>(payload.size())};
  packet.immediate = 7;
  packet.payload = payload;
  return packet;
}

FrameAddress any_address() {
  FrameAddress address;
  address.source_ip = {10, 0, 0, 1};
  address.target_ip = {10, 0, 0, *rc::gen::arbitrary<uint8_t>()};
  address.identification = *rc::gen::arbitrary<uint16_t>();
  address.source_udp_port = *rc::gen::arbitrary<uint16_t>();
  address.dscp = *rc::gen::inRange<uint8_t>(0, 64);
  return address;
}

// SPEC 3.8
RC_GTEST_PROP(UnseenId, may_be_any, (const ByteVector& payload)) {
  RC_ASSERT(Arrival(make_frame(any_address(), slot_of(payload), FrameStart::Ip), FrameStart::Ip)
                .is_taken());
}

// SPEC 3.8: of the transport packet, its ICRC, and of headers that are not as they should be.
RC_GTEST_PROP(UnseenId, hides_no_wrong_bit_anywhere_else, (const ByteVector& payload)) {
  const auto bytes = make_frame(any_address(), slot_of(payload), FrameStart::Ip);
  Arrival arrival(bytes, FrameStart::Ip);
  const size_t transport = arrival.frame.transport_offset;
  const UnseenId unseen(arrival.frame.transport_bytes);
  const auto is_taken = [&] {
    return unseen.explains(arrival.difference(), arrival.frame.transport_bytes);
  };
  for (size_t bit = 8 * transport; bit < 8 * bytes.size(); ++bit) {
    arrival.bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const bool is_masked = bit / 8 == transport + offsetof(Bth, congestion);
    RC_ASSERT(is_taken() == is_masked);
    arrival.bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
  const std::set<size_t> masked = {1, 8, 10, 11, 26, 27};
  for (size_t bit = 0; bit < 8 * transport; ++bit) {
    if (bit / 8 == 0 || masked.contains(bit / 8)) continue;  // the first says which version it is
    arrival.outer[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    RC_ASSERT(is_taken() == (bit / 8 == id_offset || bit / 8 == id_offset + 1));
    arrival.outer[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
}

// SPEC 3.8: so many bits behind an identification none has its image, nor so many before.
TEST(UnseenId, hides_no_single_bit_of_packets_up_to_9216_bytes) {
  constexpr int bits_max = 8 * 9216, bits_before = 8 * 60;
  uint32_t behind = 1u << 15, before = 1;  // its last bit, its first
  for (int bit = 1; bit <= bits_max; ++bit) {
    behind = crc::over_x(behind);
    ASSERT_NE(behind >> 16, 0u) << bit;
  }
  for (int bit = 1; bit <= bits_before; ++bit) {
    before = crc::times_x(before);
    ASSERT_NE(before >> 16, 0u) << bit;
  }
}

// SPEC 3.8: 16 bits of 32 are checked: what is taken are the images of identifications, each one
// of another, and so as many differences of all as there are identifications.
TEST(UnseenId, takes_exactly_one_difference_for_each_identification) {
  const Arrival arrival(make_frame({}, slot_of(ByteVector(100, 3)), FrameStart::Ip),
                        FrameStart::Ip);
  const size_t bytes = arrival.frame.transport_bytes;
  const UnseenId unseen(bytes);
  const uint32_t right = exact_icrc().of(arrival.outer, arrival.frame.transport_of(arrival.bytes));
  std::set<uint32_t> differences;
  ByteVector outer = arrival.outer;
  for (uint32_t id = 0; id <= UINT16_MAX; ++id) {
    outer[id_offset] = static_cast<uint8_t>(id >> 8),
    outer[id_offset + 1] = static_cast<uint8_t>(id);
    const uint32_t difference =
        right ^ exact_icrc().of(outer, arrival.frame.transport_of(arrival.bytes));
    ASSERT_TRUE(unseen.explains(difference, bytes)) << id;
    differences.insert(difference);
  }
  EXPECT_EQ(differences.size(), 65536u);
  Prng prng(20261126);
  for (int i = 0; i < 2'000'000; ++i) {
    const auto difference = static_cast<uint32_t>(prng.next());
    ASSERT_EQ(unseen.explains(difference, bytes), differences.contains(difference));
  }
}

TEST(UnseenId, of_a_place_in_a_message_changes_the_start_as_if_it_were_written) {
  FrameAddress address;
  address.source_udp_port = 50'000;
  Arrival arrival(make_frame(address, slot_of(ByteVector(64, 1)), FrameStart::Ip), FrameStart::Ip);
  const uint32_t start = exact_icrc().start(arrival.outer);
  for (size_t id = 0; id < unseen_ids_max; ++id) {
    arrival.outer[id_offset + 1] = static_cast<uint8_t>(id);
    EXPECT_EQ(exact_icrc().start(arrival.outer), start ^ change_by_id(id)) << id;
  }
}

// By a stranger: a kernel's identifications and ICRCs.
TEST(UnseenId, of_every_packet_of_soft_roce_is_taken) {
  size_t v4 = 0;
  for (const ByteVector& bytes :
       read_capture(CW_SOURCE_DIR "/tests/data/packets/rxe-golden.pcap")) {
    const Arrival arrival(bytes, FrameStart::Ethernet);
    if (arrival.frame.address.ip_version == IpVersion::V6) {
      EXPECT_EQ(arrival.difference(), 0u);
      continue;
    }
    ++v4;
    EXPECT_NE(arrival.difference(), 0u);
    EXPECT_TRUE(arrival.is_taken());
  }
  EXPECT_EQ(v4, 63u);
}

}  // namespace
}  // namespace cw::test
