// The server's program: posts receives ahead, and takes each message when it is whole, or when
// nothing has come for it for too long.
#pragma once

#include <cstdint>

#include "control/perf/parameters.h"
#include "control/pump/pump.h"
#include "control/sim/transfer.h"
#include "dataplane/sdr/endpoint.h"

namespace cw::perf {

/// Acts after its end had its turn. Thread: one.
class Receiver {
 public:
  /// All three outlive the receiver.
  Receiver(sdr::Link& link, const Parameters& parameters, const Payload& payload);

  /// Returns whether anything was taken or posted.
  bool turn(Instant now);
  /// When patience with some message ends.
  Instant next_deadline() const { return sink_.next_deadline(); }

  uint64_t received() const { return whole_ + incomplete_; }
  uint64_t whole() const { return whole_; }
  uint64_t incomplete() const { return incomplete_; }  ///< taken with holes
  uint64_t bytes_wrong() const { return bytes_wrong_; }
  bool has_lost_peer() const { return has_lost_peer_; }

 private:
  sdr::Sink stream() { return link_.sink(0); }
  void count(const SinkPump::Over& over);

  sdr::Link& link_;
  const Parameters& parameters_;
  const Payload& payload_;
  uint64_t whole_ = 0, incomplete_ = 0, bytes_wrong_ = 0;
  bool has_lost_peer_ = false;
  SinkPump sink_;
};

}  // namespace cw::perf
