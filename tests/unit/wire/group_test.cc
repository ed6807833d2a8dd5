// The datagrams of groups: transport headers, header, checks and where slots lie (SPEC.md 18.1 to
// 18.3).
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>
#include <string>

#include "dataplane/wire/group/check.h"
#include "dataplane/wire/group/datagram_inline.h"
#include "dataplane/wire/group/header.h"
#include "dataplane/wire/group/slots.h"
#include "tests/command.h"
#include "tests/golden_packets.h"
#include "tests/property/property.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

using group::Datagram;
using group::Header;
using group::Slots;
using group::Step;

// ---- golden ----

/// All of group.txt.
const std::vector<GoldenPacket>& group_packets() {
  static const auto all = load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/group.txt");
  return all;
}

/// Who group.txt's frames are for, and what is open there.
constexpr group::Member receiver = {
    .group_key = 0x6a0b5eed, .own_key = 0x0e115eed, .members = 8, .rank = 5};
constexpr Step open_step(0x000451f7);
constexpr Slots common({.part_bytes = 501, .payload_bytes = 224, .sources = 8});
constexpr Slots second_message({.part_bytes = 100, .payload_bytes = 224, .first_source = 3});

const Slots* slots_at_receiver(const Header& header) {
  if (header.step != open_step) return nullptr;
  if (header.message == 0) return &common;
  return header.message == 2 && header.source == 3 ? &second_message : nullptr;
}

/// A frame's header once it has passed every check, or why it has not.
std::expected<Header, WireError> received(std::span<const uint8_t> frame) {
  const Decoded decoded = decode(frame);
  if (decoded.error) return std::unexpected(*decoded.error);
  EXPECT_TRUE(decoded.has_right_icrc);
  const ExactCopy payload(decoded.transport.payload);
  Header header;
  const auto error = group::check(*decoded.transport.immediate, payload.span(), receiver,
                                  slots_at_receiver, header);
  if (error) return std::unexpected(*error);
  return header;
}

/// In the words of group.txt.
std::string words_of(const std::expected<Header, WireError>& result) {
  if (!result) return name_of(result.error());
  static const char* const kinds[] = {"", "multicast", "unicast", "fetched"};
  std::string text = kinds[static_cast<size_t>(result->kind)];
  if (result->message != 0) text += " message=" + std::to_string(result->message);
  text += " slot=" + std::to_string(result->slot) + " of " + std::to_string(result->message_slots);
  if (result->is_last_slot) text += " last";
  if (result->is_last_message) text += " all";
  if (result->wants_status) text += " status";
  if (result->resends != 0) text += " resends=" + std::to_string(result->resends);
  return text + " bytes=" + std::to_string(slots_at_receiver(*result)->bytes_of(result->slot));
}

bool is_frame(const GoldenPacket& packet) { return packet.start == "ethernet"; }

// [C-66], [C-67], [C-69], [C-70]
TEST(GroupGolden, each_frame_is_taken_or_refused_as_stands_beside_it) {
  for (const GoldenPacket& packet : group_packets()) {
    if (!is_frame(packet)) continue;
    SCOPED_TRACE(packet.name + ": " + packet.sentence);
    EXPECT_EQ(words_of(received(ExactCopy(packet.bytes).span())), packet.expect);
  }
}

TEST(GroupGolden, every_refusal_is_provoked_by_a_frame) {
  std::set<std::string> provoked;
  for (const GoldenPacket& packet : group_packets()) provoked.insert(packet.expect);
  for (const char* const name :
       {"group_short", "group_version", "group_kind", "group_key", "group_own", "group_source",
        "group_step", "group_closed", "group_slot", "group_length"}) {
    EXPECT_TRUE(provoked.contains(name)) << name;
  }
}

/// All that stands in front of a slot, written by us: what the transport packet begins with.
ByteVector written_headers(const Datagram& datagram, const Header& header) {
  ByteVector bytes(group::datagram_header_bytes + group::header_bytes);
  const size_t offset = encode_datagram(datagram, bytes);
  encode_header(header, std::span(bytes).subspan(offset));
  return bytes;
}

