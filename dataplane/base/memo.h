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
    uint64_t difference = 0;
    for (size_t i = 0; i < Words; ++i) difference |= entry.question[i] ^ question[i];
    return difference == 0 ? &entry.answer : nullptr;
  }
  void keep(const Question& question, const Answer& answer) {
    entries_[place_of(question)] = {question, answer};
  }

 private:
  struct Entry {
    Question question{};
    Answer answer{};
  };

  /// The highest bits of a product hang on all bits of what was multiplied.
  size_t place_of(const Question& question) const {
    uint64_t hash = 0;
    for (const uint64_t word : question) hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return static_cast<size_t>(hash >> shift_);
  }

  int shift_;
  std::vector<Entry> entries_;
};

}  // namespace cw
