#include "offload/executor/executor.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace cw {
namespace {

// Records are run in bursts of this many, so that events fit an array on the stack.
constexpr size_t burst_records_max = 64;

// Empty looks at the ring before a pinned thread sleeps: some microseconds, which covers the gaps
// between a busy owner's bursts, so that submit() needs a system call only after real silence.
constexpr unsigned spin_looks = 2000;

BitmapRun kernel_for(BitmapSharing sharing) {
  return sharing == BitmapSharing::ByLane ? cw_bits_run_lane : cw_bits_run_shared;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

InlineExecutor::InlineExecutor(std::span<const BitmapPartition> partitions, BitmapSharing sharing,
                               size_t events_max)
    : run_(kernel_for(sharing)) {
  rows_.reserve(partitions.size());
  for (const BitmapPartition& p : partitions) rows_.push_back({p, Ring<cw_bits_event>(events_max)});
}

size_t InlineExecutor::submit(size_t partition, std::span<const cw_bits_record> records) {
  CW_ASSERT(partition < rows_.size());
  Row& row = rows_[partition];
  size_t taken = 0;
  while (taken < records.size() && !row.events.is_full()) {
    cw_bits_event events[burst_records_max];
    const size_t room = row.events.capacity() - row.events.count();
    const size_t count = std::min(records.size() - taken, burst_records_max);
    const cw_bits_progress done = run_(row.partition.arena, row.partition.index,
                                       records.data() + taken, static_cast<uint32_t>(count), events,
                                       static_cast<uint32_t>(std::min(room, burst_records_max)));
    for (uint32_t i = 0; i < done.events; ++i) row.events.try_push(events[i]);
    taken += done.records;
  }
  return taken;
}

size_t InlineExecutor::poll(size_t partition, std::span<cw_bits_event> out) {
  CW_ASSERT(partition < rows_.size());
  Ring<cw_bits_event>& events = rows_[partition].events;
  const size_t count = std::min(out.size(), events.count());
  for (size_t i = 0; i < count; ++i) out[i] = events.pop();
  return count;
}

struct PinnedExecutor::Row {
  PinnedExecutor* executor;
  BitmapPartition partition;
  SpscRing<cw_bits_record> records;
  SpscRing<cw_bits_event> events;
  pthread_t thread{};
  bool has_thread = false;
  bool is_pinned = false;
  /// Counts the reasons to look again: records came, events went, or the end. Alone on its line.
  alignas(64) std::atomic<uint32_t> doorbell{0};

  Row(PinnedExecutor* e, BitmapPartition p, const PinnedOptions& options)
      : executor(e), partition(p), records(options.records_max), events(options.events_max) {}
};

PinnedExecutor::PinnedExecutor(const PinnedOptions& options)
    : options_(options), run_(kernel_for(options.sharing)) {}

Result<std::unique_ptr<PinnedExecutor>> PinnedExecutor::make(
    std::span<const BitmapPartition> partitions, const PinnedOptions& options) {
  std::unique_ptr<PinnedExecutor> executor(new PinnedExecutor(options));
  for (const BitmapPartition& partition : partitions) {
    Row& row =
        *executor->rows_.emplace_back(std::make_unique<Row>(executor.get(), partition, options));
    if (const int code = pthread_create(&row.thread, nullptr, row_main, &row); code != 0) {
      return failure("bitmap executor: thread " + std::to_string(executor->rows_.size()) + " of " +
                     std::to_string(partitions.size()) + " was refused: " + std::strerror(code));
    }
    row.has_thread = true;
    pin(row, executor->options_.cores);
  }
  return executor;
}

PinnedExecutor::~PinnedExecutor() {
  is_stopping_.store(true, std::memory_order_release);
  for (const auto& row : rows_) {
    if (!row->has_thread) continue;
    ring(*row);
    pthread_join(row->thread, nullptr);
  }
}

void PinnedExecutor::pin(Row& row, std::span<const int> cores) {
  if (cores.empty()) return;
  const size_t number = row.executor->rows_.size() - 1;
  const int core = cores[number % cores.size()];
  if (core < 0 || core >= CPU_SETSIZE) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  row.is_pinned = pthread_setaffinity_np(row.thread, sizeof(set), &set) == 0;
}

bool PinnedExecutor::is_pinned(size_t partition) const { return rows_[partition]->is_pinned; }

size_t PinnedExecutor::submit(size_t partition, std::span<const cw_bits_record> records) {
  CW_ASSERT(partition < rows_.size());
  Row& row = *rows_[partition];
  const size_t taken = row.records.push_burst(records);
  if (taken > 0) ring(row);
  return taken;
}

size_t PinnedExecutor::poll(size_t partition, std::span<cw_bits_event> out) {
  CW_ASSERT(partition < rows_.size());
  Row& row = *rows_[partition];
  const size_t count = row.events.pop_burst(out);
  if (count > 0) ring(row);  // the thread may be waiting for room
  return count;
}

void PinnedExecutor::ring(Row& row) {
  if (options_.idle == BitmapIdle::Poll) return;
  row.doorbell.fetch_add(1, std::memory_order_release);
  row.doorbell.notify_one();  // a system call only when the thread sleeps
}

void* PinnedExecutor::row_main(void* row) {
  Row& own = *static_cast<Row*>(row);
  own.executor->run_row(own);
  return nullptr;
}

void PinnedExecutor::run_row(Row& row) {
  for (unsigned looks = 0;;) {
    // Both are read before the ring is, so that what is pushed after the look changes them.
    const uint32_t rings_seen = row.doorbell.load(std::memory_order_acquire);
    const bool is_last = is_stopping_.load(std::memory_order_acquire);
    if (run_burst(row) > 0) {
      looks = 0;
    } else if (is_last) {
      return;
    } else if (options_.idle == BitmapIdle::Poll || ++looks < spin_looks) {
      relax();
    } else {
      row.doorbell.wait(rings_seen, std::memory_order_acquire);
      looks = 0;
    }
  }
}

size_t PinnedExecutor::run_burst(Row& row) {
  cw_bits_record records[burst_records_max];
  cw_bits_event events[burst_records_max];
  // A record makes at most one event: no more is taken than there is room to tell of.
  const size_t room = row.events.capacity() - row.events.count();
  const size_t count = row.records.pop_burst({records, std::min(room, burst_records_max)});
  if (count == 0) return 0;
  const cw_bits_progress done =
      run_(row.partition.arena, row.partition.index, records, static_cast<uint32_t>(count), events,
           static_cast<uint32_t>(burst_records_max));
  CW_ASSERT(done.records == count);
  const size_t told = row.events.push_burst({events, done.events});
  CW_ASSERT(told == done.events);
  return count;
}

}  // namespace cw
