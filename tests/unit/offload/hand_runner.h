// A runner that runs a row when a test says so, and does to it what no runner should.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "offload/stage/line_memory.h"
#include "offload/stage/row_runner.h"
#include "offload/stage/stage.h"

namespace cw {

class HandRunner final : public RowRunner {
 public:
  size_t bytes_left = SIZE_MAX;

  void* allocate(size_t bytes) override {
    if (bytes > bytes_left) return nullptr;
    bytes_left -= bytes;
    return memory_.emplace_back(bytes).get();
  }
  Result<void> start(std::span<cw_bits_row* const> rows) override {
    rows_.assign(rows.begin(), rows.end());
    return {};
  }
  void ring(size_t) override {}

  cw_bits_row& row(size_t partition) { return *rows_[partition]; }
  uint32_t serve(size_t partition) { return cw_bits_serve(rows_[partition]); }
  void serve_all(size_t partition) {
    while (serve(partition) > 0) {
      // to the end
    }
  }
  /// `records` are run; that the last burst's are taken is not said any more.
  void stop_in_the_middle(size_t partition, int records) {
    cw_bits_row& row = *rows_[partition];
    const uint32_t tail = row.records_tail, end = row.records_head + static_cast<uint32_t>(records);
    uint32_t before = row.records_head;
    row.records_tail = end;
    while (row.records_head != end) {
      before = row.records_head;
      serve(partition);
    }
    row.records_tail = tail;
    row.records_head = before;
  }
  void tell(size_t partition, const cw_bits_event& event) {
    cw_bits_row& row = *rows_[partition];
    cw_bits_events(&row)[row.events_tail++ % row.events_capacity] = event;
  }

 private:
  std::deque<LineMemory> memory_;
  std::vector<cw_bits_row*> rows_;
};

inline std::pair<std::unique_ptr<BitStage>, HandRunner*> stage_by_hand(
    const BitStageOptions& options) {
  auto runner = std::make_unique<HandRunner>();
  HandRunner* const hands = runner.get();
  return {std::move(*BitStage::make(std::move(runner), options)), hands};
}

}  // namespace cw
