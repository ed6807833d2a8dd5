// What two sites are to each other: an epoch at a time, streams in both directions, a line to send
// on, and what is seen of the paths. The endpoint (endpoint.h) has these by peer and number.
//
//   packets in   -> on_data: QP number -> (qp, generation, channel) -> watch -> recv stream
//                -> on_control: control -> records -> streams
//   packets out  <- collect: line <- streams' outboxes, the link's envelopes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/core/counters.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/core/turn/activity.h"
#include "dataplane/port.h"
#include "dataplane/sdr/line/line.h"
#include "dataplane/sdr/line/path/path_watch.h"
#include "dataplane/sdr/link/control.h"
#include "dataplane/sdr/link/drain_desk.h"
#include "dataplane/sdr/link/link_rooms.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/sink.h"
#include "dataplane/sdr/source.h"
#include "dataplane/sdr/swap/swap_desk.h"
#include "dataplane/wan.h"
#include "offload/stage/stage.h"

namespace cw::sdr {

class Seat;
struct SeatCare;

/// Thread: the endpoint's worker.
class Link final : private LinkEvents, private BitStageClient {
 public:
  /// Errors: a stream config that contradicts itself, a policy that refuses to start.
  static Result<std::unique_ptr<Link>> make(const LinkOptions& options, const LinkRooms& rooms,
                                            Instant now);
  ~Link();
  /// One more QP, before the first turn. Errors: as make(); the link is then as it was.
  Result<void> add_qp(const QpOptions& qp, Instant now);

  // ---- for who uses it ----
  bool is_up() const { return control_.is_up(); }
  bool answers(Instant now) const { return control_.answers(now); }
  uint32_t epoch() const { return epoch_; }  ///< how many it has begun
  /// What is missing until it is up, for a person; empty when it is.
  std::string why() const { return control_.why(); }
  /// What the ends' files say differently, each going by its own; sentences.
  const std::vector<std::string>& differences() const { return control_.differences(); }
  /// Ends the epoch at once, and tells the peer; the link stays down.
  void leave(Instant now) { wake_(), control_.leave(now); }
  bool has_left() const { return control_.has_left() && line_.is_empty(); }
  /// Which it is of two links of its number, and whether the other one carries.
  void set_beside(LinkAge age, bool is_beside) { control_.set_beside(age, is_beside); }
  void set_mute(bool is_mute) { wake_(), control_.set_mute(is_mute); }
  /// Of links beside others; while it is up.
  bool peer_knows_shapes() const { return control_.peer_shape() != 0; }
  const Knocks& knocks() const { return control_.knocks(); }
  /// Asks the peer to send what it can by another site, or no longer; nothing else changes.
  void want_drain(bool is_wanted, Instant now) { wake_(), drain_.want(is_wanted, now); }
  /// The peer asks for it.
  bool is_drain_wanted() const { return drain_.is_wanted_there(); }
  /// False for a QP that is not configured, or not for this direction.
  Source source(uint16_t qp);
  Sink sink(uint16_t qp);
  uint16_t peer() const { return peer_; }      ///< the port's number for it
  uint16_t number() const { return number_; }  ///< among the links of the pair
  uint32_t payload_bytes() const { return payload_bytes_; }
  /// What the line carries; less, at times, than it is configured for.
  Rate rate() const { return line_.rate(); }
  /// What it may send by: nothing where it shares the pair's rate and its grant is over.
  Rate rate_in_force(Instant now) const { return line_.rate_in_force(now); }
  Duration backlog(Instant now) const { return line_.pacer().backlog(now); }  ///< at that rate
  /// The longest of the paths that data takes; zero before the first answer.
  Duration rtt() const;
  PathState path_state(uint16_t path, Instant now) const { return watch_.state(path, now); }
  /// Whether path p carries packets, and what is known of how it does while the link is up.
  const PathHealth& path_health() const { return control_.health(); }
  /// The share of what leaves by the path that does not arrive there, as the peer says.
  Share path_loss_there(uint16_t path, Instant now) const { return watch_.loss_there(path, now); }
  /// What it has said of that last, since the epoch began.
  const PathReport& path_report_there(uint16_t path) const { return watch_.report_there(path); }
  /// Whether more waits for a stream of the link than may do so for long: then a queue on the way
  /// is not drained at the cost of what would be dropped here.
  void set_pressed(bool is_pressed) {
    if (std::exchange(is_pressed_, is_pressed) == is_pressed) return;
    wake_();
    line_.on_pressure(is_pressed);
  }
  void set_rate(Rate rate) { wake_(), line_.set_rate(rate); }  ///< that it is configured for
  // Of two to one peer: who carries has the line, and pays for what `other` sends.
  void carry_alone();
  void carry_beside(Link& other, Instant now);
  /// From now on all of that; what is under way keeps its place. What is left is freed elsewhere.
  void change(LinkChange& change, Instant now);

  // ---- a change of policy (swap/swap_end.h) ----
  /// As SwapDesk::order(). Errors: besides, the link is down, or its peer cannot swap.
  Result<void> order_swap(uint16_t qp, std::optional<cw_role> role, const SwapPolicy& policy,
                          Instant now);
  const SwapDesk& swap_desk() const { return swaps_; }  ///< by what each end decides
  OutcomeDesk& outcomes() { return swaps_.outcomes(); }
  /// How the latest came out; null: not configured for this direction.
  const SwapEnd* swap(uint16_t qp, cw_role role) const { return swaps_.find(qp, role); }

