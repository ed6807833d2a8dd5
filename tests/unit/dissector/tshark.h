// What tshark shows of frames with the project's dissector loaded.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "dataplane/wire/control/envelope.h"
#include "tests/command.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {

inline const std::string dissector = std::string(CW_SOURCE_DIR) + "/control/dissector/causeway.lua";

/// Of a file; `more` are further options.
inline std::vector<std::string> shown_of_file(const std::string& file, const std::string& more) {
  const Output output =
      output_of("tshark -X lua_script:" + dissector + " -r " + file + " " + more + " 2>/dev/null");
  EXPECT_EQ(output.status, 0) << "tshark is missing or failed: install the package tshark";
  return output.lines();
}

inline std::vector<std::string> shown(std::span<const ByteVector> frames, const std::string& more) {
  const std::string path = testing::TempDir() + "causeway_dissector_" + std::to_string(getpid());
  write_capture(path, frames);
  const auto lines = shown_of_file(path, more);
  std::remove(path.c_str());
  return lines;
}

/// Fields of each frame, divided by `|`.
inline std::string fields(const std::vector<std::string>& names) {
  std::string text = "-T fields -E 'separator=|'";
  for (const std::string& name : names) text += " -e " + name;
  return text;
}

inline FrameAddress between_gateways() {
  FrameAddress address;
  address.source_ip = {192, 0, 2, 1};
  address.target_ip = {192, 0, 2, 2};
  address.source_udp_port = 0xc000;
  return address;
}

inline ByteVector control_frame(std::span<const uint8_t> payload) {
  Transport packet;
  packet.opcode = opcode_ud_send_only;
  packet.target_qp = 0xca05;
  packet.psn = Psn(7);
  packet.datagram = {control_qkey, 0xca05};
  packet.payload = payload;
  return make_frame(between_gateways(), packet);
}

inline ByteVector slot_frame(std::span<const uint8_t> payload, uint32_t immediate) {
  Transport packet;
  packet.opcode = opcode_uc_write_only_immediate;
  packet.target_qp = 0x1000;
  packet.psn = Psn(9);
  packet.rdma = {0x7f0000001000, 0x5eedda7a, static_cast<uint32_t>(payload.size())};
  packet.immediate = immediate;
  packet.payload = payload;
  return make_frame(between_gateways(), packet);
}

}  // namespace cw::test
