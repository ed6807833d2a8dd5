// A worker: one thread's loop over its ports. One turn takes what has arrived, lets the rooms above
// act, sends what is due and carries out at most one change from the control side. It makes no
// system call of its own; what happens when there is nothing to do is idle.h's question.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/times/octave_times.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/core/turn/mailbox.h"
#include "dataplane/core/turn/station.h"
#include "dataplane/port.h"

namespace cw {

/// Thread: one, except mailbox() and counters(), whose *_any_thread functions are for others.
class Worker {
 public:
  /// A port and the station behind it; both outlive the worker.
  struct Side {
    Port* port = nullptr;
    Station* station = nullptr;
  };
  struct WanSide {
    WanPort* port = nullptr;
    WanStation* station = nullptr;
  };
  static constexpr size_t sides_max = 4;

  /// Serves up to sides_max sides and a WAN, one of both at least, in this order.
  Worker(std::span<const Side> sides, const WanSide& wan);
  explicit Worker(std::span<const Side> sides) : Worker(sides, WanSide()) {}
  /// Gives packets that no port has taken back to their ports; nobody hears what becomes of others.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// One turn at `now`, a fresh reading of the clock. Returns whether there was anything to do.
  bool turn(Instant now);

  /// Whether a port gave all that a turn takes: there may be more, and nothing left to gather.
  bool is_behind() const { return is_behind_; }
  /// When the next turn is needed if nothing arrives; past instants mean at once.
  Instant next_wakeup() const;
  /// Whoever lets time pass on purpose (a wait, the simulator's jump) says so, lest it count as a
  /// pause of the machine.
  void sleeps_until(Instant wake) {
    gaps_.sleeps_until(wake);
    busy_since_ = Instant::never();
  }

  Mailbox& mailbox() { return mailbox_; }
  Counters& counters() { return counters_; }
  /// From one turn that had work to the next turn. Thread: the worker's.
  const OctaveTimes& turn_times() const { return turn_times_; }

 private:
  struct Lane {
    Side side;
    size_t held_count = 0;  // collected, not yet taken by the port; the oldest first
    std::array<Packet*, limits::burst_packets_max> held{};
  };
  struct WanLane {
    WanSide side;
    size_t held_count = 0;
    std::array<Send, limits::burst_packets_max> held{};
    std::array<Arrival, limits::burst_packets_max> arrived{};  // here: else zeroed in each turn
  };

  template <class Do>
  void for_each(const Do& act) {
    for (size_t i = 0; i < lane_count_; ++i) act(lanes_[i]);
    if (wan_.side.port != nullptr) act(wan_);
  }
  template <class Do>
  void for_each(const Do& act) const {
    const_cast<Worker*>(this)->for_each([&](const auto& lane) { act(lane); });
  }
  void notice_gap(Instant now);
  size_t receive(Lane& lane, Instant now);
  size_t receive(WanLane& lane, Instant now);
  void note_received(size_t packets, uint64_t bytes);
  template <class AnyLane>
  size_t send(AnyLane& lane, Instant now);
  template <class AnyLane>
  size_t send_burst(AnyLane& lane, Instant now);
  size_t run_change(Instant now);

  std::array<Lane, sides_max> lanes_{};
  size_t lane_count_ = 0;
  WanLane wan_;
  bool is_behind_ = false;
  GapDetector gaps_;
  Mailbox mailbox_;
  Counters counters_;
  OctaveTimes turn_times_;
  Instant busy_since_ = Instant::never();  // the last turn, if it had work
};

}  // namespace cw
