#include "dataplane/wire/roce.h"

#include <gtest/gtest.h>

#include "dataplane/wire/roce_inline.h"
#include "tests/property/property.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

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

}  // namespace
}  // namespace cw::test
