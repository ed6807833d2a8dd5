// Capture files, for tests only: reads pcapng and classic pcap, writes classic pcap. Little-endian
// files of Ethernet frames, which is what the tests meet; anything else throws.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace cw::test {

using ByteVector = std::vector<uint8_t>;

inline ByteVector read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return ByteVector(std::istreambuf_iterator<char>(file), {});
}

inline uint32_t little_word_at(std::span<const uint8_t> bytes, size_t offset) {
  if (offset + 4 > bytes.size()) throw std::runtime_error("capture file ends early");
  uint32_t word;
  std::memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

inline ByteVector slice(std::span<const uint8_t> bytes, size_t offset, size_t count) {
  if (offset + count > bytes.size()) throw std::runtime_error("capture file ends early");
  const auto part = bytes.subspan(offset, count);
  return ByteVector(part.begin(), part.end());
}

/// The frames of a capture, in its order.
inline std::vector<ByteVector> read_capture(const std::string& path) {
  constexpr uint32_t pcapng_magic = 0x0a0d0d0a, packet_block = 6;
  constexpr uint32_t pcap_magic = 0xa1b2c3d4, pcap_ns_magic = 0xa1b23c4d;
  const ByteVector file = read_file(path);
  std::vector<ByteVector> frames;
  if (const uint32_t magic = little_word_at(file, 0);
      magic == pcap_magic || magic == pcap_ns_magic) {
    for (size_t at = 24; at < file.size(); at += 16 + frames.back().size()) {
      frames.push_back(slice(file, at + 16, little_word_at(file, at + 8)));
    }
    return frames;
  }
  if (little_word_at(file, 0) != pcapng_magic) throw std::runtime_error(path + ": no capture");
  for (size_t at = 0; at < file.size();) {
    const uint32_t block_bytes = little_word_at(file, at + 4);
    if (block_bytes < 12) throw std::runtime_error(path + ": a block without an end");
    if (little_word_at(file, at) == packet_block) {
      frames.push_back(slice(file, at + 28, little_word_at(file, at + 20)));
    }
    at += block_bytes;
  }
  return frames;
}

inline void write_capture(const std::string& path, std::span<const ByteVector> frames) {
  constexpr uint32_t header[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 1};
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(header), sizeof(header));
  for (const ByteVector& frame : frames) {
    const auto bytes = static_cast<uint32_t>(frame.size());
    const uint32_t record[] = {0, 0, bytes, bytes};
    file.write(reinterpret_cast<const char*>(record), sizeof(record));
    file.write(reinterpret_cast<const char*>(frame.data()), bytes);
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace cw::test
