// Every delivered byte is the one that was sent. No copy is kept: each byte follows from its
// stream, message and offset, so a right byte in a wrong place is as wrong as a flipped bit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/checkers/checker.h"

namespace cw::sim {

/// The eight bytes from offset 8 * `index` of a message (splitmix64 of its name and the index).
inline uint64_t pattern_word(uint64_t stream, uint64_t message, uint64_t index) {
  uint64_t z = (stream * 0xd1342543de82ef95 + message) * 0x9e3779b97f4a7c15 + index;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// Writes the bytes of a message from `offset` on.
inline void fill_pattern(std::span<uint8_t> out, uint64_t stream, uint64_t message,
                         uint64_t offset) {
  size_t done = 0;
  while (done < out.size()) {
    const uint64_t word = pattern_word(stream, message, (offset + done) / 8);
    const size_t skipped = (offset + done) % 8;
    const size_t count = std::min(8 - skipped, out.size() - done);
    std::memcpy(out.data() + done, reinterpret_cast<const uint8_t*>(&word) + skipped, count);
    done += count;
  }
}

/// A whole message in memory of its own, so that who reads it too late is seen.
inline std::vector<uint8_t> pattern_of(uint64_t stream, uint64_t message, uint64_t bytes) {
  std::vector<uint8_t> memory(bytes);
  fill_pattern(memory, stream, message, 0);
  return memory;
}

class NoWrongByte final : public Checker {
 public:
  const char* name() const override { return "no wrong byte"; }

  /// `bytes` were delivered as those of this message from `offset` on.
  void on_bytes(std::span<const uint8_t> bytes, uint64_t stream, uint64_t message,
                uint64_t offset = 0) {
    std::array<uint8_t, 512> expected;
    for (size_t done = 0; done < bytes.size(); done += expected.size()) {
      const size_t count = std::min(expected.size(), bytes.size() - done);
      fill_pattern({expected.data(), count}, stream, message, offset + done);
      if (std::memcmp(expected.data(), bytes.data() + done, count) == 0) continue;
      const auto wrong = std::mismatch(expected.begin(), expected.begin() + count, &bytes[done]);
      const auto place = static_cast<size_t>(wrong.first - expected.begin());
      complain("stream " + std::to_string(stream) + " message " + std::to_string(message) +
               ": wrong byte at offset " + std::to_string(offset + done + place));
    }
    byte_count_ += bytes.size();
  }
  /// So that a test can see that anything was compared at all.
  uint64_t byte_count() const { return byte_count_; }

 private:
  uint64_t byte_count_ = 0;
};

}  // namespace cw::sim
