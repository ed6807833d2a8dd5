// One peer: its link, its streams in both directions, its budget and its paths. The endpoint
// (endpoint.h) has one of these per gateway it talks to.
//
//   packets in   -> on_data: QP number -> (qp, generation, channel) -> PSN tracker -> recv stream
//                -> on_control: link -> records -> streams
//   packets out  <- collect: streams' outboxes and the link's envelopes -> pacer -> port's packets
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/ring.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/pacer.h"
#include "dataplane/core/paths.h"
#include "dataplane/core/psn_tracker.h"
#include "dataplane/core/rate_control.h"
#include "dataplane/port.h"
#include "dataplane/sdr/gap_ledger.h"
#include "dataplane/sdr/link.h"
#include "dataplane/sdr/packet_stock.h"
#include "dataplane/sdr/recv_stream.h"
#include "dataplane/sdr/send_stream.h"
#include "dataplane/sdr/transmitter.h"

namespace cw::sdr {

/// One SDR QP as configured: its two directions and its policy.
struct QpOptions {
  StreamConfig stream;
  SendStream::Options send;
  PolicyChoice policy;
  bool send_enable = true, recv_enable = true;
  uint32_t weight =
      1;  ///< of the pacer's bytes, while QPs compete; what one leaves the others take
};

struct PeerOptions {
  uint16_t peer = 0;  ///< the port's number for it
  LinkOptions link;
  PacerOptions pacer;
  RateControlOptions rate_control;
  PolicyChoice fallback;  ///< what a quarantined policy is replaced by
  PolicyQuota quota;
  std::vector<QpOptions> qps;
};

/// Thread: the endpoint's worker.
class Peer final : private LinkEvents {
 public:
  /// Errors: a stream config that contradicts itself, a policy that refuses to start.
  /// `desk` is stopped before the peer ends; `stock` is of `port` and outlives the peer.
  static Result<std::unique_ptr<Peer>> make(const PeerOptions& options, Port& port,
                                            PacketStock& stock, CodeDesk& desk, Counters& counters,
                                            Drops& drops, Instant now);
  /// One more QP, before the first turn. Errors: as make(); the peer is then as it was.
  Result<void> add_qp(const QpOptions& qp, Instant now);

  /// `packet` is what it came in.
  void on_data(const SlotWrite& slot, const uint8_t* payload, const Packet& packet, Instant now);
  void on_control(std::span<const uint8_t> bytes, uint16_t path, Instant now) {
    link_.on_control(bytes, path, now);
  }
  /// After the last packet of a burst: the streams tell their policies.
  void flush_arrivals(Instant now);
  /// Due timers, lost transmissions, envelopes. Returns whether anything was due.
  bool on_time(Instant now);
  /// Fills `out` with packets that leave now.
  size_t collect(std::span<Packet*> out, Instant now);
  Instant next_wakeup() const;
  void rebase(Duration shift, Instant now);

  Link& link() { return link_; }
  const Link& link() const { return link_; }
  /// Null for a QP that is not configured, or not for this direction.
  SendStream* send_stream(uint16_t qp);
  RecvStream* recv_stream(uint16_t qp);
  /// The port's number for it.
  uint16_t number() const { return peer_; }
  const Pacer& pacer() const { return pacer_; }
  /// The rate that the link is configured for. What it carries may be less: pacer().rate().
  void set_rate(Rate rate);
  uint32_t payload_bytes() const { return payload_bytes_; }
  PathState path_state(uint16_t path, Instant now) const { return paths_[path].report(now); }
  /// Gives packets that wait for the pacer back to the port.
  ~Peer();

 private:
  struct Qp {
    StreamConfig config;
    std::unique_ptr<SendStream> send;
    std::unique_ptr<RecvStream> recv;
    uint32_t weight = 1;
    int64_t share_bytes = 0;  // of each round, by its weight
    int64_t bytes_due = 0;    // of its share; negative: it has had more
  };
  /// What one QP number of ours stands for.
  struct Target {
    RecvStream* recv = nullptr;  // null: not for this direction
    uint16_t qp_index = 0;
    uint16_t channel = 0;
    uint8_t generation = 0;
  };
  struct Tracked {
    PsnTracker psns;
    GapLedger gaps;
  };
  static constexpr size_t control_packets_max = 64;
  static constexpr size_t envelopes_per_turn = 8;
  static constexpr uint32_t weight_max = 1000;

  Peer(const PeerOptions& options, Port& port, PacketStock& stock, CodeDesk& desk,
       Counters& counters, Drops& drops, Instant now);
  Result<void> check_qp(const QpOptions& qp) const;
  cw_env env_of(const QpOptions& qp, cw_role role) const;

