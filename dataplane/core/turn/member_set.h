// Some members of a row, a bit each, with a word above that says where any are: to visit a few of
// a thousand costs what those few cost.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"

namespace cw {

/// Members are numbers below members_max; nobody checks it. Thread: one. Nothing allocates.
class MemberSet {
 public:
  static constexpr size_t members_max = limits::peers_max;
  static constexpr size_t word_bits = 64, words_max = members_max / word_bits;
  static_assert(members_max % word_bits == 0 && words_max <= word_bits);

  void add(size_t member) {
    words_[member / word_bits] |= bit_of(member);
    used_ |= bit_of(member / word_bits);
  }
  void remove(size_t member) {
    uint64_t& word = words_[member / word_bits];
    word &= ~bit_of(member);
    if (word == 0) used_ &= ~bit_of(member / word_bits);
  }
  void add_all(const MemberSet& others) {
    for_each_bit(others.used_, [&](size_t word) { words_[word] |= others.words_[word]; });
    used_ |= others.used_;
  }
  void clear() {
    for_each_bit(used_, [this](size_t word) { words_[word] = 0; });
    used_ = 0;
  }

  bool has(size_t member) const { return (words_[member / word_bits] & bit_of(member)) != 0; }
  bool is_empty() const { return used_ == 0; }
  /// Sixty-four of them.
  uint64_t word(size_t index) const { return words_[index]; }

  /// Calls `act` with each, in their order.
  template <class Act>
  void for_each(Act&& act) const {
    for_each_bit(used_, [&](size_t word) { visit(word, words_[word], act); });
  }
  /// Of two, those that either has.
  template <class Act>
  static void for_each_of(const MemberSet& some, const MemberSet& others, Act&& act) {
    for_each_bit(some.used_ | others.used_,
                 [&](size_t word) { visit(word, some.words_[word] | others.words_[word], act); });
  }
  /// The same as for_each(), but those before `first` come last.
  template <class Act>
  void for_each_from(size_t first, Act&& act) const {
    const size_t at = first / word_bits;
    const uint64_t later = ~uint64_t{0} << first % word_bits;
    visit(at, words_[at] & later, act);
    for_each_bit(used_ & ~uint64_t{1} << at, [&](size_t word) { visit(word, words_[word], act); });
    for_each_bit(used_ & (bit_of(at) - 1), [&](size_t word) { visit(word, words_[word], act); });
    visit(at, words_[at] & ~later, act);
  }

  /// Calls `act` with the place of each bit that is set, the lowest first.
  template <class Act>
  static void for_each_bit(uint64_t bits, Act&& act) {
    for (; bits != 0; bits &= bits - 1) act(static_cast<size_t>(std::countr_zero(bits)));
  }

 private:
  static uint64_t bit_of(size_t place) { return uint64_t{1} << place % word_bits; }
  template <class Act>
  static void visit(size_t word, uint64_t bits, Act&& act) {
    for_each_bit(bits, [&](size_t place) { act(word * word_bits + place); });
  }

  uint64_t used_ = 0;  // of which words a bit is set
  std::array<uint64_t, words_max> words_{};
};

}  // namespace cw
