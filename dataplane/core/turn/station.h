// DOOR between the worker and the room above it: who gets the packets of a port, and who has
// packets for it. The core knows stations only by these interfaces; behind a WAN port is the SDR
// room, behind a LAN port the gateway.
//
// Thread: all calls on the station's one worker. No call waits, allocates, locks or reads a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"
#include "dataplane/port.h"
#include "dataplane/wan.h"

namespace cw {

/// What both kinds have.
class StationBase {
 public:
  virtual ~StationBase() = default;

  /// This thread stood still for `gap` until `now`: armed timers and deadlines are to be moved
  /// later by it, nothing is to be given up for the time slept. Comes before anything else of its
  /// turn.
  virtual void on_gap(Duration gap, Instant now) = 0;

  /// Once per turn, after all that has arrived: due timers. The work is bounded; what is left over
  /// comes next turn, and next_wakeup() says so. Returns whether anything was due.
  virtual bool on_time(Instant now) = 0;

  /// When on_time() or collect() will next have work if nothing arrives; past instants mean at
  /// once, never() that only a packet or a change can bring work.
  virtual Instant next_wakeup() const = 0;
};

/// Behind a port that moves bytes.
class Station : public StationBase {
 public:
  /// Packets have arrived (at least one, in the order of arrival). They are the station's from now
  /// on: each goes back to its port, by collect() or by give_back(), at once or later.
  virtual void on_rx(std::span<Packet* const> packets, Instant now) = 0;

  /// Fills `out` from the front with packets that may leave now, by the pacer; returns how many.
  /// They are the worker's until the port has taken them. `out` may be smaller than what is ready.
  virtual size_t collect(std::span<Packet*> out, Instant now) = 0;
};

/// Behind a port that takes descriptors.
class WanStation : public StationBase {
 public:
  /// How many arrivals it has room for; beyond a burst it does not matter.
  virtual size_t arrivals_max() const { return limits::burst_packets_max; }
  /// As on_rx(); what they point at stays until the call returns.
  virtual void on_arrivals(std::span<const Arrival> arrivals, Instant now) = 0;

  /// As Station::collect().
  virtual size_t collect(std::span<Send> out, Instant now) = 0;

  /// The memory that sends with these cookies have lent is their lenders' again.
  virtual void on_done(std::span<const uint64_t> cookies) = 0;
};

}  // namespace cw
