// A running 64-bit hash of what happened in a simulation. Two runs with equal hashes took, for all
// that chance allows, the same course; so "one seed, one hash" is how determinism is tested. Not
// for keys, not against an adversary.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cw {

class TraceHash {
 public:
  uint64_t value() const { return state_; }

  void add(uint64_t word) {
    state_ = std::rotl(state_ ^ word * 0x9e3779b97f4a7c15, 29) * 0xbf58476d1ce4e5b9;
  }
  void add(std::span<const uint8_t> bytes) {
    size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + i, 8);
      add(word);
    }
    uint64_t rest = bytes.size();  // and so does the length count
    for (; i < bytes.size(); ++i) rest = rest << 8 | bytes[i];
    add(rest);
  }

 private:
  uint64_t state_ = 0x94d049bb133111eb;
};

}  // namespace cw
