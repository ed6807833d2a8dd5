#include "control/gateway/site/site.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <latch>
#include <semaphore>
#include <string_view>
#include <thread>
#include <tuple>

#include "control/gateway/site/live/peer_places.h"
#include "control/gateway/site/relink/misfits.h"
#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/policy_instance.h"

namespace cw::site {
namespace {

uint64_t random_bits(void*) {
  uint64_t bits = 0;
  CW_ASSERT(getentropy(&bits, sizeof(bits)) == 0);
  return bits;
}

/// Build shards, each on the core where it will live and with memory that the allocator gives to no
/// other thread: so it lies near to that core, and no two shards' in one cache line. All end with
/// the last, since what a thread had that has ended is the next one's.
class Builders {
 public:
  ~Builders() { all_built_.count_down(); }
  template <class Work>
  void build_at(std::optional<uint32_t> core, const Work& work) {
    threads_.emplace_back([this, core, &work] {
      SiteShard::take_core(core);
      work();
      is_built_.release();
      all_built_.wait();
    });
    is_built_.acquire();
  }

 private:
  std::binary_semaphore is_built_{0};
  std::latch all_built_{1};
  std::deque<std::jthread> threads_;
};

}  // namespace

Site::Site(Plan plan)
    : plan_(std::move(plan)), bounds_(LiveBounds::of(plan_)), finder_(*plan_.registry) {}

Site::~Site() = default;

Result<std::unique_ptr<Site>> Site::make(Plan plan, const Settle& settle) {
  std::unique_ptr<Site> site(new Site(std::move(plan)));
  if (const auto begun = site->begin_eal(); !begun) return std::unexpected(begun.error());
  site->clock_.emplace();
  const auto made = site->add_shards([&](size_t number) -> Result<void> {
    LanPort lan;
    WanPort wan;
    if (const auto opened = site->open_shard(number, settle, lan, wan); !opened) return opened;
    const Instant now = site->clock_->read();
    return site->add_shard(std::move(lan), std::move(wan), now, {nullptr, random_bits});
  });
  if (!made) return std::unexpected(made.error());
  if (site->plan_.wan_kind == WanKind::Verbs || !settle) return site;
  if (const auto settled = settle(site->plan_); !settled) return std::unexpected(settled.error());
  return site;
}

Result<std::unique_ptr<Site>> Site::make(Plan plan, const SiteGround& ground) {
  std::unique_ptr<Site> site(new Site(std::move(plan)));
  site->clock_ = ground.clock;
  const auto made = site->add_shards([&](size_t number) {
    ShardPorts ports = ground.ports(number);
    return site->add_shard({.port = std::move(ports.lan)}, {.port = std::move(ports.wan)},
                           ground.now, ground.random);
  });
  if (!made) return std::unexpected(made.error());
  return site;
}

Result<void> Site::add_shards(const std::function<Result<void>(size_t number)>& add) {
  take_bars(plan_);
  add_grants();
  return build_shards(add);
}

Result<void> Site::build_shards(const std::function<Result<void>(size_t number)>& build) const {
  Builders builders;
  // In somebody else's time there is one thread.
  const bool are_apart = clock_ && plan_.cores.size() > 1;
  for (size_t i = 0; i < plan_.cores.size(); ++i) {
    Result<void> built;
    const auto build_one = [&] { built = build(i); };
    are_apart ? builders.build_at(plan_.cores[i], build_one) : build_one();
    if (!built) return built;
  }
  return {};
}

/// A class whose policy was put in quarantine in an earlier life begins with what follows that.
void Site::take_bars(Plan& plan) {
  Bars& bars = finder_.bars();
  if (plan.state_folder.empty()) return;
  if (const auto read = bars.keep_in(plan.state_folder); !read) {
    plan.warnings.push_back("site.state_folder: " + read.error().sentence);
  }
  for (sdr::LinkOptions& peer : plan.peers) {
    for (size_t i = 0; i < peer.qps.size(); ++i) {
      sdr::QpOptions& qp = peer.qps[i];
      std::erase_if(qp.policies, [&](const auto& each) { return bars.find(each) != nullptr; });
      const Bar* const bar = bars.find(qp.policy);
      if (bar == nullptr || qp.after_quarantine.ops == nullptr) continue;
      qp.policy = qp.after_quarantine;
      if (&peer != &plan.peers.front()) continue;
      plan.warnings.push_back("class \"" + plan.classes[i].name + "\": " + bar->policy +
                              " is barred since " + bar->since + ", when it was put in " +
                              "quarantine; until it is forgiven it is " + qp.policy.ops->name);
    }
  }
}

void Site::add_grants() {
  for (size_t peer = 0; plan_.links > 1 && peer < plan_.peers.size(); ++peer) {
    grants_.emplace_back(plan_, peer);
  }
  has_grants_ = !grants_.empty();
}

Result<void> Site::add_shard(LanPort lan, WanPort wan, Instant now,
                             const sdr::RandomSource& random) {
  auto made = SiteShard::make(plan_, shards_.size(), std::move(lan), std::move(wan), grants_,
                              keys_.heard_fd(), now, random);
  if (!made) return std::unexpected(made.error());
  (*made)->set_care(finder_, bell_);
  shards_.push_back(std::move(*made));
  if (!plan_.seal || shards_.size() < plan_.cores.size()) return {};
  std::vector<seal::Sealer*> sealers;
  sealers.reserve(shards_.size());
  for (const auto& shard : shards_) sealers.push_back(shard->sealer());
  keys_.begin(plan_, std::move(sealers), now);
  return {};
}

// ---- grants ----

void Site::turn_grants(Instant now) {
  const std::scoped_lock lock(grants_mutex_);
  if (beside_) return turn_both(now);
  for (PairGrants& each : grants_) each.turn(4, now);
}

/// What does not carry any more resends what was lost, and has a quarter for that while it needs
/// it.
void Site::turn_both(Instant now) {
  for (size_t peer = 0; peer < grants_.size(); ++peer) {
    PairGrants *carries = &grants_[peer], *other = &beside_->grants[peer];
    const bool is_other = peer < beside_->others.size() && beside_->others[peer];
    if (is_other) std::swap(carries, other);
    const bool is_shared = (is_other || beside_->has_carried) && other->is_wanted(now);
    carries->turn(is_shared ? 3 : 4, now);
    other->turn(is_shared ? 1 : 4, now);
  }
}

void Site::run_keys(const std::atomic<bool>& stop) {
  keys_.run(*clock_, stop, [this] { wake(); });
}

void Site::run_grants(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    turn_grants(clock_->read());
    std::this_thread::sleep_for(std::chrono::nanoseconds(grant_interval.ns()));
  }
}

