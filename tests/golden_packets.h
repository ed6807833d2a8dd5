// Reads golden packets: files of tests/data/packets with entries of the form
//
//   name: one sentence
//     start ethernet         where the bytes begin, in words of the test that reads it; optional
//     expect length          what becomes of them, likewise
//     0a0b0c0d 00*8 0e       hex, in any grouping; 00*N stands for N zero bytes
//
// Empty lines and lines that begin with # are passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace cw::test {

struct GoldenPacket {
  std::string name, sentence, start, expect;
  std::vector<uint8_t> bytes;
};

/// Appends a word of hex to `bytes`; throws std::invalid_argument when it is none.
inline void append_hex(std::vector<uint8_t>& bytes, const std::string& word) {
  if (word.starts_with("00*")) {
    bytes.resize(bytes.size() + std::stoul(word.substr(3)));
    return;
  }
  const bool is_hex = word.find_first_not_of("0123456789abcdef") == word.npos;
  if (!is_hex || word.size() % 2 != 0) throw std::invalid_argument("not hex: " + word);
  for (size_t i = 0; i < word.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(word.substr(i, 2), nullptr, 16)));
  }
}

/// Reads an indented line into the packet it belongs to.
inline void append_line(GoldenPacket& packet, const std::string& line) {
  const std::string text = line.substr(line.find_first_not_of(' '));
  if (text.starts_with("start ")) {
    packet.start = text.substr(6);
  } else if (text.starts_with("expect ")) {
    packet.expect = text.substr(7);
  } else {
    std::istringstream words(text);
    for (std::string word; words >> word;) append_hex(packet.bytes, word);
  }
}

/// All entries of a file, in its order; throws when the file cannot be read as such.
inline std::vector<GoldenPacket> load_golden_packets(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<GoldenPacket> packets;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    if (line.starts_with(" ")) {
      if (packets.empty()) throw std::invalid_argument("hex before the first name in " + path);
      append_line(packets.back(), line);
      continue;
    }
    const size_t colon = line.find(": ");
    if (colon == line.npos) throw std::invalid_argument("neither a name nor hex: " + line);
    GoldenPacket& packet = packets.emplace_back();
    packet.name = line.substr(0, colon);
    packet.sentence = line.substr(colon + 2);
  }
  return packets;
}

}  // namespace cw::test
