#include "dataplane/base/ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "tests/property/property.h"

namespace cw {
namespace {

TEST(Ring, holds_exactly_its_capacity_even_when_that_is_no_power_of_two) {
  for (const size_t capacity : {1u, 2u, 3u, 5u, 8u}) {
    Ring<int> ring(capacity);
    EXPECT_EQ(ring.capacity(), capacity);
    for (size_t i = 0; i < capacity; ++i) EXPECT_TRUE(ring.try_push(1));
    EXPECT_TRUE(ring.is_full());
    EXPECT_FALSE(ring.try_push(1));
    EXPECT_EQ(ring.count(), capacity);
  }
}

TEST(Ring, carries_items_that_can_only_be_moved) {
  Ring<std::unique_ptr<int>> ring(2);
  EXPECT_TRUE(ring.try_push(std::make_unique<int>(7)));
  EXPECT_EQ(*ring.front(), 7);
  EXPECT_EQ(*ring.pop(), 7);
  EXPECT_TRUE(ring.is_empty());
}

TEST(Ring, begins_anew_in_front_whenever_it_is_empty) {
  Ring<int> ring(8);
  EXPECT_TRUE(ring.try_push(1));
  const int* const front = &ring.front();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(&ring.front(), front);
    EXPECT_TRUE(ring.try_push(2));
    ring.pop();
    EXPECT_NE(&ring.front(), front);  // not before it is empty
    ring.pop();
    EXPECT_TRUE(ring.try_push(1));
  }
}

TEST(Ring, grows_by_an_item_that_is_written_where_it_lies) {
  Ring<int> ring(2);
  ring.grow() = 1;
  ring.grow() = 2;
  EXPECT_TRUE(ring.is_full());
  EXPECT_EQ(ring.pop(), 1);
  ring.drop_front();
  EXPECT_TRUE(ring.is_empty());
}

TEST(RingDeathTest, popping_from_an_empty_ring_stops_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Ring<int> ring(1);
  EXPECT_DEATH(ring.pop(), "assertion failed: !is_empty\\(\\)");
}

TEST(RingDeathTest, a_ring_of_nothing_stops_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Ring<int>(0), "assertion failed: capacity > 0");
  EXPECT_DEATH(SpscRing<int>(0), "assertion failed: capacity > 0");
}

// One step of a random history: push, pop or (rarely) clear.
void step_both(Ring<int>& ring, std::deque<int>& model, int choice, int item) {
  if (choice < 50) {
    const bool fits = model.size() < ring.capacity();
    RC_ASSERT(ring.try_push(item) == fits);
    if (fits) model.push_back(item);
  } else if (choice < 97) {
    if (model.empty()) return;
    RC_ASSERT(ring.front() == model.front());
    RC_ASSERT(ring.pop() == model.front());
    model.pop_front();
  } else {
    ring.clear();
    model.clear();
  }
}

RC_GTEST_PROP(Ring, behaves_like_a_bounded_deque, ()) {
  Ring<int> ring(*rc::gen::inRange<size_t>(1, 20));
  std::deque<int> model;
  const auto choices = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
  for (size_t i = 0; i < choices.size(); ++i) {
    step_both(ring, model, choices[i], static_cast<int>(i));
    RC_ASSERT(ring.count() == model.size());
    RC_ASSERT(ring.is_empty() == model.empty());
    RC_ASSERT(ring.is_full() == (model.size() == ring.capacity()));
    for (size_t at = 0; at < model.size(); ++at) RC_ASSERT(std::as_const(ring).at(at) == model[at]);
  }
}

}  // namespace
}  // namespace cw
