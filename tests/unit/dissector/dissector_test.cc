// What tshark shows of our packets, by control/dissector/causeway.lua.
#include <array>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "dataplane/seal/handshake/packet.h"
#include "dataplane/wire/slot.h"
#include "tests/golden_packets.h"
#include "tests/unit/dissector/tshark.h"

namespace cw::test {
namespace {

constexpr size_t first_record = 32;

ByteVector bytes_of_hex(const std::string& text) {
  ByteVector bytes;
  append_hex(bytes, text);
  return bytes;
}

/// The names of all types of records, as the headings of SPEC.md have them.
const std::map<int, std::string>& record_names() {
  static const std::map<int, std::string> names = [] {
    std::map<int, std::string> found;
    std::ifstream file(CW_SOURCE_DIR "/dataplane/wire/SPEC.md");
    const std::regex name("([A-Z_]+) \\(type ([0-9]+)");
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("### ")) continue;
      for (std::sregex_iterator it(line.begin(), line.end(), name), end; it != end; ++it) {
        found[std::stoi((*it)[2])] = (*it)[1];
      }
    }
    return found;
  }();
  return names;
}

std::vector<GoldenPacket> golden_envelopes() {
  std::vector<GoldenPacket> all;
  for (const char* file : {"control.txt", "group.txt"}) {
    for (const auto& each :
         load_golden_packets(std::string(CW_SOURCE_DIR "/tests/data/packets/") + file)) {
      if (each.start.empty()) all.push_back(each);
    }
  }
  return all;
}

/// A host's ping of 28 bytes, as a frame of a gateway's stream.
ByteVector ping_frame() {
  return bytes_of_hex(
      "001c000700000009"
      "4500001c000040004001269d0a0100020a0200020800f7ff00000000");
}

/// Of message 5.
ByteVector slot_with(const ByteVector& used, uint16_t first_frame = 0) {
  ByteVector slot(slot_header_bytes);
  const auto bytes = static_cast<uint16_t>(used.size());
  slot[3] = 5;
  slot[4] = static_cast<uint8_t>(bytes >> 8);
  slot[5] = static_cast<uint8_t>(bytes);
  slot[6] = static_cast<uint8_t>(first_frame >> 8);
  slot[7] = static_cast<uint8_t>(first_frame);
  slot.insert(slot.end(), used.begin(), used.end());
  return slot;
}
constexpr uint32_t immediate_of_5 = 5u << 22 | 9u << 4;

/// Seventeen bytes that look like nothing, number and tag.
ByteVector sealed_bytes() {
  return bytes_of_hex(
      "d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1"
      "11030000000001c8"
      "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
}

TEST(Dissector, names_every_record_of_the_specification) {
  const auto envelopes = golden_envelopes();
  std::vector<ByteVector> frames;
  for (const auto& each : envelopes) frames.push_back(control_frame(each.bytes));
  const auto lines = shown(frames, fields({"causeway.record", "causeway.problem"}));
  ASSERT_EQ(lines.size(), envelopes.size());
  std::set<std::string> seen;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string first = lines[i].substr(0, lines[i].find_first_of(",|"));
    seen.insert(first);
    EXPECT_TRUE(lines[i].ends_with("|")) << envelopes[i].name << ": " << lines[i];
    if (envelopes[i].bytes.size() <= 48) continue;  // it has no record
    const auto known = record_names().find(envelopes[i].bytes[first_record]);
    if (known == record_names().end()) continue;
    EXPECT_EQ(first, known->second) << envelopes[i].name;
  }
  EXPECT_EQ(record_names().size(), 33u);
  for (const auto& [number, name] : record_names()) EXPECT_TRUE(seen.contains(name)) << name;
}

TEST(Dissector, shows_fields_rows_and_texts_of_records) {
  std::vector<ByteVector> frames;
  for (const auto& each : golden_envelopes()) frames.push_back(control_frame(each.bytes));
  const auto of = [&](const std::string& record, const std::vector<std::string>& names) {
    return shown(frames, "-Y 'causeway.record == \"" + record + "\"' " + fields(names)).front();
  };
  EXPECT_EQ(of("HELLO", {"causeway.envelope.sender_nonce", "causeway.envelope.sequence",
                         "causeway.hello.control_qpn", "causeway.hello.payload_bytes",
                         "causeway.hello.icrc_mode", "_ws.col.Protocol", "_ws.col.Info"}),
            "0x1112131415161718|1|0x0000ca05|1024|1|Causeway|HELLO");
  EXPECT_EQ(of("CLEAR_TO_SEND",
               {"causeway.clear_to_send.retired_seq", "causeway.clear_to_send.placement_seq",
                "causeway.clear_to_send.repair_key"}),
            "4294967294|4294967294,4294967295|0x00000000,0x8001f00f");
  EXPECT_EQ(of("SWAP_READY", {"causeway.swap_ready.swap_id", "causeway.record.text"}),
            "0x00000029|no plugin selective_repeat");
}

