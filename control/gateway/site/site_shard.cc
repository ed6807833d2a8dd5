#include "control/gateway/site/site_shard.h"

#include "control/gateway/site/bit_stage.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "control/gateway/site/shard_plan.h"
#include "dataplane/base/assert.h"

namespace cw::site {
namespace {

// A kernel wakes us a few microseconds after a packet came; a call for a packet costs about one. So
// little is spun, and where packets come in a row, turns are apart (`gather` of the plan).
constexpr Duration spin = Duration::from_us(20);
/// For a device of an earlier life, whose hosts' packets wait for a link: three round trips, where
/// the peer is there at all.
constexpr Duration link_patience = Duration::from_s(1);

/// A peer that sees no numbers of packets knows of no runs either.
adapt::LineCounts counts_of(const PathReport& report) {
  return {.arrived = report.received,
          .lost = report.lost,
          .bursts = report.bursts > 0 ? report.bursts : report.lost};
}

}  // namespace

Result<std::unique_ptr<SiteShard>> SiteShard::make(const Plan& plan, size_t number, LanPort lan,
                                                   WanPort wan, std::deque<PairGrants>& grants,
                                                   int heard_fd, Instant now,
                                                   const sdr::RandomSource& random) {
  std::unique_ptr<SiteShard> shard(new SiteShard(plan, number, std::move(lan), std::move(wan)));
  const auto begun = shard->begin(grants, heard_fd, now, random);
  if (!begun) return std::unexpected(begun.error());
  return shard;
}

SiteShard::SiteShard(const Plan& plan, size_t number, LanPort lan, WanPort wan)
    : plan_(plan),
      number_(number),
      links_here_(links_in(plan, number).size()),
      lan_(std::move(lan)),
      valve_(*lan_.port),
      wan_(std::move(wan)) {
  if (plan_.impair) impaired_.emplace(*wan_.port, impair_of(plan_, number_));
}

Result<void> SiteShard::begin(std::deque<PairGrants>& grants, int heard_fd, Instant now,
                              const sdr::RandomSource& random) {
  if (plan_.seal) {
    sealer_.emplace(
        sealer_options(plan_, number_, links_here_, wan_queue().facts().payload_max, heard_fd));
  }
  sdr_.emplace(wan_queue(), sealer(), random, plan_.coding);
  sdr::Endpoint& endpoint = sdr_->endpoint();
  if (endpoint.has_stage()) {
    auto stage = make_bit_stage(plan_.offload, number_, plan_.cores.size());
    if (!stage) return std::unexpected(stage.error());
    endpoint.set_stage(std::move(*stage));
  }
  if (const auto added = add_links(plan_, grants, 0, endpoint, now); !added) return added;
  if (const auto added = add_rooms(plan_, endpoint, rooms_, now); !added) return added;
  gateways_.emplace(*rooms_.gateway);
  if (lan_.tun != nullptr && lan_.tun->status().is_taken) {
    const auto has_link = [this] {
      return std::ranges::any_of(sdr_->endpoint().links(),
                                 [](const auto& link) { return link->is_up(); });
    };
    valve_.open_when(has_link, now + link_patience);
  }
  // The hosts first: what a turn takes from them leaves in that turn.
  sdr_->begin(std::array{Worker::Side{&valve_, &*gateways_}});
  const std::array<PortBase*, 2> ports = {&wan_queue().base(), lan_.port.get()};
  idle_.emplace(IdleOptions{.policy = plan_.idle, .spin = spin, .pause = plan_.gather}, ports);
  return {};
}

Result<void> SiteShard::add_links(const Plan& plan, std::deque<PairGrants>& grants,
                                  uint16_t first_number, sdr::Endpoint& endpoint, Instant now) {
  for (sdr::LinkOptions& options : link_options_of(plan, number_)) {
    if (!grants.empty()) {
      options.grants = &grants[peer_of(options.peer)].line(options.control.number);
    }
    options.control.number = static_cast<uint16_t>(options.control.number + first_number);
    const auto added = sdr_->add_link(endpoint, options, plan.key->mac, now);
    if (!added) return failure("peer: " + added.error().sentence);
  }
  return {};
}

Result<void> SiteShard::add_rooms(const Plan& plan, sdr::Endpoint& endpoint, Rooms& rooms,
                                  Instant now) {
  const auto options = gateway_of(plan, number_, lan_.port->facts().payload_max);
  auto made =
      gateway::Gateway::make(options, valve_, endpoint, sdr_->counters(), sdr_->drops(), now);
  if (!made) return failure(made.error().sentence);
  rooms.gateway = std::move(*made);
  rooms.swaps = std::make_unique<ShardSwaps>(endpoint, plan.classes.size());
  return {};
}

void SiteShard::run(const MachineClock& clock, const std::atomic<bool>& stop) {
  prctl(PR_SET_TIMERSLACK, 1);  // wake to the nanosecond
  take_core(plan_.cores[number_]);
  call_ = &sdr::policy_call;
  cw::run(sdr_->worker(), clock, *idle_, stop, [this] {
    if (sdr_->wants_care()) call_for_care();
  });
  call_ = nullptr;  // the place goes with the thread
}

const sdr::PolicyInstance* SiteShard::policy_in_call() const {
  const sdr::PolicyCallPlace* const place = call_;
  return place == nullptr ? nullptr : place->load();
}

void SiteShard::call_for_care() {
  if (!std::exchange(has_called_, true)) bell_->ring_any_thread();
}

void SiteShard::take_core(std::optional<uint32_t> core) {
  if (!core) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(*core, &set);
  (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

// ---- asked by another thread ----

bool SiteShard::ask(std::function<void(Instant)> change, Duration patience) {
  const auto call = [](void* question, Instant now) {
    static_cast<const Question*>(question)->change(now);
  };
  Question& question = *asked_.emplace_back(std::make_unique<Question>());
  question.change = std::move(change);
  const auto ticket = sdr_->worker().mailbox().try_post_any_thread({call, &question});
  CW_ASSERT(ticket);  // one asker, who asks for little before it has been answered
  question.ticket = *ticket;
  return settle(patience);
}

bool SiteShard::settle(Duration patience) {
  constexpr Duration step = Duration::from_ms(100);  // a wake-up may come just before the sleep
  for (Duration left = patience; !asked_.empty(); left = left - step) {
    wake();
    const bool is_done =
        sdr_->worker().mailbox().wait_any_thread(asked_.back()->ticket, std::min(left, step));
    if (is_done) asked_.clear();
    if (is_done || left <= step) break;
  }
  return asked_.empty();
}

std::optional<SiteState> SiteShard::state(Duration patience) {
  // No question on top of an open one: it would only be answered late.
  if (!settle(patience)) return std::nullopt;
  if (wanted_capture_) (void)post_capture(patience);
  auto state = std::make_shared<SiteState>();
  if (!ask([this, state](Instant now) { fill(*state, now); }, patience)) return std::nullopt;
  state->has_open_swaps |= wanted_.has_value() || !orders_.empty();
  return std::move(*state);
}

SiteState SiteShard::state(Instant now) {
  SiteState state;
  fill(state, now);
  return state;
}

// On the worker's thread, some times a second: what it allocates costs less than a lock would. All
// of it is of one moment between two turns, so that accounts add up across rooms.
void SiteShard::fill(SiteState& state, Instant now) {
  state.at = now;
  state.drops = sdr_->drops().snapshot_any_thread();
  state.rooms = sdr_->counters().snapshot_any_thread();
  state.worker = sdr_->worker().counters().snapshot_any_thread();
  lan_.fill(state);
  wan_.fill(state);
  if (sealer_) state.seals.add(sealer_->counts());
  if (impaired_) {
    for (uint16_t path = 0; path < wan_.facts().paths; ++path) {
      state.impaired.push_back(impaired_->tx_counters(path));
    }
  }
  state.wants_policies = sdr_->wants_care();
  state.out_before = out_before_;
  if (beside_) {
    set_mute();
    state.beside = beside_state(now);
  }
  state.is_quiet = rooms_.gateway->is_drained() && (!beside_ || is_quiet(*state.beside));
  state.is_drained = valve_.is_shut() && state.is_quiet;
  for (size_t i = 0; i < rooms_.gateway->lane_count(); ++i) {
    gateway::LaneView& lane = state.lanes.emplace_back(rooms_.gateway->view(i));
    lane.peer = peer_of(lane.peer);
  }
  const gateway::Groups& groups = rooms_.gateway->groups();
  for (size_t i = 0; i < groups.count(); ++i) state.groups.push_back(groups[i]);
  for (const auto& link : sdr_->endpoint().links()) {
    PeerView& view = state.peers.emplace_back(view_of(*link, now));
    if (beside_ && view.is_drain_wanted && has_moved_there(view, *state.beside)) {
      view.is_drain_wanted = false;
      view.has_gone_over = true;
    }
  }
  add_sent_by(state.sent_by);
  state.swaps = rooms_.swaps->views();
  state.has_open_swaps = rooms_.swaps->has_open();
  for (SwapView& swap : state.swaps) swap.peer = peer_of(swap.peer);
  std::erase_if(state.swaps, [this](const SwapView& swap) { return !plan_.has_peer(swap.peer); });
  state.sort();
  state.shards.push_back({.core = plan_.cores[number_],
                          .from_lan = state.lan_port.rx_packets,
                          .to_lan = state.lan_port.tx_packets,
                          .from_wan = state.wan_port.rx_packets,
                          .to_wan = state.wan_port.tx_packets,
                          .turns = state.worker[Counter::turns],
                          .turn_times = sdr_->worker().turn_times()});
}

void SiteShard::add_sent_by(std::vector<SentBy>& all) const {
  for (size_t i = 0; i < plan_.classes.size(); ++i) {
    if (!plan_.classes[i].adapt) continue;
    for (const auto& link : sdr_->endpoint().links()) {
      if (!link->is_up()) continue;
      all.push_back({.peer = peer_of(link->peer()),
                     .link = wire_link_of(link->number()),
                     .class_index = static_cast<uint16_t>(i),
                     .policy = link->swap_desk().policy(static_cast<uint16_t>(i), CW_SOURCE)});
    }
  }
}

/// What a peer does not answer for will not cross.
bool SiteShard::is_quiet(const BesideState& beside) {
  return std::ranges::all_of(
      beside.peers, [](const PeerView& each) { return each.is_quiet || !each.may_carry(); });
}

/// Whether a peer that asks for others than this link has one beside it that it goes by.
bool SiteShard::has_moved_there(const PeerView& view, const BesideState& beside) {
  return std::ranges::any_of(beside.peers, [&](const PeerView& each) {
    const bool is_its = each.peer == view.peer && each.link == view.link;
    return is_its && each.is_up && !each.is_drain_wanted;
  });
}

PeerView SiteShard::view_of(const sdr::Link& link, Instant now) const {
  using State = sdr::PathHealth::State;
  PeerView view{.peer = peer_of(link.peer()),
                .link = wire_link_of(link.number()),
                .is_up = link.is_up(),
                .epoch = link.epoch()};
  view.answers = link.answers(now);
  view.is_drain_wanted = link.is_drain_wanted();
  view.is_second_wanted = link.knocks().are_of_our_shape(now);
  view.has_other_keys = link.knocks().are_of_another(now);
  if (!view.is_up) view.why = link.why();
  if (view.is_up) view.differences = link.differences();
  view.rate = link.rate();
  view.backlog = link.backlog(now);
  const sdr::PathHealth& health = link.path_health();
  for (uint16_t path = 0; path < wan_.facts().paths; ++path) {
    view.paths.push_back(link.path_state(path, now));
    view.path_losses.push_back(link.path_loss_there(path, now).ratio);
    view.there.add(counts_of(link.path_report_there(path)));
    if (!view.is_up || path >= health.paths()) continue;
    view.down_paths |= uint32_t{health.state(path) == State::Down} << path;
    view.probing_paths |= uint32_t{health.state(path) == State::Probing} << path;
  }
  if (view.is_up) view.too_small_paths = health.too_small();
  if (view.is_up) view.silence = health.silence(now);
  return view;
}

// Asked for by one call and given back by a later one, where the worker does not turn meanwhile.
void SiteShard::care_for_policies(sdr::PolicyFinder& finder, Duration patience) {
  if (!settle(patience)) return;
  if (cares_ == nullptr) {
    cares_ = std::make_shared<std::vector<sdr::SeatCare>>();
    cares_->reserve(limits::qps_max);
    const auto collect = [this, cares = cares_](Instant now) {
      has_called_ = false;
      sdr_->endpoint().ask(*cares, now);
      if (sdr_->beside() != nullptr) sdr_->beside()->ask(*cares, now);
    };
    if (!ask(collect, patience)) return;
  }
  const auto cares = std::exchange(cares_, nullptr);
  if (cares->empty()) return;
  for (sdr::SeatCare& care : *cares) care.fulfil(finder);
  const auto take = [this, cares](Instant now) {
    sdr_->endpoint().take(*cares, now);
    std::vector<sdr::SeatCare> none;
    if (sdr_->beside() != nullptr) sdr_->beside()->take(none, now);
  };
  ask(take, patience);
}

bool SiteShard::try_list(std::vector<const cw_policy_ops*>& tables, Duration patience) {
  const bool is_at_rest = cares_ == nullptr && !wanted_ && orders_.empty();
  if (!is_at_rest || !settle(patience)) return false;
  auto listed = std::make_shared<std::vector<const cw_policy_ops*>>();
  auto are_all = std::make_shared<bool>(false);
  const auto list = [this, listed, are_all](Instant) { *are_all = try_list(*listed); };
  if (!ask(list, patience)) return false;
  tables.insert(tables.end(), listed->begin(), listed->end());
  return *are_all;
}

// The latest takes the place of what a worker that stands still has not heard.
bool SiteShard::want_policies(std::vector<WantedPolicy> wanted, Duration patience) {
  wanted_ = std::move(wanted);
  orders_.clear();
  return tell_wishes(patience);
}

bool SiteShard::order_swap(const SwapOrder& order, Duration patience) {
  std::erase_if(orders_, [&](const SwapOrder& each) { return each.is_followed_by(order); });
  orders_.push_back(order);
  return tell_wishes(patience);
}

bool SiteShard::tell_wishes(Duration patience) {
  if (!settle(patience)) return false;
  const auto tell = [this, wanted = std::exchange(wanted_, std::nullopt),
                     orders = std::exchange(orders_, {})](Instant now) {
    if (wanted) rooms_.swaps->want(*wanted, now);
    for (const SwapOrder& each : orders) order_swap(each, now);
  };
  return ask(tell, patience);
}

void SiteShard::pursue_swaps(Duration patience) {
  if (wanted_ || !orders_.empty()) (void)tell_wishes(patience);
  if (settle(patience)) ask([this](Instant now) { rooms_.swaps->pursue(now); }, patience);
}

std::vector<size_t> SiteShard::links_to(std::optional<uint16_t> peer) const {
  const auto links = sdr_->endpoint().links();
  std::vector<size_t> found;
  for (size_t i = 0; i < links.size(); ++i) {
    if (!peer || peer_of(links[i]->peer()) == *peer) found.push_back(i);
  }
  return found;
}

// ---- what live keys say ----

void SiteShard::take_links(ShardChange& change, size_t first, size_t count, Instant now) {
  const auto& links = sdr_->endpoint().links();
  for (size_t i = first; i < std::min(first + count, links.size()); ++i) {
    links[i]->change(change.links[links[i]->peer()], now);
    rooms_.gateway->change_link(change.gateway, i);
  }
}

void SiteShard::take_rules(ShardChange& change) {
  rooms_.gateway->exchange(change.gateway);
  if (change.peers) wan_.udp->exchange(*change.peers);
  for (uint16_t path = 0; impaired_ && path < wan_.facts().paths; ++path) {
    impaired_->set_tx_impairment(path, change.impairment);
  }
}

void SiteShard::take(ShardChange& change, Instant now) {
  take_rules(change);
  take_links(change, 0, change.links.size(), now);
}

bool SiteShard::ask_in_time(const std::function<void(Instant)>& act, Duration patience) {
  const auto is_claimed = std::make_shared<std::atomic<bool>>(false);
  const auto claimed = [is_claimed, act](Instant now) {
    if (!is_claimed->exchange(true)) act(now);
  };
  if (ask(claimed, patience)) return true;
  if (!is_claimed->exchange(true)) return false;
  // It is at it, and what it acts on is here.
  constexpr int steps_max = 100;
  for (int i = 0; i < steps_max && !settle(Duration::from_ms(100)); ++i) continue;
  return true;
}

bool SiteShard::change(const std::shared_ptr<ShardChange>& change,
                       std::shared_ptr<ShardChange> inverse, Duration patience) {
  if (!settle(patience)) return false;
  const size_t links = change->links.size();
  constexpr size_t step = ShardChange::links_per_turn;
  for (size_t first = 0; first < links; first += step) {
    const auto act = [this, change, first](Instant now) {
      if (first == 0) take_rules(*change);
      take_links(*change, first, step, now);
    };
    if (ask_in_time(act, patience)) continue;
    if (first > 0) change_back(std::move(inverse));
    return false;
  }
  return true;
}

void SiteShard::change_back(std::shared_ptr<ShardChange> inverse) {
  ask([this, inverse = std::move(inverse)](Instant now) { take(*inverse, now); }, Duration());
}

Result<gateway::GatewayChange> SiteShard::rules_of(const Plan& plan) const {
  return gateway::GatewayChange::make(gateway_of(plan, number_, lan_.port->facts().payload_max));
}

bool SiteShard::exchange_rules(std::shared_ptr<gateway::GatewayChange> rules, Duration patience) {
  if (!settle(patience)) return false;
  ask([this, rules = std::move(rules)](Instant) { rooms_.gateway->exchange(*rules); }, patience);
  return true;
}

bool SiteShard::want_drain(bool is_wanted, Duration patience) {
  if (!settle(patience)) return false;
  return ask([this, is_wanted](Instant now) { want_drain(is_wanted, now); }, patience);
}

void SiteShard::want_drain(bool is_wanted, Instant now) {
  const auto tell = [now](const sdr::Endpoint& endpoint, bool is_drain_wanted) {
    for (const auto& link : endpoint.links()) link->want_drain(is_drain_wanted, now);
  };
  gateways_->set_drains(is_wanted);
  const sdr::Endpoint *older = &sdr_->endpoint(), *newer = sdr_->beside();
  if (has_moved_) std::swap(older, newer);
  // Those that others have taken the place of say so when all that they have sent is settled.
  if (!has_moved_ || has_given_up_) tell(*older, is_wanted);
  if (newer != nullptr) tell(*newer, is_wanted || has_given_up_);
}

bool SiteShard::add_streams(std::vector<StreamRow>& rows, Duration patience) {
  const auto found = std::make_shared<std::vector<StreamRow>>();
  const auto look = [this, found](Instant) {
    for (const auto& link : sdr_->endpoint().links()) {
      for (size_t qp = 0; qp < plan_.classes.size(); ++qp) {
        const auto index = static_cast<uint16_t>(qp);
        for (const cw_role role : {CW_SOURCE, CW_SINK}) {
          const auto view = sdr::view_of(*link, index, role);
          if (!view) continue;
          found->push_back({peer_of(link->peer()), wire_link_of(link->number()), index,
                            role == CW_SOURCE, *view});
        }
      }
    }
  };
  if (!settle(patience) || !ask(look, patience)) return false;
  rows.insert(rows.end(), found->begin(), found->end());
  return true;
}

sdr::Link* SiteShard::find_link(uint16_t peer, uint16_t link) const {
  const auto links = sdr_->endpoint().links();
  const auto found = std::ranges::find_if(links, [&](const auto& each) {
    return peer_of(each->peer()) == peer && wire_link_of(each->number()) == link;
  });
  return found == links.end() ? nullptr : found->get();
}

// The latest takes the place of what a worker that stands still has not heard.
bool SiteShard::set_capture(std::shared_ptr<ShardCapture> capture, Duration patience) {
  wanted_capture_ = std::move(capture);
  return post_capture(patience);
}

bool SiteShard::post_capture(Duration patience) {
  if (!wanted_capture_ || !settle(patience)) return false;
  // The one before leaves by this question, which ends on this thread.
  const auto given = std::make_shared<std::shared_ptr<ShardCapture>>(std::move(*wanted_capture_));
  wanted_capture_.reset();
  return ask(
      [this, given](Instant now) {
        capture_.swap(*given);
        if (capture_ != nullptr) capture_->begin(now);
        valve_.set_tap(capture_ == nullptr ? nullptr : capture_->lan_tap());
        sdr_->set_tap(capture_ == nullptr ? nullptr : capture_->wan_tap());
      },
      patience);
}

bool SiteShard::stop_taking(Duration patience) {
  return ask([this](Instant) { valve_.shut(); }, patience);
}

bool SiteShard::leave(Duration patience) {
  const auto leave = [this](Instant now) {
    for (const auto& link : sdr_->endpoint().links()) link->leave(now);
    if (sdr_->beside() != nullptr) leave_beside(now);
  };
  return ask(leave, patience);
}

}  // namespace cw::site