// ---- turned by one thread ----

bool Site::turn(Instant now) {
  if (needs_granting() && grants_due_ <= now) {
    grants_due_ = now + grant_interval;
    turn_grants(now);
  }
  bool has_worked = false;
  for (const auto& shard : shards_) has_worked |= shard->turn(now);
  return has_worked;
}

Instant Site::next_wakeup() const {
  Instant next = needs_granting() ? grants_due_ : Instant::never();
  if (keys_.has_begun()) next = std::min(next, keys_.next_wakeup());
  for (const auto& shard : shards_) next = std::min(next, shard->next_wakeup());
  return next;
}

void Site::sleeps_until(Instant wake) {
  for (const auto& shard : shards_) shard->sleeps_until(wake);
}

SiteState Site::state(Instant now) {
  SiteState state = shards_.front()->state(now);
  for (size_t i = 1; i < shards_.size(); ++i) state.add(shards_[i]->state(now));
  if (keys_.has_begun()) state.take(keys_.views(now));
  return state;
}

void Site::want_policies(const std::vector<WantedPolicy>& wanted, Instant now) {
  for (const auto& shard : shards_) shard->want_policies(wanted, now);
}

uint32_t Site::order_swap(SwapOrder order, Instant now) {
  order.number = ++orders_;
  for (const auto& shard : shards_) shard->order_swap(order, now);
  return order.number;
}

void Site::pursue_swaps(Instant now) {
  for (const auto& shard : shards_) shard->pursue_swaps(now);
}

std::vector<Beyond> Site::beyond(Plan& next) const {
  auto found = beyond_places(plan_, next);
  if (!found.empty()) return found;
  CW_ASSERT(try_arrange(plan_, next));
  found = site::beyond(bounds_, next);
  if (beside_ && relink_.phase() != Relink::Phase::Waiting) {
    std::ranges::copy(other_peers(plan_, next), std::back_inserter(found));
  }
  return found;
}

