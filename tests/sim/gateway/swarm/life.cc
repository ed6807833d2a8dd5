#include "tests/sim/gateway/swarm/life.h"

#include <algorithm>

#include "control/config/policy_keys.h"
#include "dataplane/sdr/swap/swap_end.h"
#include "policies/policies.h"

namespace cw::sim {
namespace {
using namespace literals;

/// Resends beyond true losses, as promised: so many of the losses, or of all slots.
constexpr double of_losses = 0.05, of_slots = 0.001;
constexpr uint64_t of_few = 20;  // per link in use, which learns of its line: where both are few

constexpr uint16_t first_proof = 0x2000;

int key_of(const WanRoute& route) { return (route.from * 10 + route.to) * 100 + route.path; }

FrameLedger::Rules rules_of(const SwarmWorld& world) {
  return {.age_max = world.age_max(), .is_exact = world.is_exact()};
}

/// What takes a frame to a class, if only by being nothing else.
TalkStyle style_of(const std::string& class_name) {
  if (class_name == "rdma") return TalkStyle::Rc;
  return class_name == "datagrams" ? TalkStyle::Udp : TalkStyle::Tcp;
}

}  // namespace

Life::Life(const SwarmWorld& world)
    : world_(world),
      ledger_(rules_of(world), verdicts_),
      wan_(verdicts_, seals_),
      watch_(wan_, verdicts_),
      intruder_(world.intruder, world.seed + 17),
      sites_(options()) {
  const Impairment& wan = world_.wan;
  wan_.begin(sites_, world_.has(FaultKind::Relink) ? 3 : 1,
             wan.delay * 2 + wan.jitter_max + wan.reorder_delay);
  watch_.begin(sites_);
  sites_.watch(verdicts_);
  sites_.watch(watch_);
  for (int site = 1; site <= sites_.count(); ++site) {
    talkers_.push_back(std::make_unique<Talker>(sites_, site, ledger_));
    sites_.add_host(site, *talkers_.back());
  }
  for (const Talk& talk : world_.talks) {
    talker(talk.from).add(talk);
    talker(talk.to).add(talk);
  }
  plan_faults();
}

SitesOptions Life::options() {
  return {.seed = world_.seed,
          .files = world_.files(),
          .wan = world_.wan,
          .icrc = world_.delivers_damage ? IcrcMode::None : IcrcMode::Exact,
          .has_hosts = false,
          .tap = this,
          .turns = &watch_,
          .serves_relinks = world_.has(FaultKind::Relink),
          .keys = &seals_};
}

void Life::on_sent(const WanEnd& end, const Packet& packet, Instant now) {
  wan_.on_sent(end, packet, now);
  const uint64_t before = HeapWatch::allocation_count();
  if (world_.text.is_sealed) seals_.on_sent(end, packet, now);
  if (!seals_.complaint().empty()) verdicts_.complain_of("seal", seals_.complaint());
  intruder_.hear({end.site, end.other(), packet.path}, end.link, packet);
  watch_.forgive(HeapWatch::allocation_count() - before);
}

// ---- faults

void Life::plan_faults() {
  for (const Fault& fault : world_.faults) {
    events_.emplace(fault.at, [this, &fault] { begin(fault); });
  }
}

void Life::begin(const Fault& fault) {
  const Instant now = sites_.now();
  const int site = fault.route.from;
  switch (fault.kind) {
    case FaultKind::Pause:
      return sites_.pause(site, fault.length);
    case FaultKind::Crash:
      if (!sites_.seat(site).is_alive()) return;
      sites_.crash(site);
      wan_.on_crash(site);
      events_.emplace(now + fault.length, [this, site] { sites_.start(site); });
      return;
    case FaultKind::Blackout:
      return change(fault, [&](Impairment& wan) {
        wan.blackout = {.start = now, .length = fault.length, .period = {}};
      });
    case FaultKind::Longer:
      return change(fault, [&](Impairment& wan) { wan = fault.wan; });
    case FaultKind::Swap:
      return swap(fault);
    case FaultKind::Reload:
      if (!sites_.seat(site).is_alive()) return;
      return sites_.seat(site).take_live_keys(
          world_.files(fault.text)[static_cast<size_t>(site - 1)], now);
    case FaultKind::Relink:
      return relink(fault);
  }
}

/// The others at even distances, from this one on.
void Life::relink(const Fault& fault) {
  const std::vector<std::string> files = world_.files(fault.text);
  for (int i = 0; i < sites_.count(); ++i) {
    const int site = (fault.route.from - 1 + i) % sites_.count() + 1;
    const auto begin = [this, site, file = files[static_cast<size_t>(site - 1)]] {
      if (sites_.seat(site).is_alive()) (void)sites_.seat(site).relink(file, sites_.now());
    };
    events_.emplace(sites_.now() + fault.length * i / sites_.count(), begin);
  }
}

/// As soon as can be: what a link that is down has not taken is wanted again a little later.
void Life::swap(const Fault& fault) {
  constexpr Duration again = 100_ms;
  const int site = fault.route.from;
  if (!sites_.seat(site).is_alive()) return;
  const auto all = policy::for_streams();
  const cw_policy_ops& ops = **std::ranges::find_if(
      all, [&](const cw_policy_ops* each) { return fault.policy == each->name; });
  sites_.seat(site).site().want_policies(
      {{fault.class_index, sdr::named({&ops, config::default_params(ops)})}}, sites_.now());
  const auto pursue = [this, site] {
    if (sites_.seat(site).is_alive()) sites_.seat(site).site().pursue_swaps(sites_.now());
  };
  for (int i = 1; i <= 3; ++i) events_.emplace(sites_.now() + again * i, pursue);
}

/// Both ways, by one path or by all.
void Life::change(const Fault& fault, const std::function<void(Impairment&)>& how) {
  const uint16_t first = fault.is_all_paths ? 0 : fault.route.path;
  const uint16_t end = fault.is_all_paths ? sites_.paths() : static_cast<uint16_t>(first + 1);
  for (uint16_t path = first; path < end; ++path) {
    for (const WanRoute& route : {WanRoute{fault.route.from, fault.route.to, path},
                                  WanRoute{fault.route.to, fault.route.from, path}}) {
      Impairment& wan = routes_.try_emplace(key_of(route), world_.wan).first->second;
      how(wan);
      sites_.set_wan(route, wan);
    }
  }
}

/// False when somebody complained.
bool Life::run_to(Instant end) {
  const auto act = [this] {
    intruder_.speak(sites_);
    while (!events_.empty() && events_.begin()->first <= sites_.now()) {
      const auto event = events_.extract(events_.begin());
      event.mapped()();
    }
    return false;
  };
  while (verdicts_.is_clean() && sites_.now() < end) {
    const Instant next = events_.empty() ? end : std::min(events_.begin()->first, end);
    sites_.run_until(act, std::max(next, sites_.now()));
  }
  return verdicts_.is_clean();
}

// ---- the acts

std::string Life::live() {
  live_with_faults();
  if (verdicts_.is_clean()) calm_down();
  if (verdicts_.is_clean()) prove_recovery();
  if (verdicts_.is_clean()) prove_liveness();
  if (verdicts_.is_clean()) check_resends();
  if (verdicts_.is_clean() && world_.is_exact()) watch_.check_policies();
  return sites_.final_complaint().value_or("");
}

void Life::live_with_faults() { run_to(Instant() + world_.faults_time); }

void Life::calm_down() {
  intruder_.fall_silent();
  events_.clear();
  sites_.set_wan({.delay = world_.one_way});
  for (int site = 1; site <= sites_.count(); ++site) {
    if (!sites_.seat(site).is_alive()) sites_.start(site);
    talker(site).fall_silent();
  }
  run_to(sites_.now() + world_.recovery_max());
  // Links that take the place of others have gone on with that, and are no fault.
  const auto is_between = [this](int site) {
    const auto phase = sites_.gateway(site).relink().phase();
    return phase == site::Relink::Phase::Moved || phase == site::Relink::Phase::Ending;
  };
  for (const Instant end = sites_.now() + 20_s; sites_.now() < end;) {
    bool is_any = false;
    for (int site = 1; site <= sites_.count(); ++site) is_any |= is_between(site);
    if (!is_any || !run_to(sites_.now() + 10_ms)) break;
  }
  // At a rate that is low yet, windows of hosts take their time.
  const auto is_done = [](const auto& each) { return each->is_done(); };
  for (const Instant end = sites_.now() + 60_s; sites_.now() < end;) {
    if (std::ranges::all_of(talkers_, is_done) || !run_to(sites_.now() + 10_ms)) return;
  }
}

void Life::prove_recovery() {
  constexpr uint64_t frames = 30;
  // Next to nothing, even at the least rate that there is: how fast a rate that was right for a
  // line which is another now grows again is not the question here.
  const Duration apart = 10_ms * static_cast<int64_t>(world_.classes.size());
  uint16_t number = first_proof;
  std::vector<Talk> proofs;
  for (int from = 1; from <= sites_.count(); ++from) {
    for (int to = 1; to <= sites_.count(); ++to) {
      for (const ClassWorld& each : world_.classes) {
        if (from == to) continue;
        Talk talk{.style = style_of(each.name), .number = ++number, .from = from, .to = to};
        talk.bytes = 500;
        talk.rate = Rate::from_bps(uint64_t{8} * talk.bytes * 1'000'000'000 /
                                   static_cast<uint64_t>(apart.ns()));
        talk.begin = sites_.now();
        talk.frames = frames;
        talk.window = frames;
        talk.timeout = 3_s;  // nobody asks twice before it is judged
        talker(from).add(talk);
        talker(to).add(talk);
        proofs.push_back(talk);
      }
    }
  }
  Duration time = apart * static_cast<int64_t>(frames) + world_.one_way * 3 + 60_ms;
  // One set of links may take the place of another meanwhile: what comes in turn waits a little.
  if (world_.has(FaultKind::Relink)) time = time + world_.one_way * 8 + 60_ms;
  if (!run_to(sites_.now() + time)) return;
  for (const Talk& talk : proofs) {
    const uint64_t arrived = ledger_.arrived_since(talk.number, 0);
    if (arrived >= frames) continue;  // replayed ones come twice where nobody looks
    verdicts_.complain_of(
        "recovery", std::to_string(world_.recovery_max().ms()) + " ms after the faults, site " +
                        std::to_string(talk.from) + " to " + std::to_string(talk.to) + ": " +
                        std::to_string(arrived) + " of " + std::to_string(frames) +
                        " frames arrived within " + std::to_string(time.ms()) + " ms, at " +
                        watch_.rates(talk.from) + "; there " + watch_.links(talk.from) + ", here " +
                        watch_.links(talk.to) + "; " + watch_.unsettled());
  }
}

void Life::prove_liveness() {
  const auto is_over = [this] {
    return std::ranges::all_of(talkers_, [](const auto& each) { return each->is_done(); }) &&
           watch_.is_settled();
  };
  constexpr Duration patience = 10_s;
  const Instant end = sites_.now() + patience;
  while (sites_.now() < end && !is_over()) {
    if (!run_to(sites_.now() + 10_ms)) return;
  }
  if (!is_over()) {
    return verdicts_.complain_of(
        "liveness", "nobody sends anything new for " + std::to_string(patience.seconds()) +
                        " s, and still not all is settled: " + watch_.unsettled());
  }
  if (world_.is_exact() && watch_.has_first_epochs()) watch_.check_between_sites();
}

/// One of several ways that grows looks like loss, as what left later comes by another, until three
/// echoes are back by it, which are asked for four times in a round trip: slots that left by it
/// meanwhile, at both ends. And a line's queue may fill in less than the echo takes to tell of it:
/// slots that it holds.
uint64_t Life::slots_taken_for_lost() {
  const uint64_t slot_bytes = sites_.seat(1).plan().wan.payload_bytes_max;
  uint64_t slots = 0;
  if (world_.wan.rate > Rate()) {
    slots += world_.wan.rate.bytes_in(world_.wan.queue_time).count() / slot_bytes;
  }
  Duration back = world_.wan.delay;  // by the longest way that there has been
  for (const Fault& fault : world_.faults) {
    if (fault.kind != FaultKind::Longer) continue;
    back = std::max(back, fault.wan.delay);
    if (fault.is_all_paths || world_.paths < 2) continue;
    const Duration rtt = fault.wan.delay + back;
    slots += 2 * world_.rate.bytes_in(rtt + rtt / 2).count() / slot_bytes / world_.paths;
  }
  return slots;
}

void Life::check_resends() {
  if (!world_.promises_few_resends()) return;
  for (size_t i = 0; i < world_.classes.size(); ++i) {
    if (!world_.classes[i].mends_by_need()) continue;
    const WanWatch::Totals totals = wan_.totals(i);
    const auto most = std::max(of_losses * static_cast<double>(totals.lost),
                               of_slots * static_cast<double>(totals.sent));
    const uint64_t few = of_few * totals.links + slots_taken_for_lost();
    const uint64_t for_nothing = totals.arrived_again - totals.unheard;
    if (for_nothing <= static_cast<uint64_t>(most) + few) continue;
    verdicts_.complain_of(
        "resends", std::to_string(for_nothing) + " of " + std::to_string(totals.resent) +
                       " resends were for nothing; class " + world_.classes[i].name + " lost " +
                       std::to_string(totals.lost) + " slots of " + std::to_string(totals.sent));
  }
}

}  // namespace cw::sim
