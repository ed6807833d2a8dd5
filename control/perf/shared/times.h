// Times in order, and what they come to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace cw::perf {

class SortedTimes {
 public:
  explicit SortedTimes(std::vector<double> times) : times_(std::move(times)) {
    std::ranges::sort(times_);
  }
  size_t count() const { return times_.size(); }
  /// 0 where there are none, as what follows.
  double mean() const {
    if (times_.empty()) return 0;
    return std::accumulate(times_.begin(), times_.end(), 0.0) / static_cast<double>(count());
  }
  /// The one that a share of them does not exceed: 0 the first, 1 the last.
  double at(double share) const {
    if (times_.empty()) return 0;
    return times_[static_cast<size_t>(share * static_cast<double>(count() - 1))];
  }

 private:
  std::vector<double> times_;
};

}  // namespace cw::perf