void Site::apply(Plan& next, Instant now) {
  keep_within(bounds_, next);
  keep_standings(next);
  for (const auto& shard : shards_) {
    ShardChange change = shard->change_of(next).value();
    shard->take(change, now);
  }
  take_live(next);
}

void Site::take_live(const Plan& next) {
  if (keys_.has_begun() && next.seal) keys_.take(plan_, next);
  site::take_live(next, plan_);
  // What the kernel refuses here it has given before, and the packets' way is changed by then.
  const FrameLanPort* const lan = shards_.front()->lan().frames;
  if (lan != nullptr) (void)lan->want(plan_.lan_over_frames.targets);
  for (size_t peer = 0; peer < grants_.size(); ++peer) grants_[peer].change(plan_, peer);
}

/// No file says how peers are.
void Site::keep_standings(Plan& next) const {
  for (size_t i = 0; i < next.gateway.peers.size(); ++i) {
    const gateway::PeerRoutes& now = plan_.gateway.peers[i];
    gateway::PeerRoutes& then = next.gateway.peers[i];
    // Of who is new nothing has been heard yet.
    then.standing = now.name == then.name ? now.standing : gateway::Standing::Down;
  }
}

/// `exchange` gives the shards the rules of plan(), or says that it could not.
std::vector<RouteMove> Site::take(const std::vector<gateway::Standing>& standings,
                                  const std::function<bool()>& exchange) {
  std::vector<gateway::Standing> before;
  before.reserve(standings.size());
  for (const gateway::PeerRoutes& each : plan_.gateway.peers) before.push_back(each.standing);
  if (standings == before && !are_rules_stale_) return {};
  auto moves = moves_between(plan_, standings);
  set_standings(standings);
  if (moves.empty() && !are_rules_stale_) return moves;
  // Some shards may have had rules that others have not.
  are_rules_stale_ = !exchange();
  if (!are_rules_stale_) return moves;
  set_standings(before);
  return {};
}

void Site::set_standings(const std::vector<gateway::Standing>& standings) {
  for (size_t i = 0; i < standings.size(); ++i) plan_.gateway.peers[i].standing = standings[i];
}

std::vector<RouteMove> Site::steer(const SiteState& state) {
  return take(steering_.look(state, plan_), [this] {
    for (const auto& shard : shards_) {
      auto rules = shard->rules_of(plan_).value();
      shard->exchange_rules(rules);
    }
    return true;
  });
}

void Site::want_drain(bool is_wanted, Instant now) {
  is_drain_wanted_ = is_wanted;
  for (const auto& shard : shards_) shard->want_drain(is_wanted, now);
}

size_t Site::release_policies() {
  std::vector<const cw_policy_ops*> tables;
  const bool are_all =
      std::ranges::all_of(shards_, [&](const auto& shard) { return shard->try_list(tables); });
  return are_all ? finder_.keep_only(tables) : 0;
}

// ---- asked by another thread ----

std::optional<SiteState> Site::state(Duration patience) {
  std::optional<SiteState> state;
  for (silent_ = 0; silent_ < shards_.size(); ++silent_) {
    auto of_shard = shards_[silent_]->state(patience);
    if (!of_shard) return std::nullopt;
    if (state) {
      state->add(*of_shard);
    } else {
      state = std::move(of_shard);
    }
  }
  if (keys_.has_begun()) state->take(keys_.views(state->at));
  return state;
}

std::string Site::bar_silent_policy() {
  const sdr::PolicyInstance* const policy =
      silent_ < shards_.size() ? shards_[silent_]->policy_in_call() : nullptr;
  if (policy == nullptr) return "";
  const std::string name = policy->table().name;
  const cw_policy_ops* const table = newest_policy(name);
  if (table != nullptr) finder_.bar({table, policy->params()});
  return name;
}

void Site::care_for_policies(Duration patience) {
  bell_.hush();
  for (const auto& shard : shards_) shard->care_for_policies(finder_, patience);
  if (finder_.has_replaced()) release_policies(patience);
}

bool Site::want_policies(const std::vector<WantedPolicy>& wanted, Duration patience) {
  bool is_done = true;
  for (const auto& shard : shards_) is_done &= shard->want_policies(wanted, patience);
  return is_done;
}

size_t Site::release_policies(Duration patience) {
  std::vector<const cw_policy_ops*> tables;
  const bool are_all = std::ranges::all_of(
      shards_, [&](const auto& shard) { return shard->try_list(tables, patience); });
  return are_all ? finder_.keep_only(tables) : 0;
}

