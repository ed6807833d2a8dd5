// One end of a simulated link: a worker and the SDR room over a simulated port, as a gateway or an
// SDK program has them over a real one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "control/sim/scenario.h"
#include "dataplane/base/prng.h"
#include "dataplane/base/result.h"
#include "dataplane/port/sim/sim_port.h"
#include "dataplane/sdr/shard.h"

namespace cw {

/// Sends or receives, never both. Thread: one.
class Site {
 public:
  enum class Role { Sender, Receiver };

  /// `port` and `scenario` outlive the site. `seed` decides the keys of its links.
  Site(SimPort& port, const Scenario& scenario, Role role, uint64_t seed);

  /// Before the first turn: the site at the other end, under the port's number for it. Errors: what
  /// the stream or the policy refuses.
  Result<sdr::Link*> add_peer(uint16_t number, Instant now);

  void turn_if_due(Instant now) {
    had_turn_ = port_.next_event() <= now || next_wakeup() <= now;
    if (!had_turn_) return;
    forget_wakeup();
    sdr_.worker().sleeps_until(now);  // the simulator moved time on purpose
    sdr_.turn(now);
  }
  /// Whether it had a turn when it was last asked to: else its streams are as they were.
  bool had_turn() const { return had_turn_; }
  /// Asked of the worker once after each turn, and after forget_wakeup().
  Instant next_wakeup() {
    if (!wakeup_) wakeup_ = sdr_.worker().next_wakeup();
    return *wakeup_;
  }
  /// Whoever has done something with a stream of this site says so.
  void forget_wakeup() { wakeup_.reset(); }
  uint64_t count_of(Counter counter) const { return sdr_.counters().read_any_thread(counter); }
  const Drops& drops() const { return sdr_.drops(); }

 private:
  SimPort& port_;
  const Scenario& scenario_;
  Role role_;
  Prng prng_;
  sdr::Shard sdr_;
  std::optional<Instant> wakeup_;
  bool had_turn_ = false;
};

}  // namespace cw
