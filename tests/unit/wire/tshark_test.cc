// Proof by strangers, writing: a capture made by our encoders is read by tshark, which must see the
// fields that went in and find nothing malformed. tshark does not check ICRCs (the kernel's do that
// in rxe_test.cc), prints immediates twice and counts the pad into the payload.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

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

struct Output {
  std::vector<std::string> lines;
  int status = -1;
};

Output output_of(const std::string& command) {
  Output output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char line[4096];
  while (std::fgets(line, sizeof(line), pipe) != nullptr) {
    output.lines.emplace_back(line);
    if (output.lines.back().ends_with('\n')) output.lines.back().pop_back();
  }
  output.status = pclose(pipe);
  return output;
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
  ASSERT_EQ(tshark.lines.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(tshark.lines[i], expected_line(all[i], frames[i])) << "frame " << i + 1;
  }
  const Output malformed = output_of(
      "tshark -r " + path + " -Y '_ws.malformed or _ws.expert.group == \"Malformed\"' 2>/dev/null");
  EXPECT_EQ(malformed.status, 0);
  EXPECT_TRUE(malformed.lines.empty()) << malformed.lines.front();
  std::remove(path.c_str());
}

}  // namespace
}  // namespace cw::test
