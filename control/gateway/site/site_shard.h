// What one core of a site turns: its queues of the ports, the rooms between them and their worker,
// made from a plan; and what other threads may ask of it.
//
//            hosts <-> LanPort <-> Gateway <-> Endpoint <-> (ImpairedPort) <-> WanPort <-> peers
//                      '--------------------- turned by one worker -----------------------'
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site/capture/shard_capture.h"
#include "control/gateway/site/care/care_bell.h"
#include "control/gateway/site/live/live_change.h"
#include "control/gateway/site/pair_grants.h"
#include "control/gateway/site/ports/lan_port.h"
#include "control/gateway/site/ports/wan_port.h"
#include "control/gateway/site/relink/rooms.h"
#include "control/gateway/site/seal/site_keys.h"
#include "control/gateway/site/site_state.h"
#include "control/gateway/site/swaps/shard_swaps.h"
#include "control/gateway/site/valve.h"
#include "dataplane/base/result.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/core/turn/idle.h"
#include "dataplane/gateway/gateway.h"
#include "dataplane/gateway/gateway_pair.h"
#include "dataplane/port/impair/impaired_port.h"
#include "dataplane/sdr/seat/care/policy_call.h"
#include "dataplane/sdr/shard.h"

namespace cw::site {

using LinkAct = std::function<void(sdr::Link&, Instant)>;

class SiteShard {
 public:
  /// Between ports that are there already. `plan` and `grants`, one for each peer where links share
  /// a rate, outlive the shard, as does what `random` draws from; `heard_fd` is the keyring's.
  /// Errors: one sentence.
  static Result<std::unique_ptr<SiteShard>> make(const Plan& plan, size_t number, LanPort lan,
                                                 WanPort wan, std::deque<PairGrants>& grants,
                                                 int heard_fd, Instant now,
                                                 const sdr::RandomSource& random);
  SiteShard(const SiteShard&) = delete;
  SiteShard& operator=(const SiteShard&) = delete;

  const LanPort& lan() const { return lan_; }
  const WanPort& wan() const { return wan_; }

  /// Binds this thread to it; one that the process may not use is no reason to carry nothing.
  static void take_core(std::optional<uint32_t> core);
  /// Turns until `stop` is set. Thread: this becomes the worker's, bound to the plan's core.
  void run(const MachineClock& clock, const std::atomic<bool>& stop);
  /// The policy that the worker is calling now; null: none. Thread: whoever has them destroyed.
  const sdr::PolicyInstance* policy_in_call() const;
  /// Or turned by whoever calls.
  bool turn(Instant now) { return sdr_->turn(now); }
  Instant next_wakeup() const { return sdr_->worker().next_wakeup(); }
  void sleeps_until(Instant wake) { sdr_->worker().sleeps_until(wake); }
  /// Null: what crosses is not sealed.
  seal::Sealer* sealer() { return sealer_ ? &*sealer_ : nullptr; }
  /// Between two turns.
  SiteState state(Instant now);
  void want_policies(std::span<const WantedPolicy> wanted, Instant now) {
    rooms_.swaps->want(wanted, now);
  }
  void order_swap(const SwapOrder& order, Instant now) {
    rooms_.swaps->order(order, links_to(order.peer), now);
  }
  void pursue_swaps(Instant now) { rooms_.swaps->pursue(now); }
  void want_drain(bool is_wanted, Instant now);
  void exchange_rules(gateway::GatewayChange& rules) { rooms_.gateway->exchange(rules); }
  void take(ShardChange& change, Instant now);
  bool try_list(std::vector<const cw_policy_ops*>& tables) const {
    return rooms_.swaps->try_list(tables) && (!beside_ || beside_->swaps->try_list(tables));
  }
  /// Where turn() finds what swaps name, and what run() rings when care_for_policies() has
  /// something to do. Both outlive the shard.
  void set_care(sdr::PolicyFinder& finder, CareBell& bell) {
    sdr_->endpoint().set_finder(finder);
    bell_ = &bell;
  }

  // Links in the place of others (relink/relink.h).
  /// By another plan of the same ports, places and links to each; turned once they have joined.
  /// Thread: any, one at a time. Errors: as make().
  Result<std::unique_ptr<Rooms>> make_beside(const Plan& plan, std::deque<PairGrants>& grants,
                                             sdr::PolicyFinder& finder, Instant now);
  /// Between two turns, as are the next five: `rooms` are beside those that take what hosts send,
  /// and `rooms` is who was, or nobody.
  void exchange_beside(std::unique_ptr<Rooms>& rooms);
  /// The ones beside take what hosts send, and those that did are beside; peers are asked to do
  /// likewise. A second time, and all is as it was.
  void move(bool is_drain_wanted, Instant now);
  /// Peers that go by those beside, by their links' numbers at the WAN port.
  std::vector<bool> numbers_of(const std::vector<bool>& places) const;
  void exchange_others(std::vector<bool>& numbers);
  /// Who is beside says goodbye.
  void leave_beside(Instant now);
  void give_up_newer(bool is_given_up, bool is_drain_wanted, Instant now);
  /// The worker calls it before patience ends, or never; false: that.
  bool between_turns(const std::function<void(Instant)>& act, Duration patience) {
    return settle(patience) && ask_in_time(act, patience);
  }
  /// No policy of the rooms beside is with the thread that makes them.
  bool has_all_policies() const { return cares_ == nullptr; }
  bool has_beside() const { return beside_ != nullptr; }
  /// What carries and what is beside it.
  bool are_of_one_shape() const;

