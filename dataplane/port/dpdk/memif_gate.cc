#include "dataplane/port/dpdk/memif_gate.h"

#include <dlfcn.h>
#include <rte_interrupts.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>
#include <vector>

namespace cw {

std::atomic<bool> MemifGate::is_driver_at_work = false;

namespace {

/// What the EAL calls in place of a handler of memif's.
struct Guarded {
  rte_intr_callback_fn handler = nullptr;
  void* argument = nullptr;
  rte_intr_unregister_callback_fn farewell = nullptr;
};

/// Never destroyed: the interrupt thread outlives everything.
struct State {
  std::mutex gates_mutex, guarded_mutex;
  std::vector<std::atomic<bool>*> bursts;
  std::list<Guarded> guarded;
  std::atomic<uint64_t> handlers = 0;
};
State& state() {
  static State* const it = new State;
  return *it;
}

bool is_of_memif(rte_intr_callback_fn handler) {
  Dl_info place{};
  return dladdr(reinterpret_cast<void*>(handler), &place) != 0 && place.dli_fname != nullptr &&
         std::strstr(place.dli_fname, "net_memif") != nullptr;
}

void forget(const Guarded* guarded) {
  const std::lock_guard lock(state().guarded_mutex);
  state().guarded.remove_if([&](const Guarded& it) { return &it == guarded; });
}

Guarded* find(rte_intr_callback_fn handler, const void* argument) {
  const std::lock_guard lock(state().guarded_mutex);
  const auto found = std::ranges::find_if(state().guarded, [&](const Guarded& it) {
    return it.handler == handler && it.argument == argument;
  });
  return found == state().guarded.end() ? nullptr : &*found;
}

}  // namespace

void run_alone(void (*handler)(void*), void* argument) {
  const std::lock_guard lock(state().gates_mutex);
  ++state().handlers;
  MemifGate::is_driver_at_work.store(true, std::memory_order_seq_cst);
  for (const auto* has_burst : state().bursts) {
    while (has_burst->load(std::memory_order_seq_cst)) sched_yield();
  }
  handler(argument);
  MemifGate::is_driver_at_work.store(false, std::memory_order_release);
}

MemifGate::MemifGate() {
  const std::lock_guard lock(state().gates_mutex);
  state().bursts.push_back(&has_burst_);
}

MemifGate::~MemifGate() {
  const std::lock_guard lock(state().gates_mutex);
  std::erase(state().bursts, &has_burst_);
}

uint64_t MemifGate::handler_count() { return state().handlers; }

namespace {

void on_event(void* guarded) {
  const Guarded it = *static_cast<const Guarded*>(guarded);
  run_alone(it.handler, it.argument);
}

void on_farewell(rte_intr_handle* handle, void* guarded) {
  const Guarded it = *static_cast<const Guarded*>(guarded);
  forget(static_cast<const Guarded*>(guarded));
  if (it.farewell != nullptr) it.farewell(handle, it.argument);
}

/// The EAL's own.
template <class Function>
Function* eals(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define CW_EALS(function) eals(&function, #function)

}  // namespace
}  // namespace cw

// ---- in place of the EAL's ----------------------------------------------------------------------

using namespace cw;

extern "C" [[gnu::visibility("default")]] int rte_intr_callback_register(
    const rte_intr_handle* handle, rte_intr_callback_fn handler, void* argument) {
  static auto* const next = CW_EALS(rte_intr_callback_register);
  if (!is_of_memif(handler)) return next(handle, handler, argument);
  Guarded* guarded = nullptr;
  {
    const std::lock_guard lock(state().guarded_mutex);
    guarded = &state().guarded.emplace_back(Guarded{handler, argument, nullptr});
  }
  const int error = next(handle, on_event, guarded);
  if (error != 0) forget(guarded);
  return error;
}

extern "C" [[gnu::visibility("default")]] int rte_intr_callback_unregister(
    const rte_intr_handle* handle, rte_intr_callback_fn handler, void* argument) {
  static auto* const next = CW_EALS(rte_intr_callback_unregister);
  Guarded* const guarded = find(handler, argument);
  if (guarded == nullptr) return next(handle, handler, argument);
  const int count = next(handle, on_event, guarded);
  if (count > 0) forget(guarded);
  return count;
}

extern "C" [[gnu::visibility("default")]] int rte_intr_callback_unregister_pending(
    const rte_intr_handle* handle, rte_intr_callback_fn handler, void* argument,
    rte_intr_unregister_callback_fn farewell) {
  static auto* const next = CW_EALS(rte_intr_callback_unregister_pending);
  Guarded* const guarded = find(handler, argument);
  if (guarded == nullptr) return next(handle, handler, argument, farewell);
  guarded->farewell = farewell;
  return next(handle, on_event, guarded, on_farewell);
}
