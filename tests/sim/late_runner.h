// A runner of rows in virtual time: it comes late, takes a part, naps, and may stop for good in the
// middle of a burst. The same seed does the same.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "dataplane/base/prng.h"
#include "offload/stage/line_memory.h"
#include "offload/stage/row_runner.h"
#include "offload/stage/stage.h"

namespace cw::sim {

class LateRunner final : public RowRunner {
 public:
  explicit LateRunner(uint64_t seed) : prng_(seed) {}

  void* allocate(size_t bytes) override { return memory_.emplace_back(bytes).get(); }
  Result<void> start(std::span<cw_bits_row* const> rows) override {
    for (cw_bits_row* const row : rows) rows_.push_back({row});
    return {};
  }
  void ring(size_t) override {}

  /// Once in each turn of its owner.
  void step() {
    for (Row& each : rows_) {
      if (each.nap > 0) {
        --each.nap;
      } else if (prng_.chance(0.7)) {
        serve(each);
      }
    }
  }

 private:
  struct Row {
    cw_bits_row* row = nullptr;
    uint32_t nap = 0;
  };

  void serve(Row& each) {
    cw_bits_row& row = *each.row;
    const uint32_t head = row.records_head, tail = row.records_tail;
    if (tail == head) return;
    // A part: the rest is not there yet, as far as the kernel knows.
    const auto count = static_cast<uint32_t>(1 + prng_.below(tail - head));
    row.records_tail = head + count;
    cw_bits_serve(&row);
    row.records_tail = tail;
    if (prng_.chance(1e-3)) each.nap = static_cast<uint32_t>(prng_.below(50));
    if (!prng_.chance(1e-4)) return;
    row.records_head = head;  // told already, but it stops before it says so
    each.nap = UINT32_MAX;
  }

  std::deque<LineMemory> memory_;
  std::vector<Row> rows_;
  Prng prng_;
};

}  // namespace cw::sim
