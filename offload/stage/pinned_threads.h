// Rows run by threads of their own, each pinned to a core.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "offload/stage/line_memory.h"
#include "offload/stage/row_runner.h"

namespace cw {

class PinnedThreads final : public RowRunner {
 public:
  /// Row p is run on cores[p % size]; none: wherever. start() fails where a core is refused.
  explicit PinnedThreads(std::vector<int> cores);
  /// Waits until the threads have run what was published, as far as the events fit, and have ended.
  ~PinnedThreads() override;

  void* allocate(size_t bytes) override;
  Result<void> start(std::span<cw_bits_row* const> rows) override;
  void ring(size_t partition) override;

 private:
  struct Thread;
  static void* main_of(void* thread);
  Result<void> pin(const Thread& thread, size_t number) const;

  const std::vector<int> cores_;
  std::vector<LineMemory> memory_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace cw
