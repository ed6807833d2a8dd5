#include "offload/stage/pinned_threads.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace cw {
namespace {

// Looks at an empty ring before a thread sleeps: about half a millisecond, a hundred times the gap
// between bursts at 400 Gbit/s, so that ring() needs a system call only after real silence.
constexpr unsigned spin_looks = 200'000;

bool has_records(const cw_bits_row& row) {
  return __atomic_load_n(&row.records_tail, __ATOMIC_ACQUIRE) != row.records_head;
}
bool is_ended(const cw_bits_row& row) { return __atomic_load_n(&row.is_ended, __ATOMIC_ACQUIRE); }

/// Makes every thread of the process pass a fence, so that whoever rings need not; false: the
/// system cannot.
bool fence_all() { return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0; }

/// Until somebody rings. Whoever sleeps says so first and looks once more, whoever rings publishes
/// first and then asks: with a fence between, one of them sees the other.
void sleep_on(cw_bits_row& row) {
  std::atomic_ref<uint32_t> is_asleep(row.is_asleep);
  is_asleep.store(1);
  if (!fence_all() || has_records(row) || is_ended(row)) return is_asleep.store(0);
  is_asleep.wait(1);
}

void wake(cw_bits_row& row) {
  std::atomic_ref<uint32_t> is_asleep(row.is_asleep);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the sleeper's is for both
  if (is_asleep.load(std::memory_order_relaxed) == 0) return;
  is_asleep.store(0);
  is_asleep.notify_one();
}

void run(cw_bits_row& row) {
  for (unsigned looks = 0;;) {
    const bool is_last = is_ended(row);
    if (cw_bits_serve(&row) > 0) {
      looks = 0;
    } else if (is_last) {
      return;
    } else if (++looks < spin_looks || has_records(row)) {
      // Or there are records, and no room to tell of them: the owner is late. No pause instruction:
      // under a hypervisor a row of them leaves the core, and who comes back late writes while the
      // owner reads (12 cycles a packet for 5).
    } else {
      sleep_on(row);
      looks = 0;
    }
  }
}

}  // namespace

struct PinnedThreads::Thread {
  cw_bits_row* row = nullptr;
  pthread_t thread{};
};

PinnedThreads::PinnedThreads(std::vector<int> cores) : cores_(std::move(cores)) {}

PinnedThreads::~PinnedThreads() {
  for (const auto& each : threads_) {
    __atomic_store_n(&each->row->is_ended, 1, __ATOMIC_RELEASE);
    wake(*each->row);
    pthread_join(each->thread, nullptr);
  }
}

void* PinnedThreads::allocate(size_t bytes) { return memory_.emplace_back(bytes).get(); }

Result<void> PinnedThreads::start(std::span<cw_bits_row* const> rows) {
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  for (cw_bits_row* const row : rows) {
    auto thread = std::make_unique<Thread>(Thread{.row = row});
    if (const int code = pthread_create(&thread->thread, nullptr, main_of, thread.get());
        code != 0) {
      return failure("offload: thread " + std::to_string(threads_.size() + 1) + " of " +
                     std::to_string(rows.size()) + " was refused: " + std::strerror(code));
    }
    threads_.push_back(std::move(thread));
    const auto pinned = pin(*threads_.back(), threads_.size() - 1);
    if (!pinned) return pinned;
  }
  return {};
}

Result<void> PinnedThreads::pin(const Thread& thread, size_t number) const {
  cpu_set_t set;
  if (cores_.empty()) {
    // Not where who made it is pinned to: there it would stand in its owner's way.
    std::memset(&set, 0xff, sizeof(set));
    pthread_setaffinity_np(thread.thread, sizeof(set), &set);
    return {};
  }
  const int core = cores_[number % cores_.size()];
  CPU_ZERO(&set);
  if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  const int code = pthread_setaffinity_np(thread.thread, sizeof(set), &set);
  if (code == 0) return {};
  return failure("offload: core " + std::to_string(core) + " was refused (" + std::strerror(code) +
                 "); name cores that this machine has and this process may use");
}

void* PinnedThreads::main_of(void* thread) {
  run(*static_cast<Thread*>(thread)->row);
  return nullptr;
}

void PinnedThreads::ring(size_t partition) { wake(*threads_[partition]->row); }

}  // namespace cw
