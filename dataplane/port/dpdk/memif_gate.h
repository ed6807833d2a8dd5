// Keeps a worker's bursts on a memif and the driver's own doings apart.
//
// DPDK 22.11's memif unmaps its rings on EAL's interrupt thread as soon as the other end hangs up,
// whoever is reading them. Here its handlers wait for the bursts that are under way, and bursts
// find the gate closed while a handler runs. The driver registers its handlers with public
// functions of the EAL: memif_gate.cc defines these itself, which the program's dynamic linker
// prefers to the EAL's, and hands on to the EAL, with all but memif's handlers unchanged.
#pragma once

#include <atomic>
#include <cstdint>

namespace cw {

/// One for each memif device. Thread: made and ended on any, entered on the worker's.
class MemifGate {
 public:
  MemifGate();
  ~MemifGate();  ///< waits for a handler that is running
  MemifGate(const MemifGate&) = delete;
  MemifGate& operator=(const MemifGate&) = delete;

  /// A burst, which begins only if it is_open(). Without a gate it always is. Hot: two stores.
  class Burst {
   public:
    explicit Burst(MemifGate* gate) : gate_(gate) {
      if (gate_ == nullptr) return;
      // In one order with what handlers do: one of both sees the other.
      gate_->has_burst_.store(true, std::memory_order_seq_cst);
      is_open_ = !is_driver_at_work.load(std::memory_order_seq_cst);
    }
    ~Burst() {
      if (gate_ != nullptr) gate_->has_burst_.store(false, std::memory_order_release);
    }
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;
    bool is_open() const { return is_open_; }

   private:
    MemifGate* gate_;
    bool is_open_ = true;
  };

  /// Handlers of memif's that have run so far, in this process. Zero once a memif is connected
  /// would mean that something else defines the EAL's functions.
  static uint64_t handler_count();

 private:
  friend void run_alone(void (*handler)(void*), void* argument);
  static std::atomic<bool> is_driver_at_work;

  std::atomic<bool> has_burst_ = false;
};

}  // namespace cw