TEST(Dissector, shows_what_the_packets_of_a_handshake_are_made_of) {
  const seal::MessageCheck receiver(seal::Identity::random().public_key);
  const std::pair<seal::HandshakeType, size_t> types[] = {{seal::HandshakeType::First, 100},
                                                          {seal::HandshakeType::Second, 52},
                                                          {seal::HandshakeType::Cookie, 48}};
  std::vector<ByteVector> frames;
  for (const auto& [type, bytes] : types) {
    const ByteVector message(bytes, static_cast<uint8_t>(0xa0 + bytes));
    frames.push_back(control_frame(seal::handshake_packet({.type = type, .ticket = 0x01020304},
                                                          message, receiver, std::nullopt)));
  }
  const auto lines =
      shown(frames, fields({"_ws.col.Info", "causeway.handshake.ticket",
                            "causeway.handshake.reserved", "causeway.handshake.second_mac"}));
  ASSERT_EQ(lines.size(), 3u);
  const std::string rest = ", ticket 0x01020304|0x01020304|0x00000000|0000000000";
  EXPECT_TRUE(lines[0].starts_with("Handshake, first message" + rest)) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("Handshake, second message" + rest)) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("Handshake, cookie" + rest)) << lines[2];
  const auto keys =
      shown(frames, fields({"causeway.handshake.ephemeral_key", "causeway.handshake.sealed_offer",
                            "causeway.handshake.sealed_cookie"}));
  std::string key;
  for (int i = 0; i < 32; ++i) key += "04";
  EXPECT_EQ(keys[0], key + "|" + key.substr(0, 40) + "|");
  EXPECT_TRUE(keys[2].starts_with("||d0d0d0d0")) << keys[2];
}

TEST(Dissector, shows_sealed_packets_as_such) {
  ByteVector control = sealed_bytes();
  control.insert(control.begin(), 3, 0x99);  // to a multiple of four
  const std::vector<ByteVector> frames = {control_frame(control),
                                          slot_frame(sealed_bytes(), immediate_of_5)};
  const auto lines = shown(
      frames, fields({"_ws.col.Info", "causeway.sealed.length", "causeway.sealed.index",
                      "causeway.sealed.shard", "causeway.sealed.count", "causeway.sealed.tag"}));
  ASSERT_EQ(lines.size(), 2u);
  const std::string rest = "|17|3|456|a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";
  EXPECT_EQ(lines[0], "Control, sealed, 20 bytes, number 17/3/456|20" + rest);
  EXPECT_EQ(lines[1], "Slot, sealed, 17 bytes, number 17/3/456|17" + rest);
}

TEST(Dissector, shows_slots_and_the_packets_of_hosts_in_them) {
  ByteVector two = ping_frame();
  const ByteVector one = ping_frame();
  two.insert(two.end(), one.begin(), one.begin() + 20);
  ByteVector behind(6, 0xee);
  behind.insert(behind.end(), one.begin(), one.end());
  const ByteVector repair = bytes_of_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  const std::vector<ByteVector> frames = {
      slot_frame(slot_with(one), immediate_of_5),  // nobody has said yet that these two are ours
      control_frame(golden_envelopes().front().bytes),
      slot_frame(slot_with(two), immediate_of_5),
      slot_frame(slot_with(behind, 6), immediate_of_5),
      slot_frame(repair, immediate_of_5),
      slot_frame(slot_with(one), 6u << 22)};
  const auto lines = shown(
      frames,
      fields({"_ws.col.Info", "causeway.slot.seq", "causeway.slot.used", "causeway.frame.length",
              "causeway.frame.bucket_seq", "causeway.slot.rest_of_frame", "icmp.type", "ip.src"}));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "UC RDMA Write Only Immediate QP=0x001000 |||||||192.0.2.1");
  EXPECT_EQ(lines[2], "Slot of message 5, 2 frames begin|5|56|28,28|9,9||8|192.0.2.1,10.1.0.2");
  EXPECT_EQ(lines[3],
            "Slot of message 5, 1 frames begin|5|42|28|9|eeeeeeeeeeee|8|192.0.2.1,10.1.0.2");
  EXPECT_EQ(lines[4], "Slot without a header, 16 bytes|||||||192.0.2.1");
  EXPECT_TRUE(lines[5].starts_with("Slot without a header, 44 bytes|")) << lines[5];
}

