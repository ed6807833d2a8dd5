// DOOR between the worker and the room above it: who gets the packets of a port, and who has
// packets for it. The core knows stations only by this interface; the long-haul station is the SDR
// room, the LAN station the gateway.
//
// Thread: all calls on the station's one worker. No call waits, allocates, locks or reads a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/units.h"
#include "dataplane/port.h"

namespace cw {

class Station {
 public:
  virtual ~Station() = default;

  /// This thread stood still for `gap` until `now`: armed timers and deadlines are to be moved
  /// later by it, nothing is to be given up for the time slept. Comes before anything else of its
  /// turn.
  virtual void on_gap(Duration gap, Instant now) = 0;

  /// Packets have arrived (at least one, in the order of arrival). They are the station's from now
  /// on: each goes back to its port, by collect() or by Port::give_back(), at once or later.
  virtual void on_rx(std::span<Packet* const> packets, Instant now) = 0;

  /// Once per turn, after all that has arrived: due timers. The work is bounded; what is left over
  /// comes next turn, and next_wakeup() says so. Returns whether anything was due.
  virtual bool on_time(Instant now) = 0;

  /// Fills `out` from the front with packets that may leave now, by the pacer; returns how many.
  /// They are the worker's until the port has taken them. `out` may be smaller than what is ready.
  virtual size_t collect(std::span<Packet*> out, Instant now) = 0;

  /// What packets with these cookies have lent is theirs again (Port::take_done()).
  virtual void on_done(std::span<const uint64_t> cookies) = 0;

  /// When on_time() or collect() will next have work if nothing arrives; past instants mean at
  /// once, never() that only a packet or a change can bring work.
  virtual Instant next_wakeup() const = 0;
};

}  // namespace cw
