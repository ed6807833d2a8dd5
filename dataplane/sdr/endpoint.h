// The SDR room as the worker sees it: the station behind a WAN port. It tells data from control,
// finds the link by peer and QP number, and lets every link have its turn at the port.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/core/counters.h"
#include "dataplane/core/turn/activity.h"
#include "dataplane/core/turn/station.h"
#include "dataplane/sdr/link/link.h"
#include "dataplane/sdr/seat/care/seat_care.h"
#include "dataplane/sdr/seat/code/code_desk.h"
#include "dataplane/sdr/stream/send/store/packet_stock.h"
#include "offload/stage/stage.h"

namespace cw::sdr {

/// Thread: one worker. Nothing allocates in a turn, except when a link's epoch begins. Tables of a
/// link at rest go back to the kernel, and come page by page when it wakes.
class Endpoint final : public WanStation {
 public:
  /// `port` and the counters outlive the endpoint.
  Endpoint(WanPort& port, Counters& counters, Drops& drops, const CodingOptions& coding = {});
  /// Before the first link, and only on a port that places payload, not sealed: who turns what it
  /// has placed into bits. Without, the turn does.
  void set_stage(std::unique_ptr<BitStage> stage);
  /// Whether the port is one of those.
  bool has_stage() const;
  /// Waits for what its threads are coding.
  ~Endpoint() override { desk_.stop(); }

  /// Before the first turn. Errors: one too many, a second of its number to this peer, and as
  /// Link::make().
  Result<Link*> add_link(const LinkOptions& options, Instant now);

  void on_gap(Duration gap, Instant now) override;
  size_t arrivals_max() const override;
  void on_arrivals(std::span<const Arrival> arrivals, Instant now) override;
  bool on_time(Instant now) override;
  size_t collect(std::span<Send> out, Instant now) override;
  void on_done(std::span<const uint64_t> cookies) override;
  Instant next_wakeup() const override;

  /// How much a packet seems to be for one of its links, before that has looked; 0: not at all.
  int claim(const Arrival& arrival) const;
  /// All its links have left, nothing of them is under way, and no packet of the port is here: from
  /// its last turn on it may end on any thread.
  bool has_left() const;

  std::span<const std::unique_ptr<Link>> links() const { return links_; }
  /// Which of them something has happened to, by their order.
  const Activity& activity() const { return activity_; }
  const CodeDesk& desk() const { return desk_; }
  const PacketStock& stock() const { return stock_; }
  /// Null: the port places nothing.
  const BitStage* stage() const { return stage_.get(); }

  // ---- policies, made and destroyed outside the turn ----
  /// Whether seats want something. Any thread may see to it: ask(), fulfil() of each, take(), the
  /// first and the last between two turns. Or care() does all of it at once. Cost of care(): slow.
  bool wants_care() const { return wants_care_.is_any_awake(); }
  /// Fills `cares` up to its capacity.
  void ask(std::vector<SeatCare>& cares, Instant now);
  void take(std::vector<SeatCare>& cares, Instant now);
  void care(Instant now);
  /// Where care() finds what swaps name; it outlives the endpoint. Without, nothing is found.
  void set_finder(PolicyFinder& finder) { finder_ = &finder; }

 private:
  Result<void> check_key(const LinkOptions& options) const;
  /// Null: no link of this peer has the number.
  Link* find(uint16_t peer, uint32_t number) const {
    const size_t key = peer * limits::link_numbers_max + number;
    return key < by_key_.size() ? by_key_[key] : nullptr;
  }
  Link* control_link(const Arrival& arrival) const;
  void on_arrival(const Arrival& arrival, Instant now);
  void settle_bits(Instant now);
  void tell_left();
  bool take_bits(Instant now);
  DropReason why_unwanted(const Arrival& arrival) const;

  WanPort& port_;
  Counters& counters_;
  Drops& drops_;
  CodeDesk desk_;
  PacketStock stock_;
  std::unique_ptr<BitStage> stage_;
  bool is_settled_ = false;  // in this turn
  uint32_t left_told_ = 0;   // of its partitions
  Activity activity_;        // of the links
  Activity wants_care_;      // of the same: whose seats want something
  ListedPolicies no_policies_;
  PolicyFinder* finder_ = &no_policies_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Link*> by_key_;  // LinkKey -> link
  size_t first_ = 0;           // who is asked first for packets
  LeavingRows leaving_;        // of the one that is
};

}  // namespace cw::sdr
