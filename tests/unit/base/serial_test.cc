#include "dataplane/base/serial.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "tests/property/property.h"

namespace cw {
namespace {

// The classic bug must not compile: ordering by `<`, or a serial taken for a plain number.
template <class T>
concept LessComparable = requires(T a, T b) { a < b; };
static_assert(!LessComparable<Psn> && !LessComparable<MessageSeq>);
static_assert(!std::is_convertible_v<uint32_t, Psn> && !std::is_convertible_v<Psn, uint32_t>);
static_assert(!std::is_convertible_v<Psn, MessageSeq>);

template <class T>
class SerialOf : public testing::Test {};
using Widths = testing::Types<Psn, MessageSeq>;
TYPED_TEST_SUITE(SerialOf, Widths);

// Every walk starts three numbers before the wrap, where all mistakes live.
TYPED_TEST(SerialOf, wraps_from_the_last_number_to_zero) {
  TypeParam number(TypeParam::space - 3);
  const uint32_t last = static_cast<uint32_t>(TypeParam::space - 1);
  for (const uint32_t expected : {last - 2, last - 1, last, 0u, 1u, 2u}) {
    EXPECT_EQ(number.value(), expected);
    ++number;
  }
}

TYPED_TEST(SerialOf, keeps_its_order_across_the_wrap) {
  const TypeParam start(TypeParam::space - 3);
  for (uint64_t step = 1; step <= 6; ++step) {
    const TypeParam later = start + step;
    EXPECT_EQ(start.distance_to(later), static_cast<int64_t>(step));
    EXPECT_EQ(later.distance_to(start), -static_cast<int64_t>(step));
    EXPECT_TRUE(start.is_before(later) && later.is_after(start));
    EXPECT_FALSE(start.is_after(later) || later.is_before(start));
    EXPECT_EQ(later - step, start);
  }
}

TYPED_TEST(SerialOf, is_ordered_up_to_one_below_half_the_space) {
  const TypeParam start(TypeParam::space - 3);
  const uint64_t half = TypeParam::window_max;
  EXPECT_TRUE(start.is_before(start + (half - 1)));
  EXPECT_TRUE(start.is_after(start + (half + 1)));
}

TYPED_TEST(SerialOf, has_no_order_at_exactly_half_the_space) {
  const TypeParam start(TypeParam::space - 3), opposite = start + TypeParam::window_max;
  EXPECT_FALSE(start.is_before(opposite) || start.is_after(opposite));
  EXPECT_FALSE(opposite.is_before(start) || opposite.is_after(start));
  EXPECT_EQ(start.distance_to(opposite), -static_cast<int64_t>(TypeParam::window_max));
}

TYPED_TEST(SerialOf, is_neither_before_nor_after_itself) {
  const TypeParam number(TypeParam::space - 3);
  EXPECT_FALSE(number.is_before(number) || number.is_after(number));
  EXPECT_EQ(number.distance_to(number), 0);
}

TYPED_TEST(SerialOf, unwraps_to_the_lower_count_when_two_are_equally_near) {
  const uint64_t reference = 5 * TypeParam::space - 3, half = TypeParam::window_max;
  EXPECT_EQ(TypeParam(reference + half).unwrapped_near(reference), reference - half);
  EXPECT_EQ(TypeParam(reference + half - 1).unwrapped_near(reference), reference + half - 1);
}

TYPED_TEST(SerialOf, never_unwraps_below_zero) {
  const TypeParam last(TypeParam::space - 1);
  EXPECT_EQ(last.unwrapped_near(0), TypeParam::space - 1);
  EXPECT_EQ(last.unwrapped_near(TypeParam::space), TypeParam::space - 1);
}

TEST(Serial, of_four_numbers_orders_every_pair_as_the_table_says) {
  using Tiny = Serial<2>;
  const int64_t expected[4] = {0, 1, -2, -1};
  for (uint64_t from = 0; from < 4; ++from) {
    for (uint64_t step = 0; step < 4; ++step) {
      EXPECT_EQ(Tiny(from).distance_to(Tiny(from + step)), expected[step]);
    }
  }
}

// The model: 64-bit counts that never wrap, of which a serial shows the low bits.
template <class Number>
void check_against_the_model(uint64_t count, int64_t step) {
  const uint64_t other = count + static_cast<uint64_t>(step);
  const Number a(count), b(other);
  RC_ASSERT(a.distance_to(b) == step);
  RC_ASSERT(a.is_before(b) == (count < other));
  RC_ASSERT(a.is_after(b) == (count > other));
  RC_ASSERT((a == b) == (count == other));
  RC_ASSERT(b.unwrapped_near(count) == other);
  RC_ASSERT(a + (other - count) == b);
}

template <class Number>
void check_near_a_wrap() {
  const auto half = static_cast<int64_t>(Number::window_max);
  const auto wraps = *rc::gen::inRange<uint64_t>(1, 1000);
  const auto offset = *rc::gen::inRange<uint64_t>(0, 8);
  const auto step =
      *rc::gen::oneOf(rc::gen::inRange<int64_t>(-8, 9), rc::gen::inRange<int64_t>(-half + 1, half),
                      rc::gen::element<int64_t>(-half + 1, half - 1));
  check_against_the_model<Number>(wraps * Number::space - 3 + offset, step);
}

RC_GTEST_PROP(Psn, behaves_like_the_low_bits_of_a_count, ()) { check_near_a_wrap<Psn>(); }
RC_GTEST_PROP(MessageSeq, behaves_like_the_low_bits_of_a_count, ()) {
  check_near_a_wrap<MessageSeq>();
}

}  // namespace
}  // namespace cw
