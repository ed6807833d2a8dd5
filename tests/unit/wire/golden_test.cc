// Every golden packet decodes to what stands beside it, and every way of cutting it short ends in a
// refusal, never in a read beyond its end.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "tests/golden_packets.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

const std::vector<GoldenPacket>& golden() {
  static const auto all = load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/golden.txt");
  return all;
}

std::string hex(uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string describe_headers(const Transport& packet) {
  std::string text;
  if (packet.datagram) {
    text += " datagram=" + hex(packet.datagram->queue_key) + "/" + hex(packet.datagram->source_qp);
  }
  if (packet.rdma) {
    text += " rdma=" + hex(packet.rdma->address) + "/" + hex(packet.rdma->key) + "/" +
            std::to_string(packet.rdma->bytes);
  }
  if (packet.atomic) {
    text += " atomic=" + hex(packet.atomic->address) + "/" + hex(packet.atomic->key) + "/" +
            hex(packet.atomic->swap_or_add) + "/" + hex(packet.atomic->compare);
  }
  if (packet.acknowledgement) {
    text += " ack=" + hex(packet.acknowledgement->syndrome) + "/" +
            hex(packet.acknowledgement->message);
  }
  if (packet.immediate) text += " immediate=" + hex(*packet.immediate);
  return text;
}

/// In the words of golden.txt.
std::string describe(const Transport& packet) {
  std::string text = " opcode=" + hex(packet.opcode) + " qp=" + hex(packet.target_qp) +
                     " psn=" + hex(packet.psn.value());
  if (packet.is_solicited) text += " solicited";
  if (packet.has_fecn) text += " fecn";
  if (packet.has_becn) text += " becn";
  return text + describe_headers(packet) + " payload=" + std::to_string(packet.payload.size());
}

std::string describe(const Decoded& decoded) {
  if (decoded.error) return name_of(*decoded.error);
  const FrameAddress& address = decoded.frame.address;
  std::string text = address.ip_version == IpVersion::V4 ? "ipv4" : "ipv6";
  if (address.vlan) text += " vlan=" + hex(*address.vlan);
  if (address.has_udp_checksum) text += " udp_checksum";
  return text + describe(decoded.transport) +
         (decoded.has_right_icrc ? " icrc=right" : " icrc=wrong");
}

std::string decode_as(const std::string& start, std::span<const uint8_t> bytes) {
  if (start == "ethernet") return describe(decode(bytes, FrameStart::Ethernet));
  if (start == "ip") return describe(decode(bytes, FrameStart::Ip));
  const auto packet = parse_transport(bytes);
  return packet ? "transport" + describe(*packet) : name_of(packet.error());
}

const GoldenPacket& golden(const std::string& name) {
  for (const GoldenPacket& packet : golden()) {
    if (packet.name == name) return packet;
  }
  throw std::runtime_error("no golden packet " + name);
}

// SPEC 2.1, SPEC 2.2, SPEC 2.3, SPEC 2.4, SPEC 2.5, SPEC 2.6, SPEC 2.7, SPEC 2.8, SPEC 2.9,
// SPEC 2.10, SPEC 2.12
TEST(Golden, each_packet_decodes_to_what_stands_beside_it) {
  for (const GoldenPacket& packet : golden()) {
    SCOPED_TRACE(packet.name + ": " + packet.sentence);
    const ExactCopy copy(packet.bytes);
    EXPECT_EQ(decode_as(packet.start, copy.span()), packet.expect);
  }
}

// SPEC 2.12
TEST(Golden, every_refusal_is_provoked_by_a_packet) {
  std::set<std::string> provoked;
  for (const GoldenPacket& packet : golden()) provoked.insert(packet.expect);
  const std::set<std::string> data_refusals = {
      "frame_short",  "frame_type",   "ip_version",  "ip_length",  "ip_checksum",
      "ip_fragment",  "ip_extension", "ip_protocol", "udp_length", "wire_short",
      "wire_version", "wire_opcode",  "wire_pad",    "wire_length"};
  for (const std::string& name : data_refusals) EXPECT_TRUE(provoked.contains(name)) << name;
}

TEST(Golden, a_packet_cut_anywhere_is_refused) {
  for (const GoldenPacket& packet : golden()) {
    // Bytes behind the IP packet may be cut, and an unrelated refusal tells nothing here.
    const bool is_whole = packet.expect.find("payload=") != std::string::npos;
    if (!is_whole || packet.start == "transport" || packet.name.starts_with("trailing")) continue;
    SCOPED_TRACE(packet.name);
    const auto start = packet.start == "ip" ? FrameStart::Ip : FrameStart::Ethernet;
    for (size_t size = 0; size < packet.bytes.size(); ++size) {
      const ExactCopy copy(std::span<const uint8_t>(packet.bytes).first(size));
      EXPECT_TRUE(decode(copy.span(), start).error) << size << " bytes";
    }
  }
}

// SPEC 2.11
TEST(Golden, foreign_packets_are_classified_by_their_first_twelve_bytes) {
  struct Row {
    const char* name;
    Service service;
    bool is_request, is_pure_acknowledgement, is_read_or_atomic_response, is_cnp;
  };
  constexpr Row rows[] = {
      {"uc_write_immediate", Service::Uc, true, false, false, false},
      {"ud_send_only", Service::Ud, true, false, false, false},
      {"rc_read_request", Service::Rc, true, false, false, false},
      {"rc_compare_and_swap", Service::Rc, true, false, false, false},
      {"xrc_write_only", Service::Xrc, true, false, false, false},
      {"rc_acknowledge", Service::Rc, false, true, false, false},
      {"rc_sequence_error", Service::Rc, false, true, false, false},
      {"rc_read_response_only", Service::Rc, false, false, true, false},
      {"rc_read_response_middle", Service::Rc, false, false, true, false},
      {"rc_atomic_acknowledge", Service::Rc, false, false, true, false},
      {"cnp", Service::Cnp, false, false, false, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const ByteVector& bytes = golden(row.name).bytes;
    const Frame frame = *parse_frame(bytes, FrameStart::Ethernet);
    const ExactCopy first(frame.transport_of(bytes).first(sizeof(Bth)));
    const auto known = classify_transport(first.span());
    ASSERT_TRUE(known);
    EXPECT_EQ(known->facts.service, row.service);
    EXPECT_EQ(known->facts.is_request(), row.is_request);
    EXPECT_EQ(known->facts.is_pure_acknowledgement(), row.is_pure_acknowledgement);
    EXPECT_EQ(known->facts.is_read_or_atomic_response(), row.is_read_or_atomic_response);
    EXPECT_EQ(known->facts.is_cnp(), row.is_cnp);
  }
}

}  // namespace
}  // namespace cw::test
