#include "control/gateway/site/site.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>

#include "control/gateway/site/lan_setup.h"
#include "dataplane/base/assert.h"

namespace cw::site {
namespace {

// A kernel wakes us a few microseconds after a packet came; a call for a packet costs about one. So
// little is spun, and where packets come in a row, turns are apart (`gather` of the plan).
constexpr Duration spin = Duration::from_us(20);

uint64_t random_bits(void*) {
  uint64_t bits = 0;
  CW_ASSERT(getentropy(&bits, sizeof(bits)) == 0);
  return bits;
}

/// Ports blame their own options; people know the keys of the file.
std::string with_key(std::string_view table, const std::string& sentence) {
  const size_t colon = sentence.find(": ");
  const std::string option = sentence.substr(0, colon == std::string::npos ? 0 : colon);
  const bool is_option = !option.empty() && std::ranges::all_of(option, [](unsigned char c) {
    return std::islower(c) != 0 || c == '_';
  });
  if (!is_option) return std::string(table) + ": " + sentence;
  if (option.starts_with("eal")) return "site." + sentence;
  if (option == "next_hop") return "peer." + sentence;
  const std::string key = option == "name" ? "device" : option;
  return std::string(table) + "." + key + sentence.substr(colon);
}

/// Of the paths that have been measured.
Duration shortest(std::span<const PathState> paths, Duration PathState::*time) {
  Duration result;
  for (const PathState& path : paths) {
    if (path.*time == Duration()) continue;
    if (result == Duration() || path.*time < result) result = path.*time;
  }
  return result;
}

}  // namespace

Duration PeerView::rtt() const { return shortest(paths, &PathState::rtt_smoothed); }

Duration PeerView::rtt_min() const { return shortest(paths, &PathState::rtt_min); }

Site::Site(Plan plan) : plan_(std::move(plan)) {}

Site::~Site() = default;

Result<std::unique_ptr<Site>> Site::make(Plan plan) {
  std::unique_ptr<Site> site(new Site(std::move(plan)));
  if (const auto opened = site->open_ports(); !opened) return std::unexpected(opened.error());
  site->clock_.emplace();
  const auto made = site->furnish(site->clock_->read(), {nullptr, random_bits});
  if (!made) return std::unexpected(made.error());
  return site;
}

Result<std::unique_ptr<Site>> Site::make(Plan plan, SiteGround ground) {
  std::unique_ptr<Site> site(new Site(std::move(plan)));
  site->wan_.port = std::move(ground.wan);
  site->lan_.port = std::move(ground.lan);
  const auto made = site->furnish(ground.now, ground.random);
  if (!made) return std::unexpected(made.error());
  return site;
}

/// What stands on the ports.
Result<void> Site::furnish(Instant now, const sdr::RandomSource& random) {
  if (plan_.impair) impaired_.emplace(*wan_.port, *plan_.impair);
  valve_.emplace(*lan_.port);
  if (const auto added = add_peers(now, random); !added) return added;
  return add_gateway(now);
}

Result<void> Site::open_ports() {
  auto opened = make_wan_port(plan_);
  if (!opened) return failure(with_key("wan", opened.error().sentence));
  wan_ = std::move(*opened);
  const Port& port = *wan_.port;
  if (port.facts().payload_max < plan_.wan.payload_bytes_max) {
    return failure("pair.mtu: this machine's route to a peer carries packets that are " +
                   std::to_string(plan_.wan.payload_bytes_max - port.facts().payload_max) +
                   " bytes smaller; lower pair.mtu at all sites by that, or raise the MTU of the "
                   "interface");
  }

  auto lan = make_lan_port(plan_);
  if (!lan) return failure(with_key("lan", lan.error().sentence));
  lan_ = std::move(*lan);
  if (lan_.tun == nullptr) return {};
  set_queue_length(lan_device(), plan_.lan_queue_packets);
  return set_up_lan(lan_device(), plan_.lan_addresses, plan_.lan_routes);
}

std::optional<EalChoice> Site::eal() const {
#ifdef CW_HAVE_DPDK
  if (wan_.dpdk == nullptr && lan_.dpdk == nullptr) return std::nullopt;
  return start_eal(plan_.eal).value();  // it runs, or there would be no port
#else
  return std::nullopt;
#endif
}

Result<void> Site::add_peers(Instant now, const sdr::RandomSource& random) {
  sdr_.emplace(wan(), random, plan_.coding);
  for (const sdr::LinkOptions& options : plan_.peers) {
    const auto added = sdr_->add_link(options, plan_.key->mac, now);
    if (!added) return failure("peer: " + added.error().sentence);
  }
  return {};
}

Result<void> Site::add_gateway(Instant now) {
  plan_.gateway.lan_mtu = lan_.port->facts().payload_max;
  auto made = gateway::Gateway::make(plan_.gateway, *valve_, sdr_->endpoint(), sdr_->counters(),
                                     sdr_->drops(), now);
  if (!made) return failure(made.error().sentence);
  gateway_ = std::move(*made);
  // The hosts first: what a turn takes from them leaves in that turn.
  sdr_->begin(std::array{Worker::Side{&*valve_, gateway_.get()}});
  const std::array<Port*, 2> ports = {&wan(), lan_.port.get()};
  idle_.emplace(IdleOptions{.policy = plan_.idle, .spin = spin, .pause = plan_.gather}, ports);
  return {};
}

void Site::run(const std::atomic<bool>& stop) {
  prctl(PR_SET_TIMERSLACK, 1);  // wake to the nanosecond
  if (plan_.core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(*plan_.core, &set);
    // A core that this process may not use is no reason to carry nothing.
    (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  }
  cw::run(sdr_->worker(), *clock_, *idle_, stop);
}

bool Site::ask(std::function<void(Instant)> change, Duration patience) {
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

bool Site::settle(Duration patience) {
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

std::optional<SiteState> Site::state(Duration patience) {
  // No question on top of an open one: it would only be answered late.
  if (!settle(patience)) return std::nullopt;
  auto state = std::make_shared<SiteState>();
  if (!ask([this, state](Instant now) { fill(*state, now); }, patience)) return std::nullopt;
  return std::move(*state);
}

SiteState Site::state(Instant now) {
  SiteState state;
  fill(state, now);
  return state;
}

// On the worker's thread, some times a second: what it allocates costs less than a lock would. All
// of it is of one moment between two turns, so that accounts add up across rooms.
void Site::fill(SiteState& state, Instant now) {
  state.at = now;
  state.drops = sdr_->drops().snapshot_any_thread();
  state.rooms = sdr_->counters().snapshot_any_thread();
  state.worker = sdr_->worker().counters().snapshot_any_thread();
  lan_.fill(state);
  wan_.fill(state);
  if (impaired_) {
    for (uint16_t path = 0; path < wan_.port->facts().paths; ++path) {
      state.impaired.push_back(impaired_->tx_counters(path));
    }
  }
  state.wants_policies = sdr_->endpoint().wants_care();
  state.is_quiet = gateway_->is_drained();
  state.is_drained = valve_->is_shut() && state.is_quiet;
  for (size_t i = 0; i < gateway_->lane_count(); ++i) state.lanes.push_back(gateway_->view(i));
  for (const auto& peer : sdr_->endpoint().links()) {
    PeerView& view = state.peers.emplace_back();
    view.is_up = peer->is_up();
    if (!view.is_up) view.why = peer->why();
    view.rate = peer->rate();
    view.backlog = peer->backlog(now);
    fill_paths(view, *peer, now);
  }
}

void Site::fill_paths(PeerView& view, const sdr::Link& peer, Instant now) const {
  using State = sdr::PathHealth::State;
  const sdr::PathHealth& health = peer.path_health();
  for (uint16_t path = 0; path < wan_.port->facts().paths; ++path) {
    view.paths.push_back(peer.path_state(path, now));
    view.path_losses.push_back(peer.path_loss_there(path, now).ratio);
    if (!view.is_up || path >= health.paths()) continue;
    view.down_paths |= uint32_t{health.state(path) == State::Down} << path;
    view.probing_paths |= uint32_t{health.state(path) == State::Probing} << path;
  }
  if (view.is_up) view.too_small_paths = health.too_small();
}

// Asked for by one call and given back by a later one, where the worker does not turn meanwhile.
void Site::care_for_policies(Duration patience) {
  if (!settle(patience)) return;
  if (cares_ == nullptr) {
    cares_ = std::make_shared<std::vector<sdr::SeatCare>>();
    cares_->reserve(limits::qps_max);
    const auto collect = [this, cares = cares_](Instant) { sdr_->endpoint().ask(*cares); };
    if (!ask(collect, patience)) return;
  }
  const auto cares = std::exchange(cares_, nullptr);
  if (cares->empty()) return;
  for (sdr::SeatCare& care : *cares) care.fulfil();
  ask([this, cares](Instant now) { sdr_->endpoint().take(*cares, now); }, patience);
}

bool Site::stop_taking(Duration patience) {
  return ask([this](Instant) { valve_->shut(); }, patience);
}

bool Site::leave(Duration patience) {
  const auto leave = [this](Instant now) {
    for (const auto& peer : sdr_->endpoint().links()) peer->leave(now);
  };
  return ask(leave, patience);
}

}  // namespace cw::site
