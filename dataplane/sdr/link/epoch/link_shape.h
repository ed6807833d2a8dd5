// What both ends of a link must have alike, in short: by this, links that are of one make find each
// other, while others of the same number are there (SPEC 16).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "dataplane/base/fnv.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "dataplane/wire/control/control.h"

namespace cw::sdr {

/// Thread: any, one at a time. Cost: each key is read once.
class LinkShape {
 public:
  explicit LinkShape(const PairKeys& keys) { add(keys); }

  /// In whatever order.
  void add(const PairKeys& keys) {
    for (const auto& [name, value] : keys) sum_ += fnv_1a(name + "=" + value);
    const uint64_t folded = sum_ ^ sum_ >> 24 ^ sum_ >> 48;
    bits_ = std::max<uint32_t>(static_cast<uint32_t>(folded) & Hello::shape_max, 1);
  }
  /// 24 of them, never zero.
  uint32_t bits() const { return bits_; }

 private:
  uint64_t sum_ = 0;
  uint32_t bits_ = 1;
};

}  // namespace cw::sdr
