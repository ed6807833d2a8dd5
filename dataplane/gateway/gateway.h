// The LAN side of a gateway: the station behind the LAN port. What hosts send goes into the streams
// of the peer that is nearer to its target; what peers send comes out of their streams to the LAN.
//
//   LAN port -> Ingress -> SendLane (one per peer and class) -> sdr::Source -> ... -> WAN
//   LAN port <- Release <- Inbound  (one per peer and class) <- sdr::Sink <- ... <- WAN
//
// The gateway never answers for a host, save that it says why a packet can go no further (ICMP): so
// whatever a host believes delivered has been delivered by another host's own word.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/result.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/turn/activity.h"
#include "dataplane/core/turn/station.h"
#include "dataplane/gateway/ingress/icmp.h"
#include "dataplane/gateway/ingress/ingress.h"
#include "dataplane/gateway/options.h"
#include "dataplane/gateway/order/release.h"
#include "dataplane/gateway/to_lan/inbound.h"
#include "dataplane/gateway/to_lan/inbound_stock.h"
#include "dataplane/gateway/to_wan/send_lane.h"
#include "dataplane/sdr/endpoint.h"

namespace cw::gateway {

/// What one class exchanges with one peer, now and since start.
struct LaneView {
  uint16_t peer = 0;                  ///< the number of its link at the WAN port
  uint16_t class_index = 0;           ///< in GatewayOptions::classes
  bool is_open = false;               ///< an epoch is in force
  std::string policy_out, policy_in;  ///< who decides about what is sent, and what is received
  uint64_t sent = 0;                  ///< frames given to the stream, whole
  uint64_t lost = 0;                  ///< frames whose slot the end of an epoch overtook
  uint64_t waiting = 0;               ///< frames that have no whole slot yet
  uint64_t waiting_bytes = 0, queue_bytes_max = 0;
  InboundAccounts inbound;
  sdr::SentSlots sent_slots;
  sdr::HeardSlots heard_slots;
  HoleTimes holds;  ///< frames from there that waited for others

  /// Of the same class over another link: what it counts, and open where both are.
  void add(const LaneView& other);
};

/// What of a gateway's options can be others while it runs, made where allocating costs nobody a
/// turn.
class GatewayChange {
 public:
  /// Errors: those of Ingress. The classes are the gateway's, in its order, as are its peers.
  static Result<GatewayChange> make(const GatewayOptions& options);

 private:
  friend class Gateway;
  explicit GatewayChange(Ingress ingress) : ingress_(std::move(ingress)) {}

  Ingress ingress_;
  std::vector<ClassOptions> classes_;
  Rate release_rate_;  // zero: as it is
  Duration lan_queue_;
};

/// Thread: one worker, whose first side it is, so that what a turn has taken leaves in that turn.
class Gateway final : public Station {
 public:
  /// Every link of the options' peers must be one of `wan`, with one QP per class. All of them
  /// outlive the gateway. Errors: those of the parts; a link or QP that does not exist.
  static Result<std::unique_ptr<Gateway>> make(const GatewayOptions& options, Port& lan,
                                               sdr::Endpoint& wan, Counters& counters, Drops& drops,
                                               Instant now);
  ~Gateway() override;

  void on_gap(Duration gap, Instant now) override;
  void on_rx(std::span<Packet* const> packets, Instant now) override;
  bool on_time(Instant now) override;
  size_t collect(std::span<Packet*> out, Instant now) override;
  Instant next_wakeup() const override;

  /// Between two turns: matches and order of classes, routes, and what is said of the LAN. What
  /// waits stays where it is; what comes is looked at anew. `change` is left with what there was,
  /// to be freed elsewhere. Allocates nothing.
  void exchange(GatewayChange& change);
  /// The same of weight, mark, queue, hold and block_age of a peer's classes, what waits included;
  /// `link` as the gateway's peers have them in a row. Cost: some words for each class.
  void change_link(const GatewayChange& change, size_t link);

  // ---- in the place of another (gateway_pair.h) ----
  /// As Ingress has it.
  std::optional<uint16_t> peer_of(const Packet& packet) const {
    return ingress_.peer_of({packet.data, packet.bytes});
  }
  /// What hosts send, or what peers do, goes behind what the other has of the same peer.
  void hold_back_out(Instant now);
  void hold_back_in();
  void let_go_out();
  void let_in();
  /// Nothing new comes from the hosts.
  void finish(Instant now);
  /// Lets go of what nothing of `before` is ahead of any more, which has the same peers and links,
  /// in the same order. What comes of it later in turn is late. `is_first`: hosts send here, but to
  /// `others`.
  void let_go_behind(Gateway& before, bool is_first, const std::vector<bool>& others, Instant now);
  /// Something is.
  bool has_held_back() const;
  /// This one carries, but to `others`.
  void share_lines(Gateway& other, const std::vector<bool>& others, Instant now);
  /// To each peer of which all is settled, that others are used from here on, by DRAINING; not to
  /// `others`, by their links' numbers. To all if the site `drains`.
  void say_gone_over(const std::vector<bool>& others, bool drains, Instant now);

