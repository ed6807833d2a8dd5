// Which sequences of a peer have been seen (SPEC.md 6.4, [C-40]): the last 1024 exactly, everything
// older refused. Control packets may overtake each other; none may count twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cw {

/// Starts with nothing seen. Sequences begin at 1; 0 is never acceptable.
class ReplayWindow {
 public:
  static constexpr uint64_t width = 1024;

  /// True the first time a sequence comes, unless it is `width` or more behind the highest so far.
  /// Only for sequences that a MAC vouches for: a forged high one would shut out all others.
  bool try_accept(uint64_t sequence) {
    if (sequence == 0 || (sequence <= highest_ && highest_ - sequence >= width)) return false;
    if (sequence > highest_) slide_to(sequence);
    uint64_t& word = words_[word_of(sequence)];
    const uint64_t bit = uint64_t{1} << sequence % word_bits;
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }
  uint64_t highest() const { return highest_; }

 private:
  static constexpr uint64_t word_bits = 64;
  // One word more than the width: while the highest sequence fills its word bit by bit, the oldest
  // word still holds sequences that lie within the window.
  static constexpr uint64_t word_count = width / word_bits + 1;
  static_assert(width % word_bits == 0);

  static constexpr size_t word_of(uint64_t sequence) { return sequence / word_bits % word_count; }

  /// Clears the words that the window enters.
  void slide_to(uint64_t sequence) {
    uint64_t words = sequence / word_bits - highest_ / word_bits;
    if (words > word_count) words = word_count;
    for (; words > 0; --words) words_[word_of(sequence - (words - 1) * word_bits)] = 0;
    highest_ = sequence;
  }

  std::array<uint64_t, word_count> words_{};
  uint64_t highest_ = 0;
};

}  // namespace cw
