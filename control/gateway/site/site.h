// A gateway: its ports, rooms and worker, made from a plan, and what other threads may ask of it.
//
//            hosts <-> LanPort <-> Gateway <-> Endpoint <-> (ImpairedPort) <-> WanPort <-> peers
//                      '--------------------- turned by one worker -----------------------'
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site/lan_port.h"
#include "control/gateway/site/site_state.h"
#include "control/gateway/site/valve.h"
#include "control/gateway/site/wan_port.h"
#include "dataplane/base/result.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/core/turn/idle.h"
#include "dataplane/gateway/gateway.h"
#include "dataplane/port/impair/impaired_port.h"
#include "dataplane/sdr/shard.h"

namespace cw::site {

/// What a site stands on where that is no machine: a simulation's ports, time and chance.
struct SiteGround {
  std::unique_ptr<Port> lan, wan;
  Instant now;
  sdr::RandomSource random;  ///< lives longer than the site
};

class Site {
 public:
  /// Opens the ports, sets addresses and routes, and makes everything that a turn needs. Errors:
  /// one sentence that names the key to change; nothing is left behind then.
  static Result<std::unique_ptr<Site>> make(Plan plan);
  /// The same between ports that are there already; run() is not for such a site.
  static Result<std::unique_ptr<Site>> make(Plan plan, SiteGround ground);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  const Plan& plan() const { return plan_; }
  /// The device's name, which the kernel may have chosen.
  std::string lan_device() const { return lan_.device(); }
  std::string wan_device() const { return wan_.device(plan_); }
  /// How DPDK was started; nothing: no port is over it.
  std::optional<EalChoice> eal() const;

  /// Turns until `stop` is set. Thread: this becomes the worker's, bound to the plan's core.
  void run(const std::atomic<bool>& stop);
  /// Or turned by whoever calls, whose time need not be the clock's; `now` never goes back.
  bool turn(Instant now) { return sdr_->turn(now); }
  /// When he must if nothing comes; and that he lets time pass on purpose, which is no pause.
  Instant next_wakeup() const { return sdr_->worker().next_wakeup(); }
  void sleeps_until(Instant wake) { sdr_->worker().sleeps_until(wake); }
  /// How the site is, between two turns of his.
  SiteState state(Instant now);

  // While another thread is in run(), or turns. They wait for its next turn, and no longer than
  // `patience`, since a policy may stand in a fact forever. Thread: one.
  /// Nothing when there was no turn.
  std::optional<SiteState> state(Duration patience);
  /// Destroys the policies that are over and makes those that a link may need next. They take long,
  /// so this thread does it, and the worker only takes part between two turns. Once in a while, or
  /// a link that has begun several epochs waits with the next.
  void care_for_policies(Duration patience);
  /// Takes no more packets from the hosts. False: there was no turn; from the next one on.
  bool stop_taking(Duration patience);
  /// Ends all links and tells the peers, over the next few turns. False: as above.
  bool leave(Duration patience);
  /// An idle worker looks for packets now and then, since not all ports can wake it.
  bool sleeps_in_steps() const { return idle_->sleeps_in_steps(); }
  void wake() { idle_->wake_any_thread(); }

 private:
  explicit Site(Plan plan);
  Result<void> open_ports();
  Result<void> furnish(Instant now, const sdr::RandomSource& random);
  Result<void> add_peers(Instant now, const sdr::RandomSource& random);
  Result<void> add_gateway(Instant now);
  Port& wan() { return impaired_ ? static_cast<Port&>(*impaired_) : *wan_.port; }
  /// Lets the worker call `change` between two turns, and waits for that. False: it will, but has
  /// not yet.
  bool ask(std::function<void(Instant)> change, Duration patience);
  /// Waits until all that was asked has been done.
  bool settle(Duration patience);
  void fill(SiteState& state, Instant now);
  void fill_paths(PeerView& view, const sdr::Link& peer, Instant now) const;

  /// Lives until the worker has called it.
  struct Question {
    std::function<void(Instant)> change;
    Mailbox::Ticket ticket = 0;
  };

  Plan plan_;
  std::optional<MachineClock> clock_;  // none: somebody else's time
  LanPort lan_;
  std::optional<Valve> valve_;  // before lan_
  WanPort wan_;
  std::optional<ImpairedPort> impaired_;
  std::unique_ptr<gateway::Gateway> gateway_;
  std::optional<sdr::Shard> sdr_;  // goes first: its worker gives packets back
  std::optional<IdleWait> idle_;
  std::shared_ptr<std::vector<sdr::SeatCare>> cares_;  // asked for and not given back yet
  std::vector<std::unique_ptr<Question>> asked_;  // and not yet known to be done; the oldest first
};

}  // namespace cw::site