  /// Whether everything taken from the LAN is settled and everything from the WAN has left.
  bool is_drained() const;
  /// The same of one, as the gateway's peers have them in a row.
  bool is_drained(size_t link) const;
  size_t lane_count() const { return lanes_.size(); }
  LaneView view(size_t lane) const;
  const Groups& groups() const { return ingress_.groups(); }

 private:
  struct Lane {
    sdr::Link* link = nullptr;
    sdr::Source source;
    sdr::Sink sink;
    uint16_t class_index = 0;
    uint32_t weight = 1;
    bool is_open = false;   // restarted for the epoch in force
    bool has_sent = false;  // something in this turn
    uint32_t resets = 0;    // of the sink, as far as they were followed
    Duration hold;
    Instant held_back_since = Instant::never();  // what hosts send; never: it is not
    std::unique_ptr<SendLane> out;
    std::unique_ptr<Inbound> in;
  };
  /// Of a row, while another gateway has its like.
  struct Handover {
    uint64_t seen = 0;  // frames from the peer, and when the latest came
    Instant seen_at;
    bool has_said_over = false;  // to the peer: the other has its place
  };
  static constexpr Duration refresh_interval = Duration::from_ms(5);
  static constexpr size_t replies_max = 64;
  /// A packet from the LAN that may cross.
  struct Offer {
    std::span<uint8_t> packet;
    Admitted how;
  };

  Gateway(const GatewayOptions& options, Ingress ingress, std::unique_ptr<InboundStock> stock,
          Port& lan, const sdr::Endpoint& wan, Counters& counters, Drops& drops);
  Result<void> add_row(const std::vector<ClassOptions>& classes, sdr::Link& link);
  Result<void> add_lane(const ClassOptions& options, uint16_t class_index, sdr::Link& link);
  Lane& lane_of(const Admitted& admitted);
  void hold_back_in(size_t row);
  bool is_sent(size_t row) const;
  bool is_settled(size_t row) const;
  bool has_gone_over(size_t row, const Gateway& before, Instant now);
  bool says_gone_over(size_t row, const Gateway& before) const;
  void share_line(size_t row, Gateway& before, bool carries, Instant now);
  bool try_let_in(size_t row, const Gateway& before, Instant now);
  bool try_let_out(size_t row, bool is_sent, Instant now);
  bool is_through(size_t row) const;
  void follow_links();
  bool turn_lane(Lane& lane, Instant now);
  void refresh_row(size_t row);
  bool may_sleep(size_t row) const;
  Instant next_due(const Lane& lane) const;
  size_t row_count() const { return handovers_.size(); }
  std::span<Lane> row(size_t index) {
    return std::span(lanes_).subspan(index * class_count_, class_count_);
  }
  std::span<const Lane> row(size_t index) const {
    return std::span(lanes_).subspan(index * class_count_, class_count_);
  }
  void take(std::span<Packet* const> packets, Instant now);
  std::span<Offer> admit(std::span<Packet* const> packets, Instant now);
  size_t offer_row(std::span<const Offer> row, Instant now);
  void offer_to_group(std::span<const Offer> row, Instant now);
  void refuse(DropReason reason, std::span<const uint8_t> packet, Instant now);
  void follow_epoch(Lane& lane, Instant now);
  Rate share_of(const Lane& lane) const;

  Ingress ingress_;
  IcmpErrors icmp_;
  std::unique_ptr<InboundStock> stock_;
  QueueMemory queue_memory_;
  Release release_;
  Port& lan_;
  const sdr::Endpoint& wan_;
  Counters& counters_;
  Drops& drops_;
  uint32_t lan_mtu_;
  size_t class_count_;
  std::vector<Lane> lanes_;            // by link, then class: a row of lanes for each link
  std::vector<Handover> handovers_;    // by row
  std::vector<uint16_t> row_of_peer_;  // by its number at the WAN port
  Activity rows_;
  MemberSet rows_awake_;  // in the turn before
  std::array<Offer, limits::burst_packets_max> offers_;
  Ring<Packet*> replies_;  // of ours, to hosts
  Instant refresh_due_;
};

}  // namespace cw::gateway
