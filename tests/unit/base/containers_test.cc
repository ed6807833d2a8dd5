// What holds items without asking for memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "dataplane/base/memory/memo.h"
#include "dataplane/base/memory/pool.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/stock.h"
#include "dataplane/base/prng.h"
#include "dataplane/base/split.h"
#include "tests/property/property.h"

namespace cw {
namespace {

// ---- ring ----

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

// ---- spsc ring ----

TEST(SpscRing, rounds_its_capacity_up_to_a_power_of_two) {
  EXPECT_EQ(SpscRing<int>(1).capacity(), 1u);
  EXPECT_EQ(SpscRing<int>(5).capacity(), 8u);
  EXPECT_EQ(SpscRing<int>(8).capacity(), 8u);
}

TEST(SpscRing, takes_the_front_of_a_burst_that_does_not_fit) {
  SpscRing<int> ring(4);
  const std::array<int, 6> items = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(ring.push_burst(items), 4u);
  EXPECT_EQ(ring.push_burst(items), 0u);
  std::array<int, 3> out{};
  EXPECT_EQ(ring.pop_burst(out), 3u);
  EXPECT_EQ(out, (std::array<int, 3>{1, 2, 3}));
  EXPECT_EQ(ring.push_burst(std::span(items).subspan(4)), 2u);
  EXPECT_EQ(ring.pop_burst(out), 3u);
  EXPECT_EQ(out, (std::array<int, 3>{4, 5, 6}));
  EXPECT_EQ(ring.pop_burst(out), 0u);
}

TEST(SpscRing, moves_an_empty_burst_in_both_directions) {
  SpscRing<int> ring(2);
  EXPECT_EQ(ring.push_burst({}), 0u);
  EXPECT_EQ(ring.pop_burst({}), 0u);
  EXPECT_TRUE(ring.try_push(9));
  int out = 0;
  EXPECT_TRUE(ring.try_pop(out));
  EXPECT_EQ(out, 9);
  EXPECT_FALSE(ring.try_pop(out));
}

// One thread plays both ends: every burst must do what a bounded deque would.
RC_GTEST_PROP(SpscRing, behaves_like_a_bounded_deque, ()) {
  SpscRing<int> ring(*rc::gen::inRange<size_t>(1, 20));
  std::deque<int> model;
  int next = 0;
  // A positive step pushes a burst of that size, a negative one pops.
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-12, 13))) {
    std::vector<int> burst(static_cast<size_t>(std::abs(step)));
    if (step > 0) {
      for (size_t i = 0; i < burst.size(); ++i) burst[i] = next + static_cast<int>(i);
      const size_t taken = std::min(burst.size(), ring.capacity() - model.size());
      RC_ASSERT(ring.push_burst(burst) == taken);
      model.insert(model.end(), burst.begin(), burst.begin() + static_cast<long>(taken));
      next += static_cast<int>(taken);
    } else {
      const size_t taken = std::min(burst.size(), model.size());
      RC_ASSERT(ring.pop_burst(burst) == taken);
      RC_ASSERT(std::equal(burst.begin(), burst.begin() + static_cast<long>(taken), model.begin()));
      model.erase(model.begin(), model.begin() + static_cast<long>(taken));
    }
    RC_ASSERT(ring.count() == model.size());
  }
}

// What two threads pass on: the payload is written before the push and read after the pop, so
// ThreadSanitizer sees it when the ring's ordering is too weak.
struct Parcel {
  uint64_t number = 0;
  const uint64_t* payload = nullptr;
};

constexpr uint64_t parcel_count = 200'000;
constexpr size_t burst_max = 16;

void produce(SpscRing<Parcel>& ring, std::vector<uint64_t>& payloads) {
  Prng prng(1);
  std::array<Parcel, burst_max> burst;
  for (uint64_t sent = 0; sent < parcel_count;) {
    const size_t size = std::min<uint64_t>(prng.between(1, burst_max), parcel_count - sent);
    for (size_t i = 0; i < size; ++i) {
      payloads[sent + i] = ~(sent + i);
      burst[i] = {sent + i, &payloads[sent + i]};
    }
    const size_t taken = ring.push_burst({burst.data(), size});
    sent += taken;
    if (taken < size) std::this_thread::yield();
  }
}

