#include "dataplane/base/pool.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/property/property.h"

namespace cw {
namespace {

TEST(Pool, lends_the_lowest_object_first_and_null_when_it_is_dry) {
  Pool<int> pool(2);
  int* const first = pool.try_take();
  int* const second = pool.try_take();
  EXPECT_EQ(pool.index_of(first), 0u);
  EXPECT_EQ(pool.index_of(second), 1u);
  EXPECT_EQ(pool.try_take(), nullptr);
  EXPECT_EQ(pool.free_count(), 0u);
  pool.give_back(first);
  EXPECT_EQ(pool.try_take(), first);
}

TEST(Pool, hands_out_an_object_as_its_last_borrower_left_it) {
  Pool<int> pool(1);
  int* const object = pool.try_take();
  EXPECT_EQ(*object, 0) << "a new object is value-initialised";
  *object = 7;
  pool.give_back(object);
  EXPECT_EQ(*pool.try_take(), 7);
}

TEST(Pool, constructs_each_object_once) {
  struct Counted {
    Counted() { ++made(); }
    static int& made() {
      static int count = 0;
      return count;
    }
  };
  Pool<Counted> pool(3);
  for (int i = 0; i < 10; ++i) pool.give_back(pool.try_take());
  EXPECT_EQ(Counted::made(), 3);
}

// Given the pools of the test below, each of these is a bug of ours, not backpressure.
TEST(PoolDeathTest, misuse_stops_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Pool<int> pool(2);
  int* const object = pool.try_take();
  int foreign = 0;
  EXPECT_DEATH(pool.give_back(nullptr), "assertion failed");
  EXPECT_DEATH(pool.give_back(&foreign), "assertion failed");
  EXPECT_DEATH(pool.give_back(object + 1), "assertion failed: lent_") << "never lent";
  pool.give_back(object);
  EXPECT_DEATH(pool.give_back(object), "assertion failed: lent_") << "given back twice";
  EXPECT_DEATH(Pool<int>(0), "assertion failed: capacity > 0");
}

RC_GTEST_PROP(Pool, behaves_like_a_set_of_what_is_lent, ()) {
  const auto capacity = *rc::gen::inRange<size_t>(1, 20);
  Pool<int> pool(capacity);
  std::set<int*> lent;
  // Even numbers take; odd ones give back the object at that position.
  for (const unsigned step :
       *rc::gen::container<std::vector<unsigned>>(rc::gen::inRange(0u, 64u))) {
    if (step % 2 == 0) {
      int* const object = pool.try_take();
      RC_ASSERT((object == nullptr) == (lent.size() == capacity));
      if (object != nullptr) RC_ASSERT(lent.insert(object).second);
    } else if (!lent.empty()) {
      const auto chosen = std::next(lent.begin(), step % static_cast<long>(lent.size()));
      pool.give_back(*chosen);
      lent.erase(chosen);
    }
    RC_ASSERT(pool.lent_count() == lent.size());
    RC_ASSERT(pool.free_count() == capacity - lent.size());
    for (size_t i = 0; i < capacity; ++i) {
      RC_ASSERT(pool.is_lent(i) == lent.contains(&pool.at(i)));
      RC_ASSERT(pool.index_of(&pool.at(i)) == i);
    }
  }
  RC_ASSERT(!pool.is_lent(capacity));
}

}  // namespace
}  // namespace cw