  // LinkEvents
  void on_epoch(std::vector<StreamAddress>& addresses, Instant now) override;
  void on_up(const std::vector<StreamAddress>& addresses, uint32_t payload_bytes,
             Instant now) override;
  void on_down(Instant now) override;
  void on_record(const ClearToSend& record, Instant now) override;
  void on_record(const Probe& record, Instant now) override;
  void on_record(const Opened& record, Instant now) override;
  void on_record(const BlockClosed& record, Instant now) override;
  void on_record(const Closed& record, Instant now) override;
  void on_record(const Abandoned& record, Instant now) override;
  void on_record(const Note& record, Instant now) override;
  void on_record(const PathReport& record, Instant now) override;
  void on_rtt(uint16_t path, Duration sample, Instant now) override;

  /// The time by which gaps of PSNs age: it stands still while this thread does.
  Instant awake(Instant now) const { return now - slept_; }
  void track(Psn psn, const ImmediateSplit::Parts& parts, const Target& target, uint16_t path,
             Instant now);
  Duration reorder_time_of(const Tracked& tracked) const {
    return paths_[static_cast<size_t>(&tracked - trackers_.data()) % paths_count_].reorder_time();
  }
  bool settle_gaps(Instant now);
  void tell_lost(Instant now);
  void avoid_small_paths();
  void tell_link(Instant now);
  cw_fact_link link_fact(std::span<cw_path_facts> facts, bool is_source, Instant now) const;

  Instant own_due() const;
  bool run_streams(Instant now);
  static bool has_notes(const Qp& qp) {
    return (qp.send && !qp.send->notes().is_empty()) || (qp.recv && !qp.recv->notes().is_empty());
  }
  bool has_ready() const;
  Instant offer_due() const;
  bool has_offer(Instant now) const { return offer_due() <= now; }
  bool has_room_for_envelope() const {
    return !control_.is_full() && pacer_.free_packets(Priority::Control) > 0;
  }
  void write_envelopes(Instant now);
  bool fill_envelope(EnvelopeKind kind, EnvelopeWriter& writer, Instant now);
  uint16_t choose_path(std::optional<uint16_t> wanted);
  bool offer_notes(EnvelopeWriter& writer, Qp& qp);
  bool offer_path_reports(EnvelopeWriter& writer, Instant now);
  bool try_write_envelope(Instant now);

  void apply_rate();
  void feed_pacer(Instant now);
  void feed_class(Priority priority, Instant now);
  void feed_data(Instant now);
  size_t room(Priority priority) const;
  bool has_room(Priority priority) const { return room(priority) > 0; }
  size_t next_turn(size_t turn) const { return turn + 1 == qps_.size() ? 0 : turn + 1; }
  static void give_rounds(Qp& qp, int64_t final_bytes);
  Packet* build(const SendTicket& ticket, Instant at, Instant now);

  Port& port_;
  PacketStock& stock_;
  CodeDesk& desk_;
  uint16_t peer_;
  Counters& counters_;
  Drops& drops_;
  RandomSource random_;
  PolicyChoice fallback_;
  PolicyQuota quota_;
  std::vector<StreamConfig> stream_configs_;
  std::vector<Qp> qps_;
  Transmitter transmitter_;
  Pacer pacer_;
  uint32_t packet_overhead_bytes_;
  RateControl rate_control_;
  Link link_;

  uint32_t payload_bytes_;
  uint32_t qpn_base_ = 0;
  std::vector<Target> targets_;  // by QP number - qpn_base_

  uint16_t paths_count_;
  std::vector<PathEstimates> paths_;
  std::vector<Tracked> trackers_;         // by channel * paths + path
  std::vector<PathReport> peer_reports_;  // what the peer saw of our packets, by path
  std::vector<LossEstimator> peer_losses_;
  Ring<LostRange> lost_;
  Duration slept_;  // since the beginning
  Instant link_told_;
  Instant reports_due_ = Instant::never();
  uint16_t reported_paths_ = 0;  // of this round: one envelope need not hold all
  bool has_arrivals_ = false, has_arrivals_since_report_ = false;

  // What leaves in a turn; here, since on the stack they would be zeroed in each.
  std::array<Departed, limits::burst_packets_max> departed_;
  std::array<uint64_t, limits::burst_packets_max> expired_;
  Ring<Packet*> control_;     // written, in the pacer's queue
  size_t ahead_packets_ = 0;  // of a class, at the pacer; the rest stays in the outboxes
  size_t class_turn_ = 0;     // which stream is asked first
  size_t data_turn_ = 0;      // whose share of data is being taken
  bool has_share_ = false;    // and it has been given for this turn
  uint32_t weight_min_ = UINT32_MAX;
};

}  // namespace cw::sdr