  // While another thread turns; as Site has them. Thread: one.
  std::optional<SiteState> state(Duration patience);
  void care_for_policies(sdr::PolicyFinder& finder, Duration patience);
  bool want_policies(std::vector<WantedPolicy> wanted, Duration patience);
  bool order_swap(const SwapOrder& order, Duration patience);
  void pursue_swaps(Duration patience);
  /// Between some turns, so that none has much of it; true: it is done. False: there was no turn,
  /// and `inverse` takes it back, in the next one at the latest. Both end where this thread is.
  bool change(const std::shared_ptr<ShardChange>& change, std::shared_ptr<ShardChange> inverse,
              Duration patience);
  /// In the next turn at the latest.
  void change_back(std::shared_ptr<ShardChange> inverse);
  /// Of a plan like this one's.
  Result<ShardChange> change_of(const Plan& plan) const {
    return shard_change_of(plan, plan_, number_, lan_.port->facts().payload_max, wan_.udp);
  }
  /// Of a plan like this one's: which peers and classes take what the hosts send.
  Result<gateway::GatewayChange> rules_of(const Plan& plan) const;
  /// In the next turn; false: it is not asked for, since what was before has not been done yet.
  bool exchange_rules(std::shared_ptr<gateway::GatewayChange> rules, Duration patience);
  /// False: in the next turn, or as above.
  bool want_drain(bool is_wanted, Duration patience);
  bool try_list(std::vector<const cw_policy_ops*>& tables, Duration patience);
  /// Adds its streams; false: there was no turn.
  bool add_streams(std::vector<StreamRow>& rows, Duration patience);
  /// Shows the capture all that crosses, from its next turn on; null: nobody. It is kept until the
  /// worker knows that another took its place.
  bool set_capture(std::shared_ptr<ShardCapture> capture, Duration patience);
  std::shared_ptr<ShardCapture> make_capture(const CaptureFilter& filter) const {
    return std::make_shared<ShardCapture>(filter, links_here_);
  }
  /// One of those that carry; null: it is not this shard's. Between two turns.
  sdr::Link* find_link(uint16_t peer, uint16_t link) const;
  bool stop_taking(Duration patience);
  bool leave(Duration patience);
  bool sleeps_in_steps() const { return idle_->sleeps_in_steps(); }
  void wake() { idle_->wake_any_thread(); }

 private:
  SiteShard(const Plan& plan, size_t number, LanPort lan, WanPort wan);
  Result<void> add_links(const Plan& plan, std::deque<PairGrants>& grants, uint16_t first_number,
                         sdr::Endpoint& endpoint, Instant now);
  Result<void> add_rooms(const Plan& plan, sdr::Endpoint& endpoint, Rooms& rooms, Instant now);
  Result<void> begin(std::deque<PairGrants>& grants, int heard_fd, Instant now,
                     const sdr::RandomSource& random);
  void set_mute();
  void tell_links();
  BesideState beside_state(Instant now) const;
  static bool is_quiet(const BesideState& beside);
  static bool has_moved_there(const PeerView& view, const BesideState& beside);
  AnyWanPort wan_queue() { return impaired_ ? AnyWanPort(*impaired_) : wan_.any(); }
  /// Lets the worker call `change` between two turns, and waits for that. False: it will, but has
  /// not yet.
  bool ask(std::function<void(Instant)> change, Duration patience);
  /// Waits until all that was asked has been done.
  bool settle(Duration patience);
  void take_rules(ShardChange& change);
  void take_links(ShardChange& change, size_t first, size_t count, Instant now);
  /// The worker calls it before patience ends, or never.
  bool ask_in_time(const std::function<void(Instant)>& act, Duration patience);
  bool post_capture(Duration patience);
  void fill(SiteState& state, Instant now);
  PeerView view_of(const sdr::Link& link, Instant now) const;
  void add_sent_by(std::vector<SentBy>& all) const;
  /// The plan's number of the peer that a number at the WAN port belongs to.
  uint16_t peer_of(uint16_t number) const { return static_cast<uint16_t>(number / links_here_); }

  /// By their order; none: to all.
  std::vector<size_t> links_to(std::optional<uint16_t> peer) const;
  bool tell_wishes(Duration patience);
  void call_for_care();

  /// Lives until the worker has called it.
  struct Question {
    std::function<void(Instant)> change;
    Mailbox::Ticket ticket = 0;
  };

  const Plan& plan_;
  size_t number_, links_here_;  // of each peer
  LanPort lan_;
  Valve valve_;  // before lan_
  WanPort wan_;
  std::optional<ImpairedPort> impaired_;
  Rooms rooms_;
  std::unique_ptr<Rooms> beside_;  // null: most of the time
  bool has_moved_ = false;         // to rooms_, from those beside
  bool has_given_up_ = false;      // the newer of both
  uint64_t out_before_ = 0;        // frames that rooms which are gone have let out
  std::optional<gateway::GatewayPair> gateways_;
  std::optional<seal::Sealer> sealer_;               // nothing: what crosses is not sealed
  std::optional<sdr::Shard> sdr_;                    // goes first: its worker gives packets back
  std::optional<std::vector<WantedPolicy>> wanted_;  // not asked for yet
  std::vector<SwapOrder> orders_;                    // likewise, of what came after
  std::optional<IdleWait> idle_;
  std::atomic<const sdr::PolicyCallPlace*> call_ = nullptr;  // the worker's, while it runs
  CareBell* bell_ = nullptr;
  bool has_called_ = false;                // the worker's: since the last care
  std::shared_ptr<ShardCapture> capture_;  // the worker's
  std::optional<std::shared_ptr<ShardCapture>> wanted_capture_;  // not asked for yet
  std::shared_ptr<std::vector<sdr::SeatCare>> cares_;            // asked for and not given back yet
  std::vector<std::unique_ptr<Question>> asked_;  // and not yet known to be done; the oldest first
};

}  // namespace cw::site
