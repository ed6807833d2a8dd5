#include "dataplane/port/sim/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/property/property.h"

namespace cw {
namespace {

constexpr size_t lanes = 3;

/// What an Arrivals must do, by sorting.
class SortedArrivals {
 public:
  void push(const SimFrame& frame) { waiting_.emplace_back(frame.packet.at, frame.order); }
  uint64_t pop() {
    const auto first = std::min_element(waiting_.begin(), waiting_.end());
    const uint64_t order = first->second;
    waiting_.erase(first);
    return order;
  }
  Instant earliest() const {
    if (waiting_.empty()) return Instant::never();
    return std::min_element(waiting_.begin(), waiting_.end())->first;
  }
  bool is_empty() const { return waiting_.empty(); }

 private:
  std::vector<std::pair<Instant, uint64_t>> waiting_;
};

RC_GTEST_PROP(Arrivals, come_out_earliest_first_like_a_sorted_list,
              (const std::vector<uint8_t>& steps)) {
  Arrivals arrivals;
  SortedArrivals expected;
  std::vector<SimFrame> frames(steps.size());
  for (size_t lane = 0; lane < lanes; ++lane) RC_ASSERT(arrivals.add_lane() == lane);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] % 4 == 0 && !expected.is_empty()) {
      RC_ASSERT(arrivals.pop()->order == expected.pop());
    } else {
      frames[i].packet.at = Instant::from_ns(steps[i] / 4);
      frames[i].order = i;
      arrivals.push(i % lanes, &frames[i]);
      expected.push(frames[i]);
    }
    RC_ASSERT(arrivals.earliest() == expected.earliest());
  }
  while (!expected.is_empty()) RC_ASSERT(arrivals.pop()->order == expected.pop());
  RC_ASSERT(arrivals.count() == 0u);
  RC_ASSERT(arrivals.earliest() == Instant::never());
}

TEST(Arrivals, a_thousand_in_falling_order_come_out_rising) {
  Arrivals arrivals;
  arrivals.add_lane();
  std::vector<SimFrame> frames(1000);
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].packet.at = Instant::from_ns(int64_t(frames.size() - i));
    frames[i].order = i;
    arrivals.push(0, &frames[i]);
  }
  for (int64_t ns = 1; ns <= 1000; ++ns) ASSERT_EQ(arrivals.pop()->packet.at.ns(), ns);
}

}  // namespace
}  // namespace cw