uint32_t Site::order_swap(SwapOrder order, Duration patience) {
  order.number = ++orders_;
  for (const auto& shard : shards_) (void)shard->order_swap(order, patience);
  return order.number;
}

Result<std::string> Site::load_policy(const std::string& file) {
  const auto loaded = plan_.registry->load(file);
  if (!loaded) return std::unexpected(loaded.error());
  return loaded->table().name;
}

void Site::unload_policy(std::string_view name) {
  // Somebody has: then it is found, and that is no reason to end.
  (void)plan_.registry->unload(name);
}

const cw_policy_ops* Site::newest_policy(std::string_view name) {
  const auto found = finder_.find(name);
  return found ? *found : nullptr;
}

void Site::pursue_swaps(Duration patience) {
  for (const auto& shard : shards_) shard->pursue_swaps(patience);
}

Result<void> Site::apply(Plan& next, Duration patience) {
  keep_within(bounds_, next);
  keep_standings(next);
  std::vector<std::shared_ptr<ShardChange>> changes, inverses;
  for (const auto& shard : shards_) {
    auto change = shard->change_of(next), inverse = shard->change_of(plan_);
    if (!change) return std::unexpected(change.error());
    if (!inverse) return std::unexpected(inverse.error());
    changes.push_back(std::make_shared<ShardChange>(std::move(*change)));
    inverses.push_back(std::make_shared<ShardChange>(std::move(*inverse)));
  }
  for (silent_ = 0; silent_ < shards_.size(); ++silent_) {
    if (shards_[silent_]->change(changes[silent_], inverses[silent_], patience)) continue;
    for (size_t i = 0; i < silent_; ++i) shards_[i]->change_back(inverses[i]);
    return failure("the packets' thread " + std::to_string(silent_) + " has no turn");
  }
  take_live(next);
  return {};
}

std::vector<RouteMove> Site::steer(const SiteState& state, Duration patience) {
  return take(steering_.look(state, plan_), [this, patience] {
    return std::ranges::all_of(shards_, [&](const auto& shard) {
      auto rules = std::make_shared<gateway::GatewayChange>(shard->rules_of(plan_).value());
      return shard->exchange_rules(std::move(rules), patience);
    });
  });
}

bool Site::want_drain(bool is_wanted, Duration patience) {
  is_drain_wanted_ = is_wanted;
  bool is_done = true;
  for (const auto& shard : shards_) is_done &= shard->want_drain(is_wanted, patience);
  return is_done;
}

std::vector<StreamRow> Site::streams(Duration patience) {
  std::vector<StreamRow> rows;
  for (const auto& shard : shards_) shard->add_streams(rows, patience);
  std::ranges::sort(rows, {}, [](const StreamRow& row) {
    return std::tuple(row.peer, row.link, row.class_index, !row.is_outward);
  });
  return rows;
}

bool Site::with_link(uint16_t peer, uint16_t link, const LinkAct& act, Duration patience) {
  for (const auto& shard : shards_) {
    bool is_found = false;
    const auto act_there = [&](Instant now) {
      sdr::Link* const its = shard->find_link(peer, link);
      is_found = its != nullptr;
      if (is_found) act(*its, now);
    };
    if (shard->between_turns(act_there, patience) && is_found) return true;
  }
  return false;
}

std::vector<std::shared_ptr<ShardCapture>> Site::begin_capture(const CaptureFilter& filter,
                                                               Duration patience) {
  std::vector<std::shared_ptr<ShardCapture>> captures;
  for (const auto& shard : shards_) {
    captures.push_back(shard->make_capture(filter));
    shard->set_capture(captures.back(), patience);
  }
  return captures;
}

void Site::end_capture(Duration patience) {
  for (const auto& shard : shards_) shard->set_capture(nullptr, patience);
}

bool Site::stop_taking(Duration patience) {
  bool is_done = true;
  for (const auto& shard : shards_) is_done &= shard->stop_taking(patience);
  return is_done;
}

bool Site::leave(Duration patience) {
  bool is_done = true;
  for (const auto& shard : shards_) is_done &= shard->leave(patience);
  return is_done;
}

void Site::wake() {
  for (const auto& shard : shards_) shard->wake();
}

}  // namespace cw::site
