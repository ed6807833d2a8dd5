// RoCE: headers, and the CRC that no router may change.
#include <gtest/gtest.h>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/roce.h"
#include "dataplane/wire/roce_inline.h"
#include "tests/property/property.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

// ---- roce ----

ByteVector make_transport(const Transport& packet) {
  ByteVector bytes(packet.facts().header_bytes + packet.payload.size() +
                   pad_bytes_for(packet.payload.size()));
  const size_t header_bytes = encode_transport_headers(packet, bytes);
  std::ranges::copy(packet.payload, bytes.begin() + static_cast<ptrdiff_t>(header_bytes));
  return bytes;
}

Transport any_packet(const ByteVector& payload) {
  Transport packet;
  packet.opcode = *rc::gen::element(opcode_uc_write_only, opcode_uc_write_only_immediate,
                                    opcode_ud_send_only, opcode_ud_send_only_immediate);
  packet.is_solicited = *rc::gen::arbitrary<bool>();
  packet.is_migrated = *rc::gen::arbitrary<bool>();
  packet.wants_acknowledgement = *rc::gen::arbitrary<bool>();
  packet.has_fecn = *rc::gen::arbitrary<bool>();
  packet.has_becn = *rc::gen::arbitrary<bool>();
  packet.partition_key = *rc::gen::arbitrary<uint16_t>();
  packet.target_qp = *rc::gen::inRange(0u, 1u << 24);
  packet.psn = Psn(*rc::gen::arbitrary<uint32_t>());
  packet.payload = payload;
  const OpcodeFacts& facts = packet.facts();
  if (facts.has(extended::reth)) {
    packet.rdma = {*rc::gen::arbitrary<uint64_t>(), *rc::gen::arbitrary<uint32_t>(),
                   static_cast<uint32_t>(payload.size())};
  }
  if (facts.has(extended::deth)) {
    packet.datagram = {*rc::gen::arbitrary<uint32_t>(), *rc::gen::inRange(0u, 1u << 24)};
  }
  if (facts.has(extended::immediate)) packet.immediate = *rc::gen::arbitrary<uint32_t>();
  return packet;
}

void assert_equal(const Transport& a, const Transport& b) {
  RC_ASSERT(a.opcode == b.opcode && a.is_solicited == b.is_solicited);
  RC_ASSERT(a.is_migrated == b.is_migrated && a.has_fecn == b.has_fecn);
  RC_ASSERT(a.has_becn == b.has_becn && a.wants_acknowledgement == b.wants_acknowledgement);
  RC_ASSERT(a.partition_key == b.partition_key && a.target_qp == b.target_qp && a.psn == b.psn);
  RC_ASSERT(a.rdma == b.rdma && a.datagram == b.datagram && a.immediate == b.immediate);
  RC_ASSERT(std::ranges::equal(a.payload, b.payload));
}

RC_GTEST_PROP(Transport, what_is_encoded_is_decoded_again, (const ByteVector& payload)) {
  const Transport packet = any_packet(payload);
  const ExactCopy copy(make_transport(packet));
  const auto parsed = parse_transport(copy.span());
  RC_ASSERT(parsed.has_value());
  assert_equal(*parsed, packet);
}

RC_GTEST_PROP(Transport, any_bytes_are_decoded_or_refused_without_reading_beyond,
              (const ByteVector& tail)) {
  // A random BTH is refused at once nearly always, so the opcode is a known one more often than
  // not.
  ByteVector bytes = {
      *rc::gen::element<uint8_t>(0x2b, 0x2a, 0x64, 0x65, 0x0c, 0x11, 0x12, 0x13, 0x81)};
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  const ExactCopy copy(bytes);
  const auto parsed = parse_transport(copy.span());
  // In parentheses, or both sides are evaluated.
  RC_ASSERT((!parsed || parsed->payload.size() < copy.span().size()));
}

