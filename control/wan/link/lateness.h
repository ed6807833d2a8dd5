// How late frames leave, in buckets that are never wider than a sixteenth of their value.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw::wan {

class Lateness {
 public:
  /// Early counts as in time.
  void add(Duration late) {
    const auto ns = static_cast<uint64_t>(std::max<int64_t>(late.ns(), 0));
    ++counts_[bucket_of(ns)];
    ++count_;
    max_ = std::max(max_, ns);
  }

  uint64_t count() const { return count_; }
  Duration max() const { return Duration::from_ns(static_cast<int64_t>(max_)); }

  /// At least a share `quantile` of all were no later than this; zero when there were none.
  Duration at(double quantile) const {
    const double wanted = quantile * static_cast<double>(count_);
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return std::min(end_of(i), max());
    }
    return {};
  }

 private:
  static constexpr unsigned sub_bits = 4;  // sixteen buckets per power of two

  static size_t bucket_of(uint64_t ns) {
    if (ns >> sub_bits == 0) return ns;
    const auto exponent = static_cast<unsigned>(std::bit_width(ns)) - 1 - sub_bits;
    return (size_t{exponent} << sub_bits) + (ns >> exponent);
  }
  /// The largest value of a bucket.
  static Duration end_of(size_t bucket) {
    if (bucket >> sub_bits == 0) return Duration::from_ns(static_cast<int64_t>(bucket));
    const size_t exponent = (bucket >> sub_bits) - 1;
    const uint64_t first = (bucket - (exponent << sub_bits)) << exponent;
    return Duration::from_ns(static_cast<int64_t>(first + (uint64_t{1} << exponent) - 1));
  }

  std::array<uint64_t, 61 << sub_bits> counts_{};
  uint64_t count_ = 0, max_ = 0;
};

}  // namespace cw::wan