  // ---- for the endpoint ----
  /// What packets that lend memory of the link name it by.
  LinkKey key() const { return key_of(peer_, number_); }
  /// Called when something happens that its timers do not know of; `care`: policies are wanted.
  void set_wake(Activity::Wake wake, Activity::Wake care);
  /// Adds those seats that want something of other threads, as far as there is room; false: there
  /// was not enough.
  bool try_ask(std::vector<SeatCare>& cares, Instant now) const;
  /// Seats have been given what they lacked.
  void on_care(Instant now);
  /// A write.
  void on_data(const Arrival& arrival, Instant now);
  void on_control(const ControlArrival& arrival, Instant now);
  void flush_arrivals(Instant now);  ///< after the last packet of a burst
  /// Due timers, lost transmissions, envelopes. Returns whether anything was due.
  bool on_time(Instant now);
  size_t collect(std::span<Send> out, LeavingRows& rows, Instant now);
  Instant next_wakeup() const;
  void rebase(Duration shift, Instant now);

  // ---- behind the doors, null as above: who reaches there has the link look at it next turn ----
  void wake() const { wake_(); }
  SendStream* send_stream(uint16_t qp);
  RecvStream* recv_stream(uint16_t qp);
  const LinkControl& control() const { return control_; }

 private:
  struct Qp {
    StreamConfig config;
    std::vector<PolicyChoice> policies;  // that it may have, as configured; the first is wished
    std::unique_ptr<SendStream> send;
    std::unique_ptr<RecvStream> recv;
  };
  /// What one QP number of ours stands for.
  struct Target {
    RecvStream* recv = nullptr;  // null: not for this direction
    uint16_t qp_index = 0;
    uint16_t channel = 0;
    uint16_t path = 0;  // where the port sees none
    uint8_t generation = 0;
    uint16_t row = 0;  // in which the peer numbers what it sends here, by path
  };
  uint16_t paths_told_apart() const { return sees_psns_ ? 1 : watch_.paths(); }
  static constexpr size_t envelopes_per_turn = 8;
  static constexpr uint32_t weight_max = 1000;

  Link(const LinkOptions& options, const LinkRooms& rooms, Instant now);
  Result<void> check_qp(const QpOptions& qp) const;
  Result<void> set_placer(RecvStream& stream);
  void add_targets(const Qp& made);
  Result<std::unique_ptr<Seat>> make_seat(const PolicyChoice& policy, const StreamConfig& stream,
                                          cw_role role, Instant now) const;
  static std::vector<PolicyChoice> choices_of(const Qp& qp);
  /// For the texts of a prepare; zero: nothing can be ordered.
  size_t swap_room() const;
  template <class Do>
  void each_seat(const Do& act) const;

  // BitStageClient
  bool on_bits(uint16_t qp_index, std::span<const cw_bits_event> events) override;
  void on_quiet(uint16_t) override { wake_(); }

  // LinkEvents
  void on_epoch(Instant now) override;
  bool try_open_queues(std::vector<StreamAddress>& addresses) override;
  bool try_connect_queues(std::span<const StreamAddress> addresses, uint16_t paths) override;
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
  void on_record(const Draining& record, Instant now) override;
  SwapDesk& swaps() override { return swaps_; }
  void on_swap(Instant now) override;
  void on_rtt(uint16_t path, Duration sample, Instant now) override;
  void on_paths(uint32_t up, Instant now) override;
  std::vector<PolicyOffer> offers(size_t stream, bool has_wish) const override;
  std::string on_offers(std::span<const std::vector<PolicyOffer>> theirs, Instant now) override;
  bool has_policies() const override;

  StreamAddress make_address(size_t qp, std::span<const uint32_t>& numbers);
  void watch(const SlotWrite& slot, const ImmediateSplit::Parts& parts, const Target& target,
             uint16_t path, Instant now);
  bool tell_lost(Instant now);
  void tell_link(Instant now);
  cw_fact_link link_fact(std::span<cw_path_facts> facts, bool is_source, Instant now) const;
  Instant own_due() const;
  bool run_streams(Instant now);
  void try_rest();
  Instant offer_due() const;
  bool has_offer(Instant now) const { return offer_due() <= now; }
  void write_envelopes(Instant now);
  bool try_write_envelope(Instant now);
  bool fill_envelope(EnvelopeKind kind, EnvelopeWriter& writer, Instant now);
  uint16_t choose_path(std::optional<uint16_t> wanted);
  bool offer_notes(EnvelopeWriter& writer, Qp& qp);
  bool offer_path_reports(EnvelopeWriter& writer, Instant now);

  WanPort& port_;
  bool sees_psns_;
  PacketStock& stock_;
  CodeDesk& desk_;
  BitStage* stage_;
  uint16_t peer_, number_;
  Counters& counters_;
  Drops& drops_;
  RandomSource random_;
  PolicyChoice fallback_;
  PolicyQuota quota_;
  std::vector<StreamConfig> stream_configs_;
  LazyMemory tables_;  // of line and streams: what they have no use for at rest
  Line line_;
  PathWatch watch_;
  std::vector<Qp> qps_;  // ends before the line that its streams send on
  SwapDesk swaps_;
  LinkControl control_;
  DrainDesk drain_;
  uint32_t payload_bytes_;
  uint32_t qpn_base_ = 0;
  uint32_t epoch_ = 0;
  std::vector<Target> targets_;  // by QP number - qpn_base_
  Instant link_told_;
  Instant reports_due_ = Instant::never();
  uint16_t reported_paths_ = 0;  // of this round: one envelope need not hold all
  Activity::Wake wake_, care_;
  bool is_pressed_ = false;
  bool has_arrivals_ = false, has_arrivals_since_report_ = false;
  bool is_used_ = false;  // its tables, since they were last given back
};

}  // namespace cw::sdr
