// Packets as they must be, byte by byte, and as a stranger reads them.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "tests/command.h"
#include "tests/golden_packets.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

// ---- golden ----
// Every golden packet decodes to what stands beside it, and every way of cutting it short ends in a
// refusal, never in a read beyond its end.

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

TEST(Golden, those_of_the_version_before_decode_to_what_stood_beside_them) {
  for (const GoldenPacket& packet :
       load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/before/golden.txt")) {
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

// ---- tshark ----
// Proof by strangers, writing: a capture made by our encoders is read by tshark, which must see the
// fields that went in and find nothing malformed. tshark does not check ICRCs (the kernel's do that
// in rxe_test.cc), prints immediates twice and counts the pad into the payload.

// SEND ONLY of no bytes is left out: tshark guesses at datagrams' payloads (EoIB) and trips over
// empty ones, the kernel's as well as ours.
constexpr size_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 63, 64, 255, 1000, 1023, 1024, 4096, 8192};

constexpr const char* tshark_arguments =
    " -T fields -E 'separator=|' -E occurrence=f"
    " -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE"
    " -e frame.len -e vlan.id -e ip.src -e ipv6.src -e ip.dst -e ipv6.dst -e ip.dsfield"
    " -e ipv6.tclass -e ipv6.flow -e ip.id -e ip.flags -e ip.ttl -e ipv6.hlim"
    " -e ip.checksum.status -e udp.srcport -e udp.dstport -e udp.checksum.status"
    " -e infiniband.bth.opcode -e infiniband.bth.se -e infiniband.bth.m -e infiniband.bth.padcnt"
    " -e infiniband.bth.tver -e infiniband.bth.p_key -e infiniband.bth.destqp -e infiniband.bth.a"
    " -e infiniband.bth.psn -e infiniband.reth.va -e infiniband.reth.r_key"
    " -e infiniband.reth.dmalen -e infiniband.deth.q_key -e infiniband.deth.srcqp"
    " -e infiniband.immdt -e infiniband.invariant.crc -e _ws.malformed";

struct Sent {
  FrameAddress address;
  Transport packet;
};

FrameAddress make_address(bool is_ipv6, bool has_vlan, size_t nth) {
  FrameAddress address;
  address.source_mac = {2, 0, 0, 0, 0, 1};
  address.target_mac = {2, 0, 0, 0, 0, 2};
  if (has_vlan) address.vlan = static_cast<uint16_t>(3 << 13 | 100);
  address.ip_version = is_ipv6 ? IpVersion::V6 : IpVersion::V4;
  address.source_ip = is_ipv6 ? IpAddress{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
                              : IpAddress{10, 0, 0, 1};
  address.target_ip = address.source_ip;
  address.target_ip[is_ipv6 ? 15 : 3] = 2;
  address.dscp = 26;
  address.ecn = 1;
  address.hop_limit = 61;
  address.flow_label = is_ipv6 ? 0x54321 : 0;
  address.identification = is_ipv6 ? 0 : static_cast<uint16_t>(0x1200 + nth);
  address.source_udp_port = static_cast<uint16_t>(0xc000 + nth);
  address.has_udp_checksum = nth / 4 % 2 == 0;
  return address;
}

Transport make_packet(uint8_t opcode, std::span<const uint8_t> payload, size_t nth) {
  Transport packet;
  packet.opcode = opcode;
  packet.is_solicited = nth % 3 == 0;
  packet.is_migrated = nth % 4 != 0;
  packet.target_qp = static_cast<uint32_t>(0xabc000 + nth);
  packet.psn = Psn(0xfffff0 + nth);
  packet.payload = payload;
  const OpcodeFacts& facts = packet.facts();
  if (facts.has(extended::reth)) {
    packet.rdma = {0x123456789abcd000 + nth, 0xdeadbeef, static_cast<uint32_t>(payload.size())};
  }
  if (facts.has(extended::deth)) packet.datagram = {0x80010203, 0x654321};
  if (facts.has(extended::immediate)) packet.immediate = 0x01400000 + static_cast<uint32_t>(nth);
  return packet;
}

std::vector<Sent> all_kinds(std::span<const uint8_t> bytes) {
  std::vector<Sent> all;
  for (const uint8_t opcode : {opcode_uc_write_only, opcode_uc_write_only_immediate,
                               opcode_ud_send_only, opcode_ud_send_only_immediate}) {
    for (const size_t size : sizes) {
      for (const bool is_ipv6 : {false, true}) {
        const size_t nth = all.size();
        all.push_back({make_address(is_ipv6, nth / 2 % 2 == 1, nth),
                       make_packet(opcode, bytes.first(size), nth)});
      }
    }
  }
  return all;
}

/// A number as tshark prints it: hexadecimal with a fixed number of digits.
std::string hex(uint64_t value, int digits) {
  char text[20];
  std::snprintf(text, sizeof(text), "0x%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

/// The line that tshark must print for a packet.
std::string expected_line(const Sent& sent, const ByteVector& frame) {
  const FrameAddress& address = sent.address;
  const Transport& packet = sent.packet;
  const bool is_v4 = address.ip_version == IpVersion::V4;
  uint32_t icrc = 0;  // tshark takes it as big-endian
  for (size_t i = frame.size() - 4; i < frame.size(); ++i) icrc = icrc << 8 | frame[i];
  const std::string hops = std::to_string(address.hop_limit);
  const std::string immediate =
      packet.immediate ? hex(*packet.immediate, 8).substr(2) : std::string();
  // UDP checksum: 1 is right, 3 is absent, 4 is what tshark thinks of an absent one over IPv6.
  const std::string columns[] = {
      std::to_string(frame.size()),
      address.vlan ? std::to_string(*address.vlan & 0xfff) : "",
      is_v4 ? "10.0.0.1" : "",
      is_v4 ? "" : "fd00::1",
      is_v4 ? "10.0.0.2" : "",
      is_v4 ? "" : "fd00::2",
      is_v4 ? hex(address.dscp << 2 | address.ecn, 2) : "",
      is_v4 ? "" : hex(address.dscp << 2 | address.ecn, 8),
      is_v4 ? "" : hex(address.flow_label, 6),
      is_v4 ? hex(address.identification, 4) : "",
      is_v4 ? "0x02" : "",
      is_v4 ? hops : "",
      is_v4 ? "" : hops,
      is_v4 ? "1" : "",
      std::to_string(address.source_udp_port),
      std::to_string(roce_udp_port),
      address.has_udp_checksum ? "1"
      : is_v4                  ? "3"
                               : "4",
      std::to_string(packet.opcode),
      packet.is_solicited ? "1" : "0",
      packet.is_migrated ? "1" : "0",
      std::to_string(pad_bytes_for(packet.payload.size())),
      "0",
      "65535",
      hex(packet.target_qp, 6),
      "0",
      std::to_string(packet.psn.value()),
      packet.rdma ? hex(packet.rdma->address, 16) : "",
      packet.rdma ? hex(packet.rdma->key, 8) : "",
      packet.rdma ? std::to_string(packet.rdma->bytes) : "",
      packet.datagram ? hex(packet.datagram->queue_key, 16) : "",
      packet.datagram ? hex(packet.datagram->source_qp, 8) : "",
      immediate,
      hex(icrc, 8),
      "",
  };
  std::string line;
  for (const std::string& column : columns) line += column + "|";
  line.pop_back();
  return line;
}

// SPEC 2.1, SPEC 2.2, SPEC 2.3, SPEC 2.4, SPEC 2.5, SPEC 2.6, SPEC 2.7, SPEC 2.8, SPEC 2.9
TEST(Tshark, sees_the_fields_that_we_wrote_and_nothing_malformed) {
  ByteVector bytes(8192);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + 1);
  const std::vector<Sent> all = all_kinds(bytes);
  std::vector<ByteVector> frames;
  for (const Sent& sent : all) frames.push_back(make_frame(sent.address, sent.packet));
  const std::string path = testing::TempDir() + "causeway_tshark_test.pcap";
  write_capture(path, frames);

  const Output tshark = output_of("tshark -r " + path + tshark_arguments + " 2>/dev/null");
  ASSERT_EQ(tshark.status, 0) << "tshark is missing or failed: install the package tshark";
  const auto lines = tshark.lines();
  ASSERT_EQ(lines.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(lines[i], expected_line(all[i], frames[i])) << "frame " << i + 1;
  }
  const Output malformed = output_of(
      "tshark -r " + path + " -Y '_ws.malformed or _ws.expert.group == \"Malformed\"' 2>/dev/null");
  EXPECT_EQ(malformed.status, 0);
  EXPECT_EQ(malformed.out, "");
  std::remove(path.c_str());
}

}  // namespace

}  // namespace cw::test
