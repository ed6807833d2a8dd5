// Who runs the rows of a stage (offload/bitmap.h): threads on pinned host cores, or harts of a DPA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dataplane/base/result.h"
#include "offload/bitmap.h"

namespace cw {

/// Thread: one, the owner's, for all calls.
class RowRunner {
 public:
  RowRunner() = default;
  RowRunner(const RowRunner&) = delete;
  RowRunner& operator=(const RowRunner&) = delete;
  /// Nothing runs a row any more when it returns, or nothing that it did could be seen.
  virtual ~RowRunner() = default;

  /// Memory for rows and arenas that whoever runs them sees too: zeroed, on a cache line of its
  /// own, the runner's. Null: there is no more.
  virtual void* allocate(size_t bytes) = 0;
  /// Once: row p is partition p's. Errors: threads, cores or harts that cannot be had.
  virtual Result<void> start(std::span<cw_bits_row* const> rows) = 0;
  /// Partition p has records, or room to tell of them. Cheap while it is awake.
  virtual void ring(size_t partition) = 0;
};

}  // namespace cw