// [C-66]
TEST(GroupGolden, what_is_taken_is_written_again_as_it_was) {
  size_t count = 0;
  for (const GoldenPacket& packet : group_packets()) {
    if (!is_frame(packet) || packet.expect.starts_with("group_")) continue;
    if (packet.name == "data_reserved") continue;
    SCOPED_TRACE(packet.name);
    const Frame frame = *parse_frame(packet.bytes, FrameStart::Ethernet);
    const auto transport = frame.transport_of(packet.bytes);
    Datagram datagram;
    ASSERT_TRUE(group::try_parse_datagram(transport, transport.size(), datagram));
    EXPECT_EQ(datagram.target_qp == group::multicast_qp, packet.expect.starts_with("multicast"));
    const Header header = *received(packet.bytes);
    EXPECT_EQ(header.immediate(), datagram.immediate);
    const ByteVector headers = written_headers(datagram, header);
    EXPECT_TRUE(std::ranges::equal(headers, transport.first(headers.size())));
    ++count;
  }
  EXPECT_EQ(count, 8u);
}

// [C-66]
TEST(GroupHeader, each_field_has_its_bytes) {
  const Header most = {.kind = group::Kind::Fetched,
                       .is_last_slot = true,
                       .is_last_message = true,
                       .wants_status = true,
                       .source = 0xffff,
                       .key = 0xffffffff,
                       .step = Step(0xffffffff),
                       .message = 0xffffffff,
                       .slot = 0xffffff,
                       .message_slots = 0xffffffff,
                       .source_slots = 0xffffffff,
                       .clock_us = 0xffffffff,
                       .path = 0xff,
                       .resends = 0xff,
                       .last_bytes = 0xffff};
  const Header each = {.kind = group::Kind::Unicast,
                       .is_last_slot = true,
                       .source = 0x0102,
                       .key = 0x03040506,
                       .step = Step(0x0708090a),
                       .message = 0x0b0c0d0e,
                       .slot = 0x0f1011,
                       .message_slots = 0x12131415,
                       .source_slots = 0x16171819,
                       .clock_us = 0x1a1b1c1d,
                       .path = 0x1e,
                       .resends = 0x1f,
                       .last_bytes = 0x2021};
  const std::pair<Header, const char*> rows[] = {
      {{}, "11000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"},
      {most, "1307ffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff"},
      {each, "12010102 03040506 0708090a 0b0c0d0e 12131415 16171819 1a1b1c1d 1e1f2021"}};
  for (const auto& [header, hex_words] : rows) {
    ByteVector ours(group::header_bytes, 0xaa), expected;
    EXPECT_EQ(encode_header(header, ours), ours.size());
    std::istringstream words(hex_words);
    for (std::string word; words >> word;) append_hex(expected, word);
    EXPECT_EQ(ours, expected);
    Header read;
    EXPECT_FALSE(group::read_header(header.immediate(), ExactCopy(ours).span(), read));
    EXPECT_EQ(read, header);
  }
  EXPECT_EQ(each.immediate(), 0x0a0f1011u);
  EXPECT_EQ(most.immediate(), 0xffffffffu);
}

Header any_header() {
  Header header;
  header.kind =
      *rc::gen::element(group::Kind::Multicast, group::Kind::Unicast, group::Kind::Fetched);
  header.is_last_slot = *rc::gen::arbitrary<bool>();
  header.is_last_message = *rc::gen::arbitrary<bool>();
  header.wants_status = *rc::gen::arbitrary<bool>();
  header.last_bytes = *rc::gen::arbitrary<uint16_t>();
  header.source = *rc::gen::arbitrary<uint16_t>();
  header.key = *rc::gen::arbitrary<uint32_t>();
  header.step = Step(*rc::gen::arbitrary<uint32_t>());
  header.message = header.kind == group::Kind::Multicast ? 0 : *rc::gen::arbitrary<uint32_t>();
  header.slot = *rc::gen::inRange(0u, 1u << 24);
  header.message_slots = *rc::gen::arbitrary<uint32_t>();
  header.source_slots = *rc::gen::arbitrary<uint32_t>();
  header.clock_us = *rc::gen::arbitrary<uint32_t>();
  header.path = *rc::gen::arbitrary<uint8_t>();
  header.resends = *rc::gen::arbitrary<uint8_t>();
  return header;
}