RC_GTEST_PROP(SlotWrite, short_cut_and_general_way_write_the_same_bytes,
              (const ByteVector& payload)) {
  const auto bytes = static_cast<uint32_t>(payload.size());
  const SlotWrite slot = {.target_qp = *rc::gen::inRange(0u, 1u << 24),
                          .psn = Psn(*rc::gen::arbitrary<uint32_t>()),
                          .address = *rc::gen::arbitrary<uint64_t>(),
                          .key = *rc::gen::arbitrary<uint32_t>(),
                          .payload_bytes = bytes,
                          .immediate = *rc::gen::arbitrary<uint32_t>(),
                          .is_solicited = *rc::gen::arbitrary<bool>()};
  Transport packet;
  packet.opcode = opcode_uc_write_only_immediate;
  packet.is_solicited = slot.is_solicited;
  packet.target_qp = slot.target_qp;
  packet.psn = slot.psn;
  packet.rdma = {slot.address, slot.key, bytes};
  packet.immediate = slot.immediate;
  packet.payload = payload;
  const ByteVector expected = make_transport(packet);
  ByteVector headers(slot_write_header_bytes);
  RC_ASSERT(encode_slot_write(slot, headers) == headers.size());
  RC_ASSERT(std::equal(headers.begin(), headers.end(), expected.begin()));

  SlotWrite read;
  const ExactCopy copy(expected);
  RC_ASSERT(try_parse_slot_write(copy.span(), read));
  RC_ASSERT(read.target_qp == slot.target_qp && read.psn == slot.psn && read.key == slot.key);
  RC_ASSERT(read.address == slot.address && read.immediate == slot.immediate);
  RC_ASSERT(read.payload_bytes == bytes && read.is_solicited == slot.is_solicited);
}

// SPEC 1.3
TEST(Transport, reserved_bits_are_ignored_and_written_as_zeros) {
  const ByteVector payload = {1, 2, 3, 4};
  Transport packet;
  packet.opcode = opcode_ud_send_only;
  packet.datagram = {1, 2};
  packet.payload = payload;
  const ByteVector clean = make_transport(packet);
  ByteVector dirty = clean;
  dirty[offsetof(Bth, congestion)] |= 0x3f;
  dirty[offsetof(Bth, ack_request)] |= 0x7f;
  dirty[sizeof(Bth) + offsetof(Deth, reserved)] = 0xff;
  const auto parsed = parse_transport(dirty);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(make_transport(*parsed), clean);
}

// SPEC 2.5: a packet says migrated unless it is told otherwise, and either is read.
TEST(Transport, migrated_is_the_rule_and_decides_nothing) {
  Transport packet;
  packet.opcode = opcode_ud_send_only;
  ByteVector bytes = make_transport(packet);
  EXPECT_TRUE(parse_transport(bytes)->is_migrated);
  bytes[offsetof(Bth, flags)] &= static_cast<uint8_t>(~Bth::migrated);
  ASSERT_TRUE(parse_transport(bytes));
  EXPECT_FALSE(parse_transport(bytes)->is_migrated);
}

