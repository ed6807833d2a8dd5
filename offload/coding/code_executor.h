// Who codes rows: the calling thread as far as the turn's budget goes, threads of its own for the
// rest. The owner need not know which: jobs go in by submit(), results come out by poll(), in any
// order.
//
// The budget is counted, not timed, so that the turn reads no clock: the work of a job is the bytes
// that it multiplies, and a turn has so many of them. A job that does not fit what is left of the
// turn goes to a thread, which a slow codec may keep for as long as it likes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/result.h"
#include "offload/coding/coder.h"

namespace cw {

/// One row. What `inputs` and `outputs` point to, and their shards, stay as they are until the
/// job's result was polled.
struct CodeJob {
  uint64_t cookie = 0;  ///< comes back with the result
  uint32_t coder = 0;   ///< which of the executor's
  bool is_decode = false;
  std::span<const cw_shard> inputs{};   ///< data in order; decoding: what is present
  std::span<const cw_shard> outputs{};  ///< repair; decoding: what is wanted
};

struct CodeDone {
  uint64_t cookie = 0;
  CodeResult result{};
};

struct CodeExecutorOptions {
  /// Bytes multiplied per turn on the caller's thread: each output costs all of its inputs. The
  /// default is 20 us at 20 GB/s, half of what ISA-L does with AVX-512.
  uint64_t turn_work_max = 400'000;
  std::vector<int> cores{};  ///< thread n runs on cores[n % size]; empty: wherever
  size_t threads = 1;        ///< 0: jobs that do not fit a turn wait for the next, one per turn
  size_t jobs_max = 256;     ///< under way per thread; rounded up to a power of two
};

/// Bounded, never waiting. Thread: one, the owner's, for all calls.
class CodeExecutor {
 public:
  /// Fails only when a thread cannot be made. A refused core is no failure. `coders` must outlive
  /// the executor; each may become another while no job of it is under way.
  static Result<std::unique_ptr<CodeExecutor>> make(std::span<const Coder* const> coders,
                                                    const CodeExecutorOptions& options);
  /// Waits until the threads have done what was submitted, and have ended.
  ~CodeExecutor();

  /// A new turn, with a whole budget.
  void begin_turn() {
    work_left_ = options_.turn_work_max;
    turn_work_ = 0;
  }
  /// Returns how many of `jobs`, from the first on, were taken; the rest stay the caller's.
  size_t submit(std::span<const CodeJob> jobs);
  /// Fills `out` from the front; returns how many.
  size_t poll(std::span<CodeDone> out);

  /// How many outputs of as many inputs a job should have at most: without threads what a turn has
  /// time for, and 1 at least; with threads any number.
  uint32_t outputs_max(const CodeShape& shape) const;
  /// The most work that a turn has done on the caller's thread.
  uint64_t turn_work_highest() const { return turn_work_highest_; }
  /// Jobs run on the caller's thread so far, and handed to others.
  uint64_t inline_count() const { return inline_count_; }
  uint64_t handed_count() const { return handed_count_; }

  /// The work of a job, in bytes multiplied.
  uint64_t work_of(const CodeJob& job) const;

 private:
  /// What codes at one time: scratch for each coder.
  struct Bench {
    explicit Bench(std::span<const Coder* const> coders);
    std::vector<Buffers> scratch;
    std::vector<uint32_t> versions;  // of the coders that the scratch was zeroed for
    void* scratch_for(const Coder& coder, size_t index);
  };
  struct Worker;

  CodeExecutor(std::span<const Coder* const> coders, const CodeExecutorOptions& options);
  static void* worker_main(void* worker);
  void run_worker(Worker& worker);
  CodeDone run(const CodeJob& job, Bench& bench) const;
  bool try_inline(const CodeJob& job);
  bool try_hand_over(const CodeJob& job);

  const CodeExecutorOptions options_;
  const std::vector<const Coder*> coders_;
  Bench own_;
  Ring<CodeDone> own_done_;
  uint64_t work_left_ = 0, inline_count_ = 0, handed_count_ = 0;
  uint64_t turn_work_ = 0, turn_work_highest_ = 0;
  size_t next_worker_ = 0;
  std::atomic<bool> is_stopping_{false};
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace cw
