#include "dataplane/base/memo.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"

namespace cw {
namespace {

using Question = std::array<uint64_t, 2>;

TEST(Memo, knows_nothing_at_first) {
  for (const size_t places : {2u, 4u, 1024u}) {
    const Memo<1, int> memo(places);
    for (uint64_t word = 0; word < 10'000; ++word) EXPECT_EQ(memo.find({word}), nullptr);
  }
}

RC_GTEST_PROP(Memo, gives_the_last_answer_to_that_very_question_or_none, (uint64_t seed)) {
  Prng prng(seed);
  Memo<2, uint64_t> memo(8);
  std::map<Question, uint64_t> model;
  for (int i = 0; i < 200; ++i) {
    const Question question{prng.below(6), prng.below(6)};
    if (prng.chance(0.3)) {
      const uint64_t answer = prng.next();
      memo.keep(question, answer);
      model[question] = answer;
      RC_ASSERT(memo.find(question) != nullptr);
    }
    if (const uint64_t* const answer = memo.find(question)) {
      RC_ASSERT(model.contains(question));
      RC_ASSERT(*answer == model[question]);
    }
  }
}

// Hosts of a site count their addresses and ports upwards.
TEST(Memo, has_room_for_most_of_a_quarter_of_its_places_whatever_their_questions_look_like) {
  for (const unsigned shift : {0u, 8u, 24u, 32u, 48u, 56u}) {
    Memo<2, uint64_t> memo(1024);
    for (uint64_t i = 0; i < 256; ++i) memo.keep({i << shift, 0xa0000010a}, i);
    size_t known = 0;
    for (uint64_t i = 0; i < 256; ++i) known += memo.find({i << shift, 0xa0000010a}) != nullptr;
    EXPECT_GT(known, 160u) << shift;
  }
}

}  // namespace
}  // namespace cw
