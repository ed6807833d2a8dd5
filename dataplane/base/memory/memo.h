// Answers that were worked out before, each by the words that it followed from. A fixed table with
// one place for many questions: who comes to a place that is taken takes it.
//
// For answers that never change, or that the caller can see to be old. Whoever chooses questions
// that share a place wins nothing but that they are worked out again, so the hash needs no secret.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/base/assert.h"

namespace cw {

/// Thread: one. Cost: hot; no allocation but when it is made.
template <size_t Words, class Answer>
class Memo {
 public:
  using Question = std::array<uint64_t, Words>;

  /// `places` is a power of two, above one.
  explicit Memo(size_t places) : shift_(64 - std::countr_zero(places)), entries_(places) {
    CW_ASSERT(std::has_single_bit(places) && places > 1);
    // Free places hold a question that belongs to another, so that none is found before it is kept.
    Question& free = entries_[place_of({})].question;
    while (&entries_[place_of(free)].question == &free) ++free[0];
  }

  /// Null: not known. Until the next keep().
  const Answer* find(const Question& question) const {
    const Entry& entry = entries_[place_of(question)];
    return is_same(entry.question, question, all_words) ? &entry.answer : nullptr;
  }
  void keep(const Question& question, const Answer& answer) {
    entries_[place_of(question)] = {question, answer};
  }

 private:
  struct Entry {
    Question question{};
    Answer answer{};
  };

  // Written out word by word, which loops at -O2 are not: a question then stays in registers.
  static constexpr auto all_words = std::make_index_sequence<Words>();
  template <size_t... I>
  static bool is_same(const Question& a, const Question& b, std::index_sequence<I...>) {
    return (... | (a[I] ^ b[I])) == 0;
  }
  template <size_t... I>
  static uint64_t hash_of(const Question& question, std::index_sequence<I...>) {
    uint64_t hash = 0;
    (..., (hash = (hash ^ question[I]) * 0x9e3779b97f4a7c15));
    return hash;
  }
  /// The highest bits of a product hang on all bits of what was multiplied.
  size_t place_of(const Question& question) const {
    return static_cast<size_t>(hash_of(question, all_words) >> shift_);
  }

  int shift_;
  std::vector<Entry> entries_;
};

}  // namespace cw
