// A gateway, made from a plan: its shards, one for each core, what they share of each pair's rate,
// and what other threads may ask of all of them together.
//
//   PairGrants <-- grants in cache lines --> SiteShard 0: its queues, links, rooms, worker
//   (a thread)                               SiteShard 1 ...
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site/care/care_bell.h"
#include "control/gateway/site/care/registry_finder.h"
#include "control/gateway/site/live/live_change.h"
#include "control/gateway/site/live/steering.h"
#include "control/gateway/site/pair_grants.h"
#include "control/gateway/site/relink/relink.h"
#include "control/gateway/site/seal/site_keys.h"
#include "control/gateway/site/site_shard.h"
#include "control/gateway/site/site_state.h"
#include "dataplane/base/result.h"
#include "dataplane/core/turn/clock.h"

namespace cw::site {

/// One shard's ends of the two networks.
struct ShardPorts {
  std::unique_ptr<Port> lan, wan;
};

/// What a site stands on where that is no machine: a simulation's ports, time and chance.
struct SiteGround {
  /// Of each core of the plan, called once, on the thread that builds the shard.
  std::function<ShardPorts(size_t shard)> ports;
  Instant now;
  sdr::RandomSource random;           ///< lives longer than the site
  std::optional<MachineClock> clock;  ///< where time is the machine's: then `now` is a reading
};

class Site {
 public:
  /// Called once all is open that takes rights, with the plan that the site goes by; before an RNIC
  /// is. Errors are make()'s.
  using Settle = std::function<Result<void>(const Plan& plan)>;

  /// Opens the ports, sets addresses and routes, and makes everything that a turn needs. Errors:
  /// one sentence that names the key to change; nothing is left behind then.
  static Result<std::unique_ptr<Site>> make(Plan plan, const Settle& settle = nullptr);
  /// The same between ports that are there already; run() is for such a site if it has a clock.
  static Result<std::unique_ptr<Site>> make(Plan plan, const SiteGround& ground);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  const Plan& plan() const { return plan_; }
  size_t shards() const { return shards_.size(); }
  /// The device's name, which the kernel may have chosen.
  std::string lan_device() const { return shards_.front()->lan().device(); }
  std::string wan_device() const { return shards_.front()->wan().device(plan_); }
  /// How DPDK was started; nothing: no port is over it.
  std::optional<EalChoice> eal() const;

  /// Turns one shard until `stop` is set. Thread: this becomes its worker's, bound to its core.
  void run(size_t shard, const std::atomic<bool>& stop) { shards_[shard]->run(*clock_, stop); }
  bool needs_granting() const { return has_grants_; }  ///< by a thread that divides what they share
  void run_grants(const std::atomic<bool>& stop);
  /// Keys of peers: turned by run_keys(), on a thread of its own, or before a turn that has them.
  SiteKeys& keys() { return keys_; }
  void run_keys(const std::atomic<bool>& stop);

  /// Or turned by whoever calls, whose time need not be the clock's; `now` never goes back.
  bool turn(Instant now);
  /// The same in parts, in any order: a shard, or what all of them share.
  bool turn_shard(size_t shard, Instant now) { return shards_[shard]->turn(now); }
  void turn_grants(Instant now);
  /// When he must if nothing comes; and that he lets time pass on purpose, which is no pause.
  Instant next_wakeup() const;
  void sleeps_until(Instant wake);
  /// How the site is, between two turns of his.
  SiteState state(Instant now);
  /// As below, between two turns of his, which also make what is wanted.
  void want_policies(const std::vector<WantedPolicy>& wanted, Instant now);
  uint32_t order_swap(SwapOrder order, Instant now);
  void pursue_swaps(Instant now);
  std::vector<RouteMove> steer(const SiteState& state);
  void want_drain(bool is_wanted, Instant now);
  size_t release_policies();
  void apply(Plan& next, Instant now);
  Result<void> begin_relink(Plan next, Instant now);
  Relink::Step pursue_relink(const SiteState& state, Instant now);

