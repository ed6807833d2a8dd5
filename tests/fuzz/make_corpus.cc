// Turns the golden packets and captures into seeds: make_corpus PACKETS_FOLDER CORPUS_FOLDER writes
// CORPUS_FOLDER/<fuzz target>/<name>, one file per packet. What they cannot make lies in
// tests/fuzz/corpus.
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include "dataplane/wire/outer/frame.h"
#include "tests/golden_packets.h"
#include "tests/unit/port/segments.h"
#include "tests/unit/wire/capture.h"

namespace {

using cw::test::ByteVector;
namespace fs = std::filesystem;

void write_seed(const fs::path& folder, const std::string& name, const ByteVector& bytes) {
  fs::create_directories(folder);
  std::ofstream file(folder / name, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + (folder / name).string());
}

void make_packet_seeds(const fs::path& packets, const fs::path& folder) {
  for (const auto& packet : cw::test::load_golden_packets(packets / "golden.txt")) {
    write_seed(folder, packet.name, packet.bytes);
  }
  size_t nth = 0;
  for (const ByteVector& frame : cw::test::read_capture(packets / "rxe-golden.pcap")) {
    write_seed(folder, "rxe_" + std::to_string(++nth), frame);
  }
}

/// IP packets of hosts: the same frames without their Ethernet headers.
void make_gateway_seeds(const fs::path& packets, const fs::path& folder) {
  constexpr size_t ethernet_bytes = 14;
  size_t nth = 0;
  for (const ByteVector& frame : cw::test::read_capture(packets / "rxe-golden.pcap")) {
    write_seed(folder, "rxe_" + std::to_string(++nth),
               ByteVector(frame.begin() + ethernet_bytes, frame.end()));
  }
  for (const bool is_v4 : {true, false}) {
    for (const bool is_tcp : {true, false}) {
      const auto packet =
          cw::test::make_joined({.is_v4 = is_v4, .is_tcp = is_tcp, .payload_bytes = 200}).packet;
      write_seed(folder, std::string(is_tcp ? "tcp" : "udp") + (is_v4 ? "_v4" : "_v6"), packet);
    }
  }
}

void make_control_seeds(const fs::path& packets, const fs::path& folder) {
  for (const auto& packet : cw::test::load_golden_packets(packets / "control.txt")) {
    write_seed(folder, packet.name, packet.bytes);
  }
}

/// Envelopes as they are, and the transport packets in frames.
void make_group_seeds(const fs::path& packets, const fs::path& folder) {
  for (const auto& packet : cw::test::load_golden_packets(packets / "group.txt")) {
    ByteVector bytes = packet.bytes;
    if (!packet.start.empty()) {
      const auto frame = cw::parse_frame(packet.bytes, cw::FrameStart::Ethernet);
      const auto transport = frame.value().transport_of(packet.bytes);
      bytes.assign(transport.begin(), transport.end());
    }
    write_seed(folder, packet.name, bytes);
  }
}

/// What a kernel hands over through a TUN device: the header before the packet, and the packet.
void make_segment_seeds(const fs::path& folder) {
  for (const bool is_v4 : {true, false}) {
    for (const bool is_tcp : {true, false}) {
      const auto joined = cw::test::make_joined({.is_v4 = is_v4, .is_tcp = is_tcp});
      const cw::VnetHeader header = cw::encode_offload(joined.offload);
      ByteVector bytes(sizeof header);
      std::memcpy(bytes.data(), &header, sizeof header);
      bytes.insert(bytes.end(), joined.packet.begin(), joined.packet.end());
      write_seed(folder, std::string(is_tcp ? "tcp" : "udp") + (is_v4 ? "_v4" : "_v6"), bytes);
    }
  }
}

/// Inputs of inbound_fuzz: slots with two frames, the second of which straddles, in either order,
/// and the length of their message.
void make_inbound_seeds(const fs::path& folder) {
  constexpr uint8_t place = 6, length = 1, wait = 3, drain = 4, oldest = 1, none = 255;
  ByteVector first = {place, oldest, 0, 248, 0x80, 32, 0, 0, 0, 0, 0, 0, 0x45, 0, 0, 32};
  first.resize(4 + 40);
  const ByteVector straddling = {0x01, 44, 0, 7, 0, 0, 0, 0, 0x45, 0, 0x01, 44};
  first.insert(first.end(), straddling.begin(), straddling.end());
  first.resize(4 + 248);
  first.push_back(0);
  ByteVector second = {place, oldest, 1, 100};
  second.resize(4 + 100);
  second.push_back(none);
  const ByteVector end = {length, oldest, 2, wait, 1, drain, wait, 255};
  for (const bool is_in_order : {true, false}) {
    ByteVector all = is_in_order ? first : second;
    const ByteVector& other = is_in_order ? second : first;
    all.insert(all.end(), other.begin(), other.end());
    all.insert(all.end(), end.begin(), end.end());
    write_seed(folder, is_in_order ? "in_order" : "turned_round", all);
  }
}

/// Inputs of endpoint_fuzz: the records of each golden envelope for somebody who has the key, and
/// rows of slots of which one field after the other is wrong.
void make_endpoint_seeds(const fs::path& packets, const fs::path& folder) {
  constexpr size_t header_bytes = 32, mac_bytes = 16;
  for (const auto& packet : cw::test::load_golden_packets(packets / "control.txt")) {
    const ByteVector& bytes = packet.bytes;
    if (bytes.size() < header_bytes + mac_bytes || bytes.size() > 252) continue;
    ByteVector seed = {3, static_cast<uint8_t>(bytes.size() - header_bytes - mac_bytes)};
    seed.insert(seed.end(), bytes.begin() + header_bytes, bytes.end() - mac_bytes);
    write_seed(folder, packet.name, seed);
    seed[0] |= 0x80;  // to a coded stream
    write_seed(folder, packet.name + "_coded", seed);
  }
  ByteVector slots;
  for (const uint8_t wrong : {0, 1, 2, 4, 8, 16, 32}) {
    // Wrong fields, place, slot, QP number, PSN:2, payload:2, and what is wrong about them.
    const ByteVector slot = {1, 20, wrong, 3, 1, 5, 1, 0, 0, 4, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
    slots.insert(slots.end(), slot.begin(), slot.end());
  }
  write_seed(folder, "slots", slots);
  slots[0] |= 0x40;  // to hardware
  write_seed(folder, "slots_rnic", slots);
  // A block of four slots with two lost, then its repair: place 3 in some life.
  ByteVector block = {0x83, 28, 7, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 3, 0,
                      0,    0,  0, 0, 0, 0,  0, 0, 0, 4, 0, 2, 2, 2, 0};
  for (const uint8_t slot : {0, 1, 2, 3}) {
    block.insert(block.end(), {0x82, 9, 0, 3, slot, 5, 1, 0, 0, 4, 9});
  }
  write_seed(folder, "repair", block);
  block[0] |= 0x40;
  write_seed(folder, "repair_rnic", block);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_corpus PACKETS_FOLDER CORPUS_FOLDER\n");
    return 2;
  }
  try {
    const fs::path packets = argv[1], corpus = argv[2];
    make_packet_seeds(packets, corpus / "packet_fuzz");
    make_control_seeds(packets, corpus / "control_fuzz");
    make_group_seeds(packets, corpus / "group_fuzz");
    make_segment_seeds(corpus / "segments_fuzz");
    make_gateway_seeds(packets, corpus / "gateway_fuzz");
    make_gateway_seeds(packets, corpus / "flow_fuzz");
    make_inbound_seeds(corpus / "inbound_fuzz");
    make_endpoint_seeds(packets, corpus / "endpoint_fuzz");
    // The others start from what is committed.
    for (const char* name :
         {"codec_fuzz", "config_fuzz", "device_text_fuzz", "elf_fuzz", "exchange_fuzz",
          "kernel_answer_fuzz", "group_query_fuzz", "handshake_fuzz", "lan_frame_fuzz",
          "message_fuzz", "perf_words_fuzz", "policy_fuzz", "scenario_fuzz", "seal_packet_fuzz",
          "sealer_fuzz", "trace_fuzz", "wan_frame_fuzz", "wan_request_fuzz"}) {
      fs::create_directories(corpus / name);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_corpus: %s\n", error.what());
    return 1;
  }
  return 0;
}