RC_GTEST_PROP(GroupHeader, comes_back_as_it_went, ()) {
  const Header header = any_header();
  ByteVector bytes(group::header_bytes);
  encode_header(header, bytes);
  Header read;
  RC_ASSERT(!group::read_header(header.immediate(), ExactCopy(bytes).span(), read));
  RC_ASSERT(read == header);
}

// ---- hostile ----

TEST(GroupCheck, a_datagram_cut_anywhere_is_refused) {
  for (const GoldenPacket& packet : group_packets()) {
    if (!is_frame(packet) || packet.expect.starts_with("group_")) continue;
    const Decoded decoded = decode(packet.bytes);
    const auto payload = decoded.transport.payload;
    for (size_t size = 0; size < payload.size(); ++size) {
      Header header;
      const auto error =
          group::check(*decoded.transport.immediate, ExactCopy(payload.first(size)).span(),
                       receiver, slots_at_receiver, header);
      const auto expected =
          size < group::header_bytes ? WireError::GroupShort : WireError::GroupLength;
      ASSERT_EQ(error, expected) << packet.name << " of " << size;
    }
  }
}

/// Whether nobody notices a change of this bit of the header as SPEC 18.1 has it: flags but that of
/// the last slot; who sends, save what is multicast first; and what this slot does not depend on.
bool may_differ(const Header& right, size_t byte, size_t bit_in_byte) {
  const bool is_first = right.kind == group::Kind::Multicast && right.resends == 0;
  return (byte == 1 && bit_in_byte != 0) || (!is_first && (byte == 2 || byte == 3)) || byte >= 20;
}