  // While other threads are in run(), or turn. They wait for each shard's next turn, and no longer
  // than `patience`, since a policy may stand in a fact forever. Thread: one.
  /// Nothing when one of them has no turn: then `silent_shard()` is its number.
  std::optional<SiteState> state(Duration patience);
  size_t silent_shard() const { return silent_; }
  /// The name of the policy in whose call that shard's worker stands, which is barred from here on;
  /// empty: it stands in none.
  std::string bar_silent_policy();
  /// Destroys the policies that are over and makes those that a link may need next. They take long,
  /// so this thread does it, and workers only take part between two turns. Once in a while, or a
  /// link that has begun several epochs waits with the next.
  void care_for_policies(Duration patience);
  /// Readable from when a shard in run() has something for it to do until it is called; -1 where
  /// there are no descriptors left. The site's.
  int wants_care_fd() const { return bell_.fd(); }
  /// From now on each class that is named is to send by this policy, over every link: those that
  /// run it already are left alone. Made by care_for_policies(), told by state().swaps. False: a
  /// shard had no turn; it takes it in its next.
  bool want_policies(const std::vector<WantedPolicy>& wanted, Duration patience);
  /// The same for one class, at run time: what want_policies() said of it is over, and what this
  /// says is when that is called again. Returns the order's number, which it is given here: what
  /// becomes of it is told by those of state().swaps that have it, one for each link and direction,
  /// in the next state that there is. A peer or class that the site has not leaves none.
  uint32_t order_swap(SwapOrder order, Duration patience);
  /// A file of a policy, as it is now: from here on its name, which is given back, finds it.
  /// Errors: those of a file that is no plugin.
  Result<std::string> load_policy(const std::string& file);
  /// The file that was loaded last for this name, which nobody has found meanwhile.
  void unload_policy(std::string_view name);
  /// The newest of that name; null: there is none.
  const cw_policy_ops* newest_policy(std::string_view name);
  /// Policies, with their parameters, that exceeded their quotas here, and that no swap brings
  /// again until they are forgiven; nor is one begun with where the plan has a folder for that.
  const std::vector<Bar>& bars() const { return finder_.bars().all(); }
  /// How many had that name ("hybrid/1") and those parameters ("k=32 m=4").
  size_t forgive(std::string_view policy, std::string_view params) {
    return finder_.bars().forgive(policy, params);
  }
  /// Why the next life will not know of the latest of these; empty: it will, or is not to.
  const std::string& bars_trouble() const { return finder_.bars().trouble(); }
  /// Unmaps the files that newer ones of their policy have replaced, if no link goes by them and
  /// none is at a swap; returns how many. care_for_policies() does it when there are any.
  size_t release_policies(Duration patience);
  /// Once in a while, as long as one of state().swaps waits.
  void pursue_swaps(Duration patience);
  /// What live keys of a plan of the same classes want, and there is no room for. Nothing: and its
  /// peers are in the places that they have here.
  std::vector<Beyond> beyond(Plan& next) const;
  /// Live keys, and who the peers are, is as `next` says from now on, in plan() too; all else of it
  /// must be as it is, and beyond() have found nothing. Errors: a shard had no turn, which takes it
  /// back as soon as it has one; addresses that the WAN port cannot have. Then all is as before.
  /// Cost: slow.
  Result<void> apply(Plan& next, Duration patience);
  /// What a plan of other geometry has that links beside those in force cannot have. Nothing: and
  /// its peers are in the places that they have here.
  std::vector<Beyond> misfits(Plan& next) const;
  /// Links and all behind them by another plan, beside those in force, whose place they take once
  /// that costs no peer anything: then plan() is this one. misfits() have found nothing, and there
  /// is no such plan yet. Errors: those of make(), or a shard had no turn; then all is as before.
  /// Cost: slow.
  Result<void> begin_relink(Plan next, Duration patience);
  /// Does what is to be done about that as of `state`. Once in a while, as long as there are any.
  Relink::Step pursue_relink(const SiteState& state, Duration patience);
  /// Those that have not taken the place of others go, over the next of these.
  void cancel_relink() { relink_.cancel(); }
  /// Those beside carry again, if they differ from those that do in what both ends must have alike:
  /// else they would be taken for each other, and there is no need.
  bool try_turn_relink();
  const Relink& relink() const { return relink_; }
  const Plan* plan_beside() const { return beside_ ? &beside_->plan : nullptr; }  ///< null: none
  /// Routes that several peers have go by the one that is fittest as of `state`, and tells which
  /// went by another one before. Once in a while. A shard that had no turn is asked again then.
  std::vector<RouteMove> steer(const SiteState& state, Duration patience);
  /// Asks all peers to send what they can by another site, now and when links come up, or no
  /// longer. What still comes is carried as before. False: there was no turn; ask again.
  bool want_drain(bool is_wanted, Duration patience);
  std::vector<StreamRow> streams(Duration patience);  ///< of shards with a turn, by peer and link
  /// On one link of those that carry, between two turns. False: no such, or there was no turn.
  bool with_link(uint16_t peer, uint16_t link, const LinkAct& act, Duration patience);
  /// Begins to show what crosses, one place for each shard. One that has no turn begins with its
  /// next. Nobody else may capture until end_capture().
  std::vector<std::shared_ptr<ShardCapture>> begin_capture(const CaptureFilter& filter,
                                                           Duration patience);
  void end_capture(Duration patience);
  /// Takes no more packets from the hosts. False: there was no turn; from the next one on.
  bool stop_taking(Duration patience);
  /// Ends all links and tells the peers, over the next few turns. False: as above.
  bool leave(Duration patience);
  /// An idle worker looks for packets now and then, since not all ports can wake it.
  bool sleeps_in_steps() const { return shards_.front()->sleeps_in_steps(); }
  void wake();

