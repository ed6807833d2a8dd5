#include "dataplane/port/dpdk/eal/memif_gate.h"

#include <dlfcn.h>
#include <rte_interrupts.h>
#include <sched.h>

#include <mutex>
#include <vector>

namespace cw {
namespace {

/// Never destroyed: the interrupt thread outlives everything.
struct Gates {
  std::mutex mutex;
  std::vector<const std::atomic<bool>*> bursts;
};
Gates& gates() {
  static Gates* const it = new Gates;
  return *it;
}

void wait_for_bursts() {
  const std::lock_guard lock(gates().mutex);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const auto* has_burst : gates().bursts) {
    while (has_burst->load(std::memory_order_acquire)) sched_yield();
  }
}

}  // namespace

MemifGate::MemifGate() {
  const std::lock_guard lock(gates().mutex);
  gates().bursts.push_back(&has_burst_);
}

MemifGate::~MemifGate() {
  const std::lock_guard lock(gates().mutex);
  std::erase(gates().bursts, &has_burst_);
}

}  // namespace cw

/// In place of the EAL's.
extern "C" [[gnu::visibility("default")]] int rte_intr_callback_unregister(
    const rte_intr_handle* handle, rte_intr_callback_fn handler, void* argument) {
  static auto* const eals = reinterpret_cast<decltype(&rte_intr_callback_unregister)>(
      dlsym(RTLD_NEXT, "rte_intr_callback_unregister"));
  cw::wait_for_bursts();
  return eals(handle, handler, argument);
}