TEST(Dissector, leaves_what_is_not_ours_alone) {
  std::vector<ByteVector> frames;
  for (const auto& each : load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/golden.txt")) {
    if (each.start == "ethernet") frames.push_back(each.bytes);
  }
  ASSERT_GT(frames.size(), 40u);
  EXPECT_EQ(shown(frames, "-Y causeway").size(), 0u);
}

// Wireshark asks whoever had the last packet first, and takes what begins with 0xc for Ethernet.
TEST(Dissector, gets_its_packets_behind_what_others_may_take_for_theirs) {
  const ByteVector control = golden_envelopes().front().bytes;
  Transport foreign;
  foreign.opcode = opcode_ud_send_only;
  foreign.target_qp = 0x77;
  foreign.datagram = {0x11111111, 0x78};
  foreign.payload = control;
  const auto lines =
      shown(std::vector{make_frame(between_gateways(), foreign), control_frame(control)},
            fields({"_ws.col.Info", "data.len"}));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "UD Send Only QP=0x000077 |80");
  EXPECT_EQ(lines[1], "HELLO|");
}

/// Of a frame: its bytes behind `keep`, damaged here and there, and some of its end gone, with what
/// its envelope says of its length made right.
ByteVector damaged(ByteVector bytes, size_t keep, std::mt19937& random) {
  const auto below = [&](size_t end) { return random() % end; };
  for (size_t times = below(6); times > 0 && bytes.size() > keep; --times) {
    const uint8_t values[] = {0, 1, 0xff, static_cast<uint8_t>(random())};
    bytes[keep + below(bytes.size() - keep)] = values[below(4)];
  }
  if (below(2) == 0 && bytes.size() > keep) bytes.resize(keep + below(bytes.size() - keep));
  if (bytes.size() >= 8 && bytes[0] == 0xca) {
    bytes.resize(bytes.size() & ~size_t{3});
    bytes[4] = static_cast<uint8_t>(bytes.size() >> 8);
    bytes[5] = static_cast<uint8_t>(bytes.size());
  }
  return bytes;
}

TEST(Dissector, takes_bytes_of_any_kind) {
  std::mt19937 random(1);
  std::vector<ByteVector> frames = {control_frame(golden_envelopes().front().bytes)};
  for (const auto& each : golden_envelopes()) {
    if (each.bytes.size() > 1024) continue;
    for (int i = 0; i < 40; ++i) frames.push_back(control_frame(damaged(each.bytes, 6, random)));
  }
  ByteVector three;
  for (int i = 0; i < 3; ++i) {
    for (const uint8_t each : ping_frame()) three.push_back(each);
  }
  for (int i = 0; i < 2000; ++i) {
    frames.push_back(slot_frame(damaged(slot_with(three), 4, random), immediate_of_5));
    ByteVector sealed = damaged(sealed_bytes(), 0, random);
    frames.push_back(slot_frame(sealed, immediate_of_5));
    frames.push_back(control_frame(sealed));
  }
  for (size_t i = 0; i < frames.size(); i += 3) {
    frames[i].resize(frames[i].size() - random() % (frames[i].size() / 2));
  }
  const auto lines = shown(frames, fields({"causeway.record.type", "causeway.frame.length",
                                           "causeway.sealed.tag", "_ws.lua.error"}));
  ASSERT_EQ(lines.size(), frames.size());
  std::array<size_t, 3> shown_of{};
  for (const std::string& line : lines) {
    EXPECT_TRUE(line.ends_with("|")) << line;
    std::istringstream columns(line);
    std::string column;
    for (size_t& each : shown_of) each += std::getline(columns, column, '|') && !column.empty();
  }
  for (const size_t each : shown_of) EXPECT_GT(each, 500u);
}

}  // namespace
}  // namespace cw::test