// Headers are checked one against the other: what is read in spite of a wrong bit is the right slot
// of the right message, and its bytes go where they belong.
TEST(GroupCheck, a_flipped_bit_is_refused_or_does_not_move_the_slot) {
  for (const GoldenPacket& packet : group_packets()) {
    if (!is_frame(packet) || packet.expect.starts_with("group_")) continue;
    SCOPED_TRACE(packet.name);
    const Decoded decoded = decode(packet.bytes);
    const uint32_t immediate = *decoded.transport.immediate;
    ByteVector bytes(decoded.transport.payload.begin(), decoded.transport.payload.end());
    Header right;
    ASSERT_FALSE(group::check(immediate, bytes, receiver, slots_at_receiver, right));
    for (size_t bit = 0; bit < 8 * group::header_bytes; ++bit) {
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      Header read;
      const auto error = group::check(immediate, bytes, receiver, slots_at_receiver, read);
      if (!may_differ(right, bit / 8, bit % 8)) {
        // Of a kind that has the same key nothing is placed elsewhere.
        const bool is_other_alone = right.kind != group::Kind::Multicast && read.kind != right.kind;
        EXPECT_TRUE(error || is_other_alone) << "bit " << bit;
      }
      EXPECT_TRUE(error || (read.slot == right.slot && read.message == right.message));
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    for (size_t bit = 24; bit < 32; ++bit) {
      Header read;
      EXPECT_EQ(group::check(immediate ^ 1u << bit, bytes, receiver, slots_at_receiver, read),
                WireError::GroupStep);
    }
  }
}

// The frame's own check covers what headers do not have twice: no flipped bit is taken.
TEST(GroupCheck, a_flipped_bit_of_a_frame_is_refused_by_its_icrc) {
  const GoldenPacket& packet =
      *std::ranges::find(group_packets(), "data_multicast_last", &GoldenPacket::name);
  const Frame frame = *parse_frame(packet.bytes, FrameStart::Ethernet);
  ByteVector bytes = packet.bytes;
  const size_t first = frame.transport_offset * 8;
  for (size_t bit = first; bit < bytes.size() * 8; ++bit) {
    const bool is_covered = bit / 8 != frame.transport_offset + offsetof(Bth, congestion);
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const Decoded decoded = decode(bytes);
    EXPECT_EQ(!decoded.error && decoded.has_right_icrc, !is_covered) << "bit " << bit - first;
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
}

RC_GTEST_PROP(GroupCheck, any_bytes_are_taken_or_refused_without_reading_beyond,
              (const ByteVector& tail)) {
  ByteVector bytes(group::header_bytes);
  Header header = any_header();
  header.key = header.kind == group::Kind::Multicast ? receiver.group_key : receiver.own_key;
  header.source %= 9;
  header.step = open_step;
  header.message %= 4;
  header.slot %= 30;
  header.message_slots %= 4;
  encode_header(header, bytes);
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  Header read;
  const auto error =
      group::check(header.immediate(), ExactCopy(bytes).span(), receiver, slots_at_receiver, read);
  if (error) return;
  const Slots& slots = *slots_at_receiver(read);
  RC_ASSERT(read == header);
  RC_ASSERT(slots.bytes_of(read.slot) == tail.size());
  RC_ASSERT(slots.offset_of(read.slot) + tail.size() <=
            (read.message == 0 ? uint64_t{501 * 8} : uint64_t{100}));
}

// ---- transport headers ----

ByteVector datagram_of(const Transport& packet) {
  ByteVector bytes(packet.facts().header_bytes + packet.payload.size() +
                   pad_bytes_for(packet.payload.size()));
  const size_t header_bytes = encode_transport_headers(packet, bytes);
  std::ranges::copy(packet.payload, bytes.begin() + static_cast<ptrdiff_t>(header_bytes));
  return bytes;
}

RC_GTEST_PROP(GroupDatagram, short_cut_and_general_way_write_the_same_bytes,
              (const ByteVector& payload)) {
  Transport packet;
  packet.opcode = opcode_ud_send_only_immediate;
  packet.is_solicited = *rc::gen::arbitrary<bool>();
  packet.target_qp = *rc::gen::inRange(0u, 1u << 24);
  packet.psn = Psn(*rc::gen::arbitrary<uint32_t>());
  packet.datagram = {*rc::gen::arbitrary<uint32_t>(), *rc::gen::inRange(0u, 1u << 24)};
  packet.immediate = *rc::gen::arbitrary<uint32_t>();
  packet.payload = payload;
  const Datagram datagram = {.target_qp = packet.target_qp,
                             .psn = packet.psn,
                             .queue_key = packet.datagram->queue_key,
                             .source_qp = packet.datagram->source_qp,
                             .immediate = *packet.immediate,
                             .payload_bytes = static_cast<uint32_t>(payload.size()),
                             .is_solicited = packet.is_solicited};
  const ByteVector expected = datagram_of(packet);
  ByteVector headers(group::datagram_header_bytes);
  RC_ASSERT(encode_datagram(datagram, headers) == headers.size());
  RC_ASSERT(std::equal(headers.begin(), headers.end(), expected.begin()));
  Datagram read;
  const ExactCopy copy(expected);
  RC_ASSERT(group::try_parse_datagram(copy.span(), expected.size(), read));
  RC_ASSERT(read == datagram);
  // Its payload may lie elsewhere.
  const ExactCopy head(std::span<const uint8_t>(expected).first(group::datagram_header_bytes));
  RC_ASSERT(group::try_parse_datagram(head.span(), expected.size(), read));
  RC_ASSERT(read == datagram);
}

// The short cut takes exactly what the general way takes, for the one opcode it knows.
TEST(GroupDatagram, short_cut_declines_what_the_general_way_refuses) {
  for (const uint32_t payload_bytes : {0u, 1u, 2u, 3u, 4u, 61u}) {
    Datagram sent;
    sent.payload_bytes = payload_bytes;
    ByteVector bytes(group::datagram_header_bytes + payload_bytes + pad_bytes_for(payload_bytes));
    encode_datagram(sent, bytes);
    for (size_t bit = 0; bit < 8 * group::datagram_header_bytes; ++bit) {
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      Datagram read;
      const auto parsed = parse_transport(bytes);
      const bool is_ours = parsed && parsed->opcode == opcode_ud_send_only_immediate;
      EXPECT_EQ(group::try_parse_datagram(bytes, bytes.size(), read), is_ours)
          << payload_bytes << " bit " << bit;
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    for (size_t size = 0; size < bytes.size(); ++size) {
      const ExactCopy copy(std::span<const uint8_t>(bytes).first(size));
      Datagram read;
      EXPECT_EQ(group::try_parse_datagram(copy.span(), size, read),
                parse_transport(copy.span()).has_value());
    }
  }
}

// ---- slots and steps ----

// SPEC 18.3's example.
TEST(GroupSlots, lie_source_by_source_and_end_with_a_short_one) {
  EXPECT_EQ(common.part_slots(), 3u);
  EXPECT_EQ(common.count(), 24u);
  EXPECT_EQ(common.slot_of(3, 2), 11u);
  EXPECT_EQ(common.source_of(11), 3u);
  EXPECT_EQ(common.nth_of(11), 2u);
  EXPECT_EQ(common.bytes_of(11), 53u);
  EXPECT_EQ(common.bytes_of(10), 224u);
  EXPECT_EQ(common.offset_of(11), 3u * 501 + 2 * 224);
  EXPECT_TRUE(common.is_last(11) && !common.is_last(10));
}

// [C-68]
TEST(GroupSlots, have_numbers_of_24_bits_and_sources_that_are_ranks) {
  EXPECT_TRUE(Slots::can_be({.part_bytes = 1, .payload_bytes = 1}));
  EXPECT_FALSE(Slots::can_be({.part_bytes = 0, .payload_bytes = 224}));
  EXPECT_FALSE(Slots::can_be({.part_bytes = 1, .payload_bytes = 0}));
  EXPECT_FALSE(Slots::can_be({.part_bytes = 1, .payload_bytes = 224, .sources = 0}));
  const uint64_t most = uint64_t{1 << 24} * 8160;
  EXPECT_TRUE(Slots::can_be({.part_bytes = most, .payload_bytes = 8160}));
  EXPECT_EQ(Slots({.part_bytes = most, .payload_bytes = 8160}).count(), 1u << 24);
  EXPECT_FALSE(Slots::can_be({.part_bytes = most + 1, .payload_bytes = 8160}));
  EXPECT_FALSE(Slots::can_be({.part_bytes = UINT64_MAX, .payload_bytes = 1}));
  EXPECT_TRUE(Slots::can_be({.part_bytes = 1024, .payload_bytes = 1, .sources = 16384}));
  EXPECT_FALSE(Slots::can_be({.part_bytes = 1025, .payload_bytes = 1, .sources = 16384}));
  EXPECT_FALSE(Slots::can_be({.part_bytes = 1, .payload_bytes = 1, .sources = 16385}));
  EXPECT_TRUE(Slots::can_be({.part_bytes = 1, .payload_bytes = 1, .first_source = 16383}));
  EXPECT_FALSE(Slots::can_be({.part_bytes = 1, .payload_bytes = 1, .first_source = 16384}));
}

// [C-68]; the model goes through them one by one.
RC_GTEST_PROP(GroupSlots, fill_all_parts_without_a_hole, ()) {
  const Slots::Shape shape = {.part_bytes = *rc::gen::inRange<uint64_t>(1, 5000),
                              .payload_bytes = *rc::gen::inRange(1u, 600u),
                              .sources = *rc::gen::inRange<uint16_t>(1, 9),
                              .first_source = *rc::gen::inRange<uint16_t>(0, 9)};
  const Slots slots(shape);
  uint32_t slot = 0;
  uint64_t offset = 0;
  for (uint16_t nth_source = 0; nth_source < shape.sources; ++nth_source) {
    const auto source = static_cast<uint16_t>(shape.first_source + nth_source);
    uint64_t rest = shape.part_bytes;
    for (uint32_t nth = 0; rest > 0; ++nth, ++slot) {
      const uint64_t bytes = std::min<uint64_t>(rest, shape.payload_bytes);
      rest -= bytes;
      RC_ASSERT(slots.slot_of(source, nth) == slot);
      RC_ASSERT(slots.source_of(slot) == source);
      RC_ASSERT(slots.nth_of(slot) == nth);
      RC_ASSERT(slots.is_last(slot) == (rest == 0));
      RC_ASSERT(slots.bytes_of(slot) == bytes);
      RC_ASSERT(slots.offset_of(slot) == offset);
      offset += bytes;
    }
  }
  RC_ASSERT(slots.count() == slot);
}

// [C-69]
TEST(GroupStep, is_found_again_by_its_mark_across_both_wraps) {
  EXPECT_EQ(group::step_near(0xf7, open_step), open_step);
  EXPECT_EQ(group::step_near(0x02, Step(0x1fd)), Step(0x202));
  EXPECT_EQ(group::step_near(0xfd, Step(0x202)), Step(0x1fd));
  EXPECT_EQ(group::step_near(0x01, Step(0xffffffff)), Step(1));
  EXPECT_EQ(group::step_near(0xff, Step(0)), Step(0xffffffff));
}

RC_GTEST_PROP(GroupStep, within_a_window_of_256_is_never_another, (uint32_t number)) {
  const Step reference(number);
  for (int ahead = -128; ahead < 128; ++ahead) {
    const Step step = reference + static_cast<uint64_t>(int64_t{ahead});
    RC_ASSERT(group::step_near(group::mark_of(step), reference) == step);
  }
}

// ---- tshark ----

/// An envelope of group.txt as the packet that carries it.
ByteVector control_frame(const ByteVector& envelope) {
  FrameAddress address;
  address.source_ip = {192, 0, 2, 3};
  address.target_ip = {192, 0, 2, 5};
  address.source_udp_port = 0xc003;
  Transport packet;
  packet.opcode = opcode_ud_send_only;
  packet.target_qp = group::qpn_default;
  packet.datagram = {0x1ca05e0a, 0x103};
  packet.payload = envelope;
  return make_frame(address, packet);
}

/// What tshark must print of a frame.
std::string group_line(const GoldenPacket& packet) {
  if (!is_frame(packet)) return "100|0x00ca15|0x000000001ca05e0a|0x00000103|";
  const Transport transport = decode(packet.bytes).transport;
  char immediate[9];
  std::snprintf(immediate, sizeof(immediate), "%08x", *transport.immediate);
  const bool is_to_all = transport.target_qp == group::multicast_qp;
  return std::string("101|") + (is_to_all ? "0xffffff" : "0x000105") +
         "|0x000000001ca05e0a|0x00000103|" + immediate;
}

// [C-66]: a stranger sees our kinds of packets for what they are.
TEST(GroupTshark, sees_opcode_queues_key_and_immediate_and_nothing_malformed) {
  std::vector<ByteVector> frames;
  for (const GoldenPacket& packet : group_packets()) {
    frames.push_back(is_frame(packet) ? packet.bytes : control_frame(packet.bytes));
  }
  const std::string path = testing::TempDir() + "causeway_group_tshark_test.pcap";
  write_capture(path, frames);
  const Output tshark =
      output_of("tshark -r " + path +
                " -T fields -E 'separator=|' -E occurrence=f"
                " -e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.deth.q_key"
                " -e infiniband.deth.srcqp -e infiniband.immdt 2>/dev/null");
  ASSERT_EQ(tshark.status, 0) << "tshark is missing or failed: install the package tshark";
  const auto lines = tshark.lines();
  ASSERT_EQ(lines.size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(lines[i], group_line(group_packets()[i])) << group_packets()[i].name;
  }
  const Output malformed = output_of(
      "tshark -r " + path + " -Y '_ws.malformed or _ws.expert.group == \"Malformed\"' 2>/dev/null");
  EXPECT_EQ(malformed.status, 0);
  EXPECT_EQ(malformed.out, "");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace cw::test
