// Where a member of a group over sockets stands: its port with a bad path before it, its clock, and
// how it waits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/perf/end/rendezvous.h"
#include "control/perf/shared/place.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/core/turn/idle.h"
#include "dataplane/datagram/end/member_port.h"
#include "dataplane/port/impair/impaired_port.h"
#include "dataplane/port/udp/group/udp_group_port.h"

namespace cw::perf {

/// For all to come; for an operation, or the messages of a step; and for those that have not heard
/// of the end, who ask the members that are done.
constexpr Duration join_patience = Duration::from_s(60), patience = Duration::from_s(120),
                   linger = Duration::from_ms(500);

/// Thread: one.
class UdpStand {
 public:
  /// `groups`: multicast addresses besides that of the place. Errors: as UdpGroupPort::make().
  Result<void> open(const Place& place, const std::vector<std::string>& groups, uint64_t seed);

  const UdpGroupPort& port() const { return *port_; }
  ImpairedPort& wire() { return *wire_; }
  /// What follows for the member from where it is; `place`, whose key it names, outlives it.
  void describe(const Place& place, uint32_t payload_bytes, group::MemberOptions& member) const;
  Instant now() { return clock_.read(); }

  /// Turns of a GroupEnd, or a MessageEnd; `is_over` is asked once after each. False: it was
  /// stopped, or took longer than `most`.
  template <class End, class IsOver>
  bool turn_until(End& end, const IsOver& is_over, Duration most, const StopFlag& stop) {
    const Instant limit = now() + most;
    while (!stop) {
      const Instant at = now();
      const bool has_worked = end.turn(at);
      if (is_over()) return true;
      if (at > limit) return false;
      if (end.worker().is_behind()) continue;
      const Instant next = earliest(end.worker().next_wakeup(), wire_->next_due(), limit);
      const Instant wake = idle_->plan(has_worked, at, next);
      if (wake <= at) continue;
      end.worker().sleeps_until(wake);
      idle_->wait(wake - at);
    }
    return false;
  }

 private:
  MonotonicClock clock_;
  std::unique_ptr<UdpGroupPort> port_;
  std::optional<ImpairedPort> wire_;
  std::optional<IdleWait> idle_;
};

/// A sentence, where it did not come into force.
std::string why_apart(const group::Membership& membership);

}  // namespace cw::perf
