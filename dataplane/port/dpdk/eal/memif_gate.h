// Keeps a memif's rings in place while a worker's burst is under way.
//
// When the other end hangs up, DPDK 22.11 takes the link down and then unmaps the rings, on EAL's
// interrupt thread, whoever is reading them. Between the two it calls a public function of the
// EAL, rte_intr_callback_unregister(). memif_gate.cc defines that function itself, which the
// program's dynamic linker prefers to the EAL's: there it waits for the bursts that are under way,
// and hands on. A burst that begins later finds no link.
#pragma once

#include <atomic>
#include <cstdint>

namespace cw {

/// One for each memif device. Thread: made and ended on any, its bursts are the worker's.
class MemifGate {
 public:
  MemifGate();
  ~MemifGate();
  MemifGate(const MemifGate&) = delete;
  MemifGate& operator=(const MemifGate&) = delete;

  /// A burst, which looks at the link first and moves nothing without one. None of a gate that is
  /// null. Hot: two stores and a fence.
  class Burst {
   public:
    explicit Burst(MemifGate* gate) : gate_(gate) {
      if (gate_ == nullptr) return;
      gate_->has_burst_.store(true, std::memory_order_relaxed);
      // The driver takes the link down and looks for bursts: one of both sees the other.
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    ~Burst() {
      if (gate_ != nullptr) gate_->has_burst_.store(false, std::memory_order_release);
    }
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;

   private:
    MemifGate* gate_;
  };

 private:
  std::atomic<bool> has_burst_ = false;
};

}  // namespace cw
