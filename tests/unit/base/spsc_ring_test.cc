#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <thread>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/base/ring.h"
#include "tests/property/property.h"

namespace cw {
namespace {

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

}  // namespace
}  // namespace cw