// The short cut takes exactly what the general way takes, for the one opcode it knows.
TEST(SlotWrite, short_cut_declines_what_the_general_way_refuses) {
  for (const uint32_t payload_bytes : {0u, 1u, 2u, 3u, 4u, 61u}) {
    ByteVector bytes(slot_write_header_bytes + payload_bytes + pad_bytes_for(payload_bytes));
    SlotWrite sent;
    sent.payload_bytes = payload_bytes;
    encode_slot_write(sent, bytes);
    for (size_t bit = 0; bit < 8 * slot_write_header_bytes; ++bit) {
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      SlotWrite slot;
      const auto parsed = parse_transport(bytes);
      const bool is_slot = parsed && parsed->opcode == opcode_uc_write_only_immediate;
      EXPECT_EQ(try_parse_slot_write(bytes, slot), is_slot) << payload_bytes << " bit " << bit;
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    for (size_t size = 0; size < bytes.size(); ++size) {
      const ExactCopy copy(std::span<const uint8_t>(bytes).first(size));
      SlotWrite slot;
      EXPECT_FALSE(try_parse_slot_write(copy.span(), slot));
      EXPECT_FALSE(parse_transport(copy.span()));
    }
  }
}

// A length that would wrap a 32-bit sum must not look right.
TEST(SlotWrite, length_near_four_gib_is_declined) {
  for (uint32_t back = 1; back <= 36; ++back) {
    ByteVector bytes(slot_write_header_bytes + 4);
    SlotWrite slot;
    slot.payload_bytes = 0u - back;
    encode_slot_write(slot, bytes);
    EXPECT_FALSE(try_parse_slot_write(bytes, slot));
    EXPECT_EQ(parse_transport(bytes).error(), WireError::Length);
  }
}

// SPEC 2.10, SPEC 2.11
TEST(OpcodeTable, knows_every_operation_of_every_service) {
  size_t known = 0;
  for (const OpcodeFacts& facts : opcode_table) {
    if (!facts.is_known()) continue;
    ++known;
    EXPECT_EQ(facts.is_request() + facts.is_response() + facts.is_cnp(), 1);
    EXPECT_GE(facts.header_bytes, sizeof(Bth));
  }
  EXPECT_EQ(known, 25u + 12 + 2 + 23 + 1);         // RC, UC, UD, XRC, CNP
  EXPECT_EQ(opcode_table[0x06].header_bytes, 28);  // RC WRITE first
  EXPECT_EQ(opcode_table[0x12].header_bytes, 24);  // RC atomic acknowledge
  EXPECT_EQ(opcode_table[0x13].header_bytes, 40);  // RC compare and swap
  EXPECT_EQ(opcode_table[0xb1].header_bytes, 16);  // XRC acknowledge: no XRCETH in responses
  EXPECT_EQ(opcode_table[0xb3].header_bytes, 44);  // XRC compare and swap
  EXPECT_FALSE(opcode_table[0x15].is_known());
}

// ---- icrc ----

uint32_t crc_of(std::span<const uint8_t> bytes) { return cw_crc32(0, bytes.data(), bytes.size()); }

/// SPEC 3.1, bit by bit: the definition that the fast ones must agree with.
uint32_t plain_crc32(std::span<const uint8_t> bytes) {
  uint32_t crc = 0xffffffff;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

// SPEC 3.1
TEST(Crc32, nine_digits_have_the_published_value) {
  EXPECT_EQ(cw_crc32(0, "123456789", 9), 0xcbf43926u);
}

RC_GTEST_PROP(Crc32, built_in_function_is_the_one_of_the_specification, (const ByteVector& bytes)) {
  RC_ASSERT(crc_of(bytes) == plain_crc32(bytes));
}

// SPEC 3.6
RC_GTEST_PROP(Crc32, parts_combine_to_the_whole, (const ByteVector& head, const ByteVector& tail)) {
  ByteVector whole = head;
  whole.insert(whole.end(), tail.begin(), tail.end());
  RC_ASSERT((shift_crc32(crc_of(head), tail.size()) ^ crc_of(tail)) == crc_of(whole));
}

RC_GTEST_PROP(Crc32, table_shifts_as_the_general_way, (uint32_t crc)) {
  static const Crc32Shift shifts[] = {Crc32Shift(0), Crc32Shift(1), Crc32Shift(1024),
                                      Crc32Shift(4096), Crc32Shift(8192)};
  for (const Crc32Shift& shift : shifts) {
    RC_ASSERT(shift(crc) == shift_crc32(crc, shift.zero_bytes()));
  }
}

Transport slot_of(std::span<const uint8_t> payload) {
  Transport packet;
  packet.opcode = opcode_uc_write_only_immediate;
  packet.target_qp = 0x11;
  packet.rdma = {0x1000, 0x2c9, static_cast<uint32_t>(payload.size())};
  packet.immediate = 7;
  packet.payload = payload;
  return packet;
}

struct Parts {
  ByteVector frame;
  std::span<const uint8_t> ip_and_udp, transport, covered;
};

Parts make_parts(const FrameAddress& address, std::span<const uint8_t> payload) {
  Parts parts;
  parts.frame = make_frame(address, slot_of(payload), FrameStart::Ip);
  const Frame frame = *parse_frame(parts.frame, FrameStart::Ip);
  parts.ip_and_udp = frame.ip_and_udp_of(parts.frame);
  parts.transport = frame.transport_of(parts.frame);
  parts.covered = frame.covered_of(parts.frame);
  return parts;
}

// SPEC 3.6: with every pad, for the common length and for others.
RC_GTEST_PROP(Icrc, known_payload_gives_the_icrc_of_one_pass, (const ByteVector& payload)) {
  for (const IcrcMode mode : {IcrcMode::Exact, IcrcMode::Pseudo, IcrcMode::None}) {
    for (const size_t full : {payload.size(), size_t{4096}}) {
      const Icrc icrc(mode, cw_crc32, full);
      const Parts parts = make_parts(FrameAddress{}, payload);
      const KnownPayload known = {crc_of(payload), payload.size()};
      RC_ASSERT(icrc.of(parts.ip_and_udp, parts.transport.first(32), known) ==
                icrc.of(parts.ip_and_udp, parts.transport));
    }
  }
}

TEST(Icrc, known_payload_of_a_full_slot_gives_the_icrc_of_one_pass) {
  for (const size_t bytes : {size_t{4095}, size_t{4096}, size_t{8192}}) {
    const ByteVector payload(bytes, 0x5a);
    const Parts parts = make_parts(FrameAddress{}, payload);
    const KnownPayload known = {crc_of(payload), bytes};
    EXPECT_EQ(exact_icrc().of(parts.ip_and_udp, parts.transport.first(32), known),
              exact_icrc().of(parts.ip_and_udp, parts.transport));
  }
}

/// SPEC 3.2, as it stands there: every byte that counts as ones written as such.
uint32_t plain_icrc(const Parts& parts) {
  const bool is_v4 = parts.ip_and_udp[0] >> 4 == 4;
  ByteVector covered(8, 0xff);
  covered.insert(covered.end(), parts.ip_and_udp.begin(), parts.ip_and_udp.end());
  const size_t bth = covered.size();
  covered.insert(covered.end(), parts.transport.begin(), parts.transport.end());
  covered[8] = static_cast<uint8_t>(is_v4 ? covered[8] : covered[8] | 0x0f);
  for (const size_t at :
       is_v4 ? std::vector<size_t>{1, 8, 10, 11} : std::vector<size_t>{1, 2, 3, 7}) {
    covered[8 + at] = 0xff;
  }
  covered[bth - 2] = covered[bth - 1] = covered[bth + 4] = 0xff;
  return plain_crc32(covered);
}

// SPEC 3.2: marked for congestion or not.
RC_GTEST_PROP(Icrc, exact_icrc_is_the_one_of_the_specification,
              (const ByteVector& payload, uint8_t congestion)) {
  FrameAddress address;
  address.ip_version = *rc::gen::element(IpVersion::V4, IpVersion::V6);
  address.dscp = *rc::gen::inRange<uint8_t>(0, 64);
  address.source_udp_port = *rc::gen::arbitrary<uint16_t>();
  Parts parts = make_parts(address, payload);
  const auto bth = parts.transport.data() - parts.frame.data();
  parts.frame[static_cast<size_t>(bth) + 4] = congestion;
  RC_ASSERT(exact_icrc().of(parts.ip_and_udp, parts.transport) == plain_icrc(parts));
}

// What DSCP, ECN and hops say is not covered; lengths and ports are.
TEST(Icrc, packets_of_one_way_and_length_begin_alike) {
  FrameAddress address, marked, elsewhere;
  marked.dscp = 5;
  marked.ecn = 3;
  marked.hop_limit = 7;
  elsewhere.source_udp_port = 77;
  const ByteVector payload(16, 9), longer(20, 9);
  const auto start_of = [](const FrameAddress& of, const ByteVector& bytes) {
    const Parts parts = make_parts(of, bytes);
    return exact_icrc().start(parts.ip_and_udp);
  };
  EXPECT_EQ(start_of(address, payload), start_of(marked, payload));
  EXPECT_NE(start_of(address, payload), start_of(address, longer));
  EXPECT_NE(start_of(address, payload), start_of(elsewhere, payload));
}

// SPEC 3.3: 36 ones, the BTH with its fifth byte as ones, the rest; whatever the outer headers are.
TEST(Icrc, pseudo_icrc_does_not_depend_on_the_outer_headers) {
  const Icrc icrc(IcrcMode::Pseudo, cw_crc32, 4096);
  const ByteVector payload = {1, 2, 3, 4, 5};
  FrameAddress ipv6;
  ipv6.ip_version = IpVersion::V6;
  ipv6.source_udp_port = 4242;
  const Parts v4 = make_parts(FrameAddress{}, payload), v6 = make_parts(ipv6, payload);
  ByteVector covered(36 + v4.transport.size(), 0xff);
  std::ranges::copy(v4.transport, covered.begin() + 36);
  covered[36 + 4] = 0xff;
  EXPECT_EQ(icrc.of({}, v4.transport), plain_crc32(covered));
  EXPECT_EQ(icrc.of(v4.ip_and_udp, v4.transport), icrc.of(v6.ip_and_udp, v6.transport));
}

// SPEC 3.3, SPEC 3.4, SPEC 3.5
TEST(Icrc, modes_do_not_take_each_others_icrcs) {
  const ByteVector payload(16, 9);
  Parts parts = make_parts(FrameAddress{}, payload);
  EXPECT_TRUE(exact_icrc().is_right(parts.ip_and_udp, parts.covered));
  EXPECT_FALSE(Icrc(IcrcMode::Pseudo, cw_crc32, 0).is_right(parts.ip_and_udp, parts.covered));
  EXPECT_TRUE(Icrc(IcrcMode::None, cw_crc32, 0).is_right(parts.ip_and_udp, parts.covered));
  EXPECT_EQ(Icrc(IcrcMode::None, cw_crc32, 0).of(parts.ip_and_udp, parts.transport), 0u);
  EXPECT_EQ(Icrc(IcrcMode::Hardware, cw_crc32, 0).of(parts.ip_and_udp, parts.transport), 0u);
}

TEST(Icrc, covered_bytes_too_few_for_a_bth_are_wrong) {
  const ByteVector payload(4, 9);
  const Parts parts = make_parts(FrameAddress{}, payload);
  for (size_t bytes = 0; bytes < sizeof(Bth) + icrc_bytes; ++bytes) {
    const ExactCopy copy(parts.covered.first(bytes));
    EXPECT_FALSE(exact_icrc().is_right(parts.ip_and_udp, copy.span()));
  }
}

}  // namespace

}  // namespace cw::test