TEST(SpscRing, passes_everything_in_order_between_two_threads) {
  SpscRing<Parcel> ring(64);
  std::vector<uint64_t> payloads(parcel_count);
  std::thread producer(produce, std::ref(ring), std::ref(payloads));
  Prng prng(2);
  std::array<Parcel, burst_max> burst;
  uint64_t received = 0, out_of_order = 0, wrong_payload = 0;
  while (received < parcel_count) {
    const size_t taken = ring.pop_burst({burst.data(), prng.between(1, burst_max)});
    for (size_t i = 0; i < taken; ++i, ++received) {
      out_of_order += burst[i].number != received;
      wrong_payload += *burst[i].payload != ~burst[i].number;
    }
    if (taken == 0) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(out_of_order, 0u);
  EXPECT_EQ(wrong_payload, 0u);
  EXPECT_EQ(ring.count(), 0u);
}

TEST(SpscRing, tells_a_third_thread_a_count_within_its_capacity) {
  SpscRing<int> ring(4);
  std::atomic<bool> is_done{false};
  std::thread both_ends([&] {
    int item = 0;
    for (int i = 0; i < 100'000; ++i) {
      ring.try_push(i);
      ring.try_pop(item);
    }
    is_done = true;
  });
  size_t count_max = 0;
  while (!is_done) count_max = std::max(count_max, ring.count());
  both_ends.join();
  EXPECT_LE(count_max, ring.capacity());
}

// ---- pool ----

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

// ---- stock ----

TEST(Stock, is_all_his_who_is_alone) {
  Stock stock(9);
  Portion& only = stock.join();
  EXPECT_EQ(only.own(), 9u);
  EXPECT_TRUE(only.has_room(9));
  EXPECT_FALSE(only.has_room(10));
}

TEST(Stock, keeps_for_each_his_part_whatever_others_hold) {
  Stock stock(18);
  Portion &greedy = stock.join(), &other = stock.join(), &third = stock.join();
  while (greedy.has_room(1)) greedy.take();
  EXPECT_EQ(greedy.held(), 4u + 6u) << "his part, and all that is common";
  EXPECT_EQ(other.room(), 4u);
  EXPECT_EQ(third.own(), other.own());
  other.take(4);
  EXPECT_FALSE(other.has_room(1));
  greedy.give_back(1);
  EXPECT_TRUE(other.has_room(1)) << "what was common is so again";
}

TEST(Stock, has_a_part_for_each_where_it_was_counted_for_them) {
  for (const size_t alone : {1u, 2u, 64u, 1000u}) {
    for (const size_t borrowers : {1u, 2u, 3u, 64u, 192u}) {
      Stock stock(Stock::count_for(alone, borrowers));
      for (size_t i = 0; i < borrowers; ++i) stock.join();
      Portion& last = stock.join();  // one more than was said still has some
      EXPECT_GE(last.room(), 1u) << alone << " " << borrowers;
    }
    EXPECT_EQ(Stock::count_for(alone, 1), alone);
  }
  EXPECT_LE(Stock::count_for(64, 64), 2u * 64u);
}

// Against the sums themselves: nobody is refused his part, and there is never more lent than is.
RC_GTEST_PROP(StockProperty, never_lends_more_than_it_has_nor_denies_a_part,
              (const std::vector<uint8_t>& steps)) {
  Stock stock(*rc::gen::inRange<uint32_t>(1, 100));
  std::vector<Portion*> borrowers;
  const auto count = *rc::gen::inRange<uint32_t>(1, 9);
  while (borrowers.size() < count) borrowers.push_back(&stock.join());
  std::vector<size_t> held(count);
  for (const uint8_t step : steps) {
    const size_t who = step / 16 % count, many = step % 8;
    Portion& borrower = *borrowers[who];
    if ((step & 8) != 0) {
      const size_t back = std::min(many, held[who]);
      borrower.give_back(back);
      held[who] -= back;
    } else if (borrower.has_room(many)) {
      borrower.take(many);
      held[who] += many;
    } else {
      RC_ASSERT(held[who] + many > borrower.own());
    }
    size_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
      RC_ASSERT(borrowers[i]->held() == held[i]);
      sum += held[i];
    }
    RC_ASSERT(sum == stock.held() && sum <= stock.count());
  }
}
using Question = std::array<uint64_t, 2>;

// ---- memo ----

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

// ---- split ----

TEST(Split, leaves_each_part_in_its_order) {
  const std::array<int, 6> all = {5, 2, 3, 8, 1, 4};
  std::array<int, 8> room{};
  const auto is_odd = [](int each) { return each % 2 == 1; };
  const auto [odd, even] = split_in_order(std::span<const int>(all), room, is_odd);
  EXPECT_TRUE(std::ranges::equal(odd, std::array{5, 3, 1}));
  EXPECT_TRUE(std::ranges::equal(even, std::array{2, 8, 4}));
}

TEST(Split, has_room_for_as_many_of_one_part_as_there_are_places) {
  const std::array<int, 3> all = {1, 2, 3};
  std::array<int, 3> room{};
  for (const bool are_first : {true, false}) {
    const auto parts =
        split_in_order(std::span<const int>(all), room, [&](int) { return are_first; });
    EXPECT_TRUE(std::ranges::equal(are_first ? parts.first : parts.second, all));
    EXPECT_TRUE((are_first ? parts.second : parts.first).empty());
  }
}

}  // namespace

}  // namespace cw
