// The sending side of a link, below its streams: what leaves next, when, and by which path. Streams
// give rows of slots by their shares, the link's control its envelopes; the pacer says when each
// leaves, and what its headers say is settled then and not before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/ring.h"
#include "dataplane/core/pacer.h"
#include "dataplane/core/rate_control.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/line/shares.h"
#include "dataplane/sdr/line/transmitter.h"
#include "dataplane/wan.h"

namespace cw::sdr {

struct LineOptions {
  uint16_t peer = 0;  ///< the port's number for who is at the other end
  uint16_t paths = 1;
  std::span<const uint8_t> path_weights;  ///< as a Transmitter's
  uint32_t payload_bytes = 1024;          ///< of a slot, until the ends agree
  PacerOptions pacer;
  RateControlOptions rate_control;
};

/// Thread: the endpoint's worker. Nothing allocates after the streams were added.
class Line {
 public:
  /// `port` lives longer.
  Line(const LineOptions& options, PortBase& port);
  /// Gives envelopes that wait for the pacer back to the port.
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  /// Before the first turn; the stream lives as long as the line.
  void add(SendStream& stream, uint32_t weight);
  /// A new epoch: numbers begin anew.
  void begin_epoch() { transmitter_.restart_psns(); }
  /// And is up: what was learnt of the rate is forgotten.
  void come_up(uint32_t payload_bytes);

  /// An envelope, in a packet of its own; it leaves before all else. There must be room.
  void push_control(Send send, Instant now);
  bool has_room_for_control() const {
    return !control_.is_full() && pacer_.free_packets(Priority::Control) > 0;
  }

  struct Collected {
    size_t sends = 0, slots = 0;
  };
  /// Fills `out` with what leaves now, and tells its streams.
  Collected collect(std::span<Send> out, Instant now);
  void on_time(Instant now);
  void on_pause(Duration pause, Instant now) { pacer_.on_pause(pause, now); }
  Instant next_due() const { return std::min(pacer_.next_departure(), rate_control_.next_due()); }
  /// What waits has room at the pacer: it comes to be after that was fed.
  bool has_ready() const { return shares_.has_ready(); }

  void on_rtt(uint16_t path, Duration sample, Instant now) {
    rate_control_.on_rtt(path, sample, now);
  }
  /// The peer's sums over all paths, of packets of this epoch.
  void on_report(uint64_t arrived, uint64_t lost, Instant now) {
    rate_control_.on_report(arrived, lost, now);
  }
  /// Whether more waits above the streams than may do so for long.
  void on_pressure(bool is_pressed) { rate_control_.on_pressure(is_pressed); }
  /// The rate that it is configured for; what it carries may be less.
  void set_rate(Rate rate);
  Rate rate() const { return pacer_.rate(); }
  const Pacer& pacer() const { return pacer_; }
  Transmitter& transmitter() { return transmitter_; }
  const Transmitter& transmitter() const { return transmitter_; }

 private:
  static constexpr size_t control_packets_max = 64;

  void apply_rate();
  Collected depart(std::span<Send> out, Instant now);
  cw_fact_budget budget(Instant now) const;
  SendStream* find(uint16_t qp) const;

  PortBase& port_;
  uint16_t peer_;
  uint32_t payload_bytes_;
  uint32_t packet_overhead_bytes_;
  Pacer pacer_;
  RateControl rate_control_;
  Transmitter transmitter_;
  Shares shares_;
  std::vector<SendStream*> streams_;
  Ring<Send> control_;  // in the pacer's queue

  // What leaves in a turn; here, since on the stack they would be zeroed in each.
  std::array<Departed, limits::burst_packets_max> departed_;
  std::array<uint64_t, limits::burst_packets_max> expired_;
};

}  // namespace cw::sdr