 private:
  /// Lets a shard act between two of its turns, or says that it had none.
  using Between = std::function<bool(SiteShard&, const std::function<void(Instant)>&)>;
  /// A second set of links' own.
  struct Beside {
    explicit Beside(Plan it) : plan(std::move(it)) {}
    Plan plan;
    std::deque<PairGrants> grants;
    bool has_carried = false;  // and resends what was lost
    std::vector<bool> others;  // peers that go by these, as far as shards have been told
    bool are_all_told = true;  // shards of that
  };

  explicit Site(Plan plan);
  Result<void> begin_eal() const;
  Result<void> add_shards(const std::function<Result<void>(size_t number)>& add);
  Result<void> open_shard(size_t number, const Settle& settle, LanPort& lan, WanPort& wan);
  Result<void> open_lan(size_t number, const SiteShard* first, LanPort& lan);
  Result<void> check_room(const Port& wan) const;
  Result<void> add_shard(LanPort lan, WanPort wan, Instant now, const sdr::RandomSource& random);
  void add_grants();
  void turn_both(Instant now);
  void take_bars(Plan& plan);
  Result<void> build_shards(const std::function<Result<void>(size_t number)>& build) const;
  static Between between(Duration patience);
  static Between between(Instant now);
  Result<void> begin_relink(Plan next, Instant now, const Between& between);
  Relink::Step pursue_relink(const SiteState& state, const Between& between);
  size_t join(std::vector<std::unique_ptr<Rooms>>& rooms, const Between& between);
  bool try_move(const Between& between);
  bool try_part(const Between& between);
  void tell_others(const Between& between);
  bool on_shards(const Between& between, const std::function<void(SiteShard&, Instant)>& act);
  void exchange_plans();
  void take_live(const Plan& next);
  void keep_standings(Plan& next) const;
  void set_standings(const std::vector<gateway::Standing>& standings);
  std::vector<RouteMove> take(const std::vector<gateway::Standing>& standings,
                              const std::function<bool()>& exchange);

  Plan plan_;
  LiveBounds bounds_;
  RegistryFinder finder_;
  Steering steering_;
  CareBell bell_;
  std::optional<MachineClock> clock_;  // none: somebody else's time
  std::mutex grants_mutex_;            // of which there are; no worker ever waits for it
  std::deque<PairGrants> grants_;      // by peer, where there are several links to each
  bool has_grants_ = false;            // for the site's life
  Instant grants_due_;
  std::unique_ptr<Beside> beside_;  // null: most of the time
  Relink relink_;
  SiteKeys keys_;  // outlives shards: they ring its bell
  std::vector<std::unique_ptr<SiteShard>> shards_;
  bool is_drain_wanted_ = false;
  size_t silent_ = 0;
  bool are_rules_stale_ = false;  // of some shard
  uint32_t orders_ = 0;           // of swaps, so far
};

}  // namespace cw::site
