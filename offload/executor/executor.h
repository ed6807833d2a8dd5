// Who runs the bitmap kernel (offload/bitmap.h): the calling thread, or one thread per partition on
// cores of its own. Both keep the same promise, so that the owner need not know which it has:
// records of a partition are run in the order of submission, and events come back in that order.
//
// The caller maps traffic to partitions. By lane, every id's records go to one partition, and
// several partitions may share an arena or have one each. By channel, the partitions share an
// arena, packets go by channel, and control records to all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/result.h"
#include "offload/bitmap.h"

namespace cw {

enum class BitmapSharing : uint8_t {
  ByLane,     ///< one writer per id: the lane variant of the kernel
  ByChannel,  ///< several: the shared variant
};

using BitmapRun = decltype(&cw_bits_run_lane);

/// One row of records: the arena they concern, and which of the arena's partitions this is. The
/// arena must outlive the executor.
struct BitmapPartition {
  void* arena = nullptr;
  uint32_t index = 0;
};

/// Runs records and brings back events. Bounded, never waiting.
/// Thread: one, the owner's, for all calls.
class BitmapExecutor {
 public:
  virtual ~BitmapExecutor() = default;

  virtual size_t partition_count() const = 0;
  /// Returns how many of `records`, from the first on, were taken; the rest stay the caller's.
  /// Short when the partition is behind, or when its events are not being polled.
  virtual size_t submit(size_t partition, std::span<const cw_bits_record> records) = 0;
  /// Fills `out` from the front with the partition's oldest events; returns how many.
  virtual size_t poll(size_t partition, std::span<cw_bits_event> out) = 0;
};

/// Runs records within submit(), on the caller's thread.
class InlineExecutor final : public BitmapExecutor {
 public:
  InlineExecutor(std::span<const BitmapPartition> partitions, BitmapSharing sharing,
                 size_t events_max);

  size_t partition_count() const override { return rows_.size(); }
  size_t submit(size_t partition, std::span<const cw_bits_record> records) override;
  size_t poll(size_t partition, std::span<cw_bits_event> out) override;

 private:
  struct Row {
    BitmapPartition partition;
    Ring<cw_bits_event> events;
  };
  const BitmapRun run_;
  std::vector<Row> rows_;
};

/// How a pinned thread waits when nothing is there.
enum class BitmapIdle : uint8_t {
  Poll,      ///< never sleeps: the lowest latency, a whole core
  Adaptive,  ///< spins for some microseconds, then sleeps; submit() wakes it by one system call
};

struct PinnedOptions {
  BitmapSharing sharing = BitmapSharing::ByLane;
  BitmapIdle idle = BitmapIdle::Adaptive;
  std::vector<int> cores{};   ///< partition p runs on cores[p % size]; empty: wherever
  size_t records_max = 4096;  ///< waiting per partition; rounded up to a power of two
  size_t events_max = 4096;   ///< the same for events
};

/// Runs each partition on a thread of its own, fed and drained by rings.
///
/// The destructor waits until the threads have run what was submitted, as far as the events fit,
/// and have ended.
class PinnedExecutor final : public BitmapExecutor {
 public:
  /// Fails only when a thread cannot be made. A refused core is no failure: see is_pinned().
  static Result<std::unique_ptr<PinnedExecutor>> make(std::span<const BitmapPartition> partitions,
                                                      const PinnedOptions& options);
  ~PinnedExecutor() override;

  size_t partition_count() const override { return rows_.size(); }
  size_t submit(size_t partition, std::span<const cw_bits_record> records) override;
  size_t poll(size_t partition, std::span<cw_bits_event> out) override;

  /// False when no core was asked for, or the system refused it.
  bool is_pinned(size_t partition) const;

 private:
  struct Row;
  explicit PinnedExecutor(const PinnedOptions& options);
  static void* row_main(void* row);
  static void pin(Row& row, std::span<const int> cores);
  void run_row(Row& row);
  size_t run_burst(Row& row);
  void ring(Row& row);

  const PinnedOptions options_;
  const BitmapRun run_;
  std::atomic<bool> is_stopping_{false};
  std::vector<std::unique_ptr<Row>> rows_;
};

}  // namespace cw
