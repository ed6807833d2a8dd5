// The sending side of a link, below its streams: what leaves next, when, and by which path. Streams
// give rows of slots by their shares, the link's control its envelopes; the pacer says when each
// leaves, and what its headers say is settled then and not before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/core/rate/pacer.h"
#include "dataplane/core/rate/rate_control.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/line/granted.h"
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
  GrantLine* grants = nullptr;  ///< of the pacer's rate; null: all of it
};

/// What leaves in a turn, of one line after the other: on the stack it would be zeroed in each.
struct LeavingRows {
  std::array<Departed, limits::burst_packets_max> departed;
  std::array<uint64_t, limits::burst_packets_max> expired;
};

/// Thread: the endpoint's worker. Nothing allocates after the streams were added.
class Line {
 public:
  /// `port` lives longer, and so does `tables`, of which a line without packets needs nothing.
  Line(const LineOptions& options, PortBase& port, TableMemory& tables);
  /// Gives envelopes that wait for the pacer back to the port.
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  /// Before the first turn; the stream lives as long as the line.
  void add(SendStream& stream, uint32_t weight);
  /// A new epoch: numbers begin anew.
  void begin_epoch();
  /// And is up: what was learnt of the rate is forgotten.
  void come_up(uint32_t payload_bytes);

  /// An envelope, in a packet of its own; it leaves before all else. There must be room.
  void push_control(Send send, Instant now);
  bool is_empty() const { return pacer_.queued_packets() == 0 && control_.is_empty(); }
  bool has_room_for_control() const {
    return !control_.is_full() && pacer_.free_packets(Priority::Control) > 0;
  }

  struct Collected {
    size_t sends = 0, slots = 0;
  };
  /// Fills `out` with what leaves now, and tells its streams.
  Collected collect(std::span<Send> out, LeavingRows& rows, Instant now);
  void on_time(Instant now);
  void on_pause(Duration pause, Instant now);
  Instant next_due() const;
  /// What waits has room at the pacer: it comes to be after that was fed.
  bool has_ready() const { return may_send_ && shares_.has_ready(); }

  void on_rtt(uint16_t path, Duration sample, Instant now);
  /// The peer's sums over all paths, of packets of this epoch.
  void on_report(uint64_t arrived, uint64_t lost, Instant now);
  /// Whether more waits above the streams than may do so for long.
  void on_pressure(bool is_pressed) {
    if (granted_) return granted_->on_pressure(is_pressed);
    rate_control_.on_pressure(is_pressed);
  }
  /// The rate that it is configured for; what it carries may be less. Where links share a rate, the
  /// granter's is set instead.
  void set_rate(Rate rate);
  /// Another line to the same peer carries: this has a quarter, and the other pays for what it
  /// sends. Where links share a rate, that is the granter's concern. False: it was so before.
  bool try_set_beside(bool is_beside);
  void pay_for(Line& beside, Instant now);
  /// All that it was made with of these, while packets wait. What is learnt of the rate is
  /// forgotten if that is another, or whether to adapt. Where links share a rate, the granter's is
  /// the one that counts.
  void change(const PacerOptions& pacer, bool adapts);
  /// In the order of adding.
  void set_weight(size_t stream, uint32_t weight) { shares_.set_weight(stream, weight); }
  Rate rate() const { return pacer_.rate(); }
  /// What it may send by at `now`: nothing where its grant is over.
  Rate rate_in_force(Instant now) const { return may_send(now) ? pacer_.rate() : Rate(); }
  const Pacer& pacer() const { return pacer_; }
  Transmitter& transmitter() { return transmitter_; }
  const Transmitter& transmitter() const { return transmitter_; }

 private:
  static constexpr uint32_t control_packets_max = 64;

  /// Whether anything does, for the pacer or at it.
  bool waits() const;
  bool may_send(Instant now) const { return may_send_ && now < may_send_until_; }
  void take_grant(Instant now);
  void apply_rate();
  Collected depart(std::span<Send> out, LeavingRows& rows, Instant now);
  cw_fact_budget budget(Instant now) const;
  void feed_at(Rate rate);
  SendStream* find(uint16_t qp) const;

  PortBase& port_;
  uint16_t peer_;
  uint32_t payload_bytes_;
  uint32_t packet_overhead_bytes_;
  Pacer pacer_;
  bool is_beside_ = false;
  uint64_t sent_bytes_ = 0;
  RateControl rate_control_;
  Transmitter transmitter_;
  Shares shares_;
  std::optional<Granted> granted_;
  // Outside of it, for the way of each turn.
  bool may_send_ = true;
  Instant may_send_until_ = Instant::never();
  std::vector<SendStream*> streams_;
  Ring<Send> control_;  // in the pacer's queue
};

}  // namespace cw::sdr
