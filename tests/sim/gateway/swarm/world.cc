#include "tests/sim/gateway/swarm/world.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "dataplane/base/prng.h"
#include "tests/sim/program/draws.h"

namespace cw::sim {
namespace {
using namespace literals;

Instant within(Prng& prng, Duration time) { return Instant() + between(prng, 0_ns, time); }

// ---- wires

void draw_losses(Prng& prng, Impairment& wan) {
  if (prng.chance(0.5)) wan.loss = prng.uniform() * pick(prng, std::array{0.002, 0.01, 0.04});
  if (prng.chance(0.25)) {
    wan.gilbert_elliott =
        GilbertElliott::from_burst(1 + prng.uniform() * 30, prng.uniform() * 0.02);
  }
  if (prng.chance(0.25)) {
    wan.bursts.loss = prng.uniform() * 0.02;
    wan.bursts.profile = burst_profiles[prng.below(std::size(burst_profiles))];
  }
}

void draw_disorder(Prng& prng, Impairment& wan) {
  if (prng.chance(0.4)) {
    wan.jitter_max = between(prng, 1_us, wan.delay * 2);
    wan.jitter_reorders = prng.chance(0.5);
  }
  if (prng.chance(0.3)) {
    wan.reorder = prng.uniform() * 0.03;
    wan.reorder_delay = between(prng, 1_us, wan.delay * 3 / 2);
  }
  if (prng.chance(0.3)) {
    wan.duplicate = prng.uniform() * 0.05;
    wan.copies_max = static_cast<uint32_t>(prng.between(2, impairment_copies_max));
  }
  if (prng.chance(0.3)) wan.corrupt = prng.uniform() * 0.005;
}

/// A line that is narrower than what the gateway believes, with a queue in front of it.
void draw_line(Prng& prng, const SwarmWorld& world, Impairment& wan) {
  if (!prng.chance(0.25)) return;
  wan.rate = world.rate.scaled((0.6 + prng.uniform()) / world.paths);
  wan.queue_time = between(prng, 2_ms, 40_ms);
  if (prng.chance(0.5)) wan.mark_above = wan.queue_time / 2;
}

void draw_wan(Prng& prng, SwarmWorld& world) {
  world.one_way = between(prng, 500_us, 30_ms);
  world.wan.delay = world.one_way;
  draw_losses(prng, world.wan);
  draw_disorder(prng, world.wan);
  draw_line(prng, world, world.wan);
  world.delivers_damage = world.wan.corrupt > 0 && prng.chance(0.4);
  if (prng.chance(0.15)) world.intruder.replays = 0.001 + prng.uniform() * 0.02;
  if (prng.chance(0.1)) world.intruder.forges = 0.0005 + prng.uniform() * 0.01;
}

// ---- what gets worse for a time

WanRoute draw_route(Prng& prng, const SwarmWorld& world) {
  const auto sites = static_cast<uint64_t>(world.sites);
  WanRoute route;
  route.from = static_cast<int>(prng.between(1, sites));
  route.to = static_cast<int>(prng.between(1, sites - 1));
  if (route.to >= route.from) ++route.to;
  route.path = static_cast<uint16_t>(prng.below(world.paths));
  return route;
}

void add_faults(Prng& prng, SwarmWorld& world, FaultKind kind, Duration longest) {
  for (uint64_t i = prng.between(1, 4); i > 0; --i) {
    Fault fault{.kind = kind,
                .at = within(prng, world.faults_time * 9 / 10),
                .length = between(prng, longest / 20, longest),
                .route = draw_route(prng, world),
                .is_all_paths = prng.chance(0.5),
                .wan = world.wan};
    // pair.rtt is the longest that is promised.
    fault.wan.delay = between(prng, world.one_way / 2, world.one_way);
    fault.wan.jitter_max = std::min(fault.wan.jitter_max, fault.wan.delay);
    fault.wan.reorder_delay = std::min(fault.wan.reorder_delay, fault.wan.delay);
    world.faults.push_back(fault);
  }
}

/// The same ways, the shorter ones first.
void let_ways_grow(SwarmWorld& world) {
  std::vector<Duration> delays{world.one_way};
  for (const Fault& fault : world.faults) {
    if (fault.kind == FaultKind::Longer) delays.push_back(fault.wan.delay);
  }
  std::ranges::sort(delays);
  auto next = delays.begin();
  world.wan.delay = *next++;
  for (Fault& fault : world.faults) {
    if (fault.kind == FaultKind::Longer) fault.wan.delay = *next++;
  }
  world.ways_only_grow = true;
}

void draw_faults(Prng& prng, SwarmWorld& world) {
  if (prng.chance(0.35)) add_faults(prng, world, FaultKind::Pause, 150_ms);
  if (prng.chance(0.3)) add_faults(prng, world, FaultKind::Crash, 300_ms);
  if (prng.chance(0.3)) add_faults(prng, world, FaultKind::Blackout, 1500_ms);
  if (prng.chance(0.2)) add_faults(prng, world, FaultKind::Longer, 1_ms);
  std::ranges::sort(world.faults, {}, &Fault::at);
  if (Prng(world.seed).chance(0.5)) let_ways_grow(world);
  for (const Fault& fault : world.faults) {
    if (fault.kind == FaultKind::Pause) world.pause_max += fault.length;
  }
}

/// Among those that resend what they take for lost, whether there is room for their blocks or not.
/// Other worlds stay as they are.
void draw_swaps(Prng prng, SwarmWorld& world) {
  constexpr std::array<const char*, 3> policies{"selective_repeat", "hybrid", "erasure"};
  if (!prng.chance(0.3)) return;
  for (uint64_t i = prng.between(1, 12); i > 0; --i) {
    Fault fault{.kind = FaultKind::Swap, .at = within(prng, world.faults_time * 9 / 10)};
    fault.route.from = static_cast<int>(prng.between(1, static_cast<uint64_t>(world.sites)));
    fault.class_index = static_cast<uint16_t>(prng.below(world.classes.size()));
    fault.policy = pick(prng, policies);
    if (world.classes[fault.class_index].mends_by_need()) world.faults.push_back(fault);
  }
  std::ranges::sort(world.faults, {}, [](const Fault& it) { return std::pair(it.at, it.kind); });
}

// ---- configuration

std::string quoted(const std::string& text) { return "\"" + text + "\""; }
std::string ns_text(Duration time) { return quoted(std::to_string(time.ns()) + " ns"); }

std::string params_of(Prng& prng, const std::string& policy) {
  const bool is_coded = policy == "erasure" || policy == "hybrid";
  if (!is_coded || prng.chance(0.4)) return "";
  const uint64_t k = prng.between(4, 32);
  return "params = { k = " + std::to_string(k) +
         ", m = " + std::to_string(prng.between(1, std::max<uint64_t>(k / 4, 1))) + " }\n";
}

void add_class(Prng& prng, SwarmWorld& world, const std::string& name, const std::string& match) {
  const std::array<std::string, 6> policies{"selective_repeat", "selective_repeat", "hybrid",
                                            "erasure",          "passthrough",      "go_back_n"};
  const std::string policy =
      prng.chance(0.08) ? std::string("layered_interleave") : pick(prng, policies);
  std::string text = "[[class]]\nname = " + quoted(name) + "\npolicy = " + quoted(policy) + "\n" +
                     "hold = " + ns_text(world.hold_max) + "\n";
  if (!match.empty()) text += "match = [{ kind = " + quoted(match) + " }]\n";
  if (match == "roce") text += "host_timeout = \"10 s\"\n";
  if (prng.chance(0.3)) text += "weight = " + std::to_string(prng.between(1, 9)) + "\n";
  if (prng.chance(0.3)) text += "queue = " + ns_text(between(prng, 5_ms, 100_ms)) + "\n";
  text += params_of(prng, policy);
  world.text.classes += text;
  world.classes.push_back({name, policy});
}

void draw_text(Prng& prng, SwarmWorld& world) {
  SiteText& text = world.text;
  text.rate = std::to_string(world.rate.bps()) + " bit/s";
  text.rtt = std::to_string((world.one_way * 2).ns()) + " ns";
  text.wan = "paths = " + std::to_string(world.paths) + "\n";
  if (prng.chance(0.3)) {
    text.wan += "overhead_limit = " + std::to_string(0.05 + prng.uniform() * 0.5) + "\n";
  }
  if (prng.chance(0.3)) text.wan += "adapt = false\n";
  const uint32_t mtu = pick(prng, std::array<uint32_t, 4>{1500, 1500, 700, 4200});
  text.pair = "mtu = " + std::to_string(mtu) + "\n";
  text.lan =
      "mtu = " + std::to_string(pick(prng, std::array<uint32_t, 3>{1500, 1500, 4200})) + "\n";
  world.hold_max = between(prng, 300_ms, 600_ms) + world.one_way * 20;
  if (prng.chance(0.5)) add_class(prng, world, "rdma", "roce");
  if (prng.chance(0.5)) add_class(prng, world, "datagrams", "udp");
  add_class(prng, world, "all", "");
}

// Of chance of its own: what else a seed stands for is as it was when sites had one core.
void draw_shards(Prng prng, SwarmWorld& world) {
  const auto sites = static_cast<size_t>(world.sites);
  world.cores.assign(sites, 1);
  if (!prng.chance(0.3)) return;
  world.links = static_cast<uint16_t>(prng.between(2, 6));
  world.text.pair += "links = " + std::to_string(world.links) + "\n";
  for (size_t& cores : world.cores) cores = prng.between(1, std::min<uint64_t>(world.links, 4));
}

// ---- another file

/// In the last of the tables that `text` holds.
void set_key(std::string& text, const std::string& key, const std::string& value) {
  const size_t last = text.rfind("[[class]]"), table = last == text.npos ? 0 : last;
  const size_t line = text.find("\n" + key + " = ", table);
  if (line != text.npos) text.erase(line + 1, text.find('\n', line + 1) - line);
  text += key + " = " + value + "\n";
}

/// What checkers hold gateways to is what the first file said: so nothing is more than there.
SiteText draw_live_keys(Prng& prng, const SwarmWorld& world) {
  SiteText text = world.text;
  const auto may = [&prng] { return prng.chance(0.4); };
  const Rate rate = world.rate.scaled(0.5 + prng.uniform() / 2);
  if (may()) text.rate = std::to_string(rate.bps()) + " bit/s";
  text.wan.insert(0, "\n");  // before the first line as before all others
  if (may()) set_key(text.wan, "adapt", prng.chance(0.5) ? "true" : "false");
  if (may()) text.lan += "queue = " + ns_text(between(prng, 1_ms, 50_ms)) + "\n";
  if (may())
    text.lan += "release_rate = " + quoted(std::to_string(world.rate.bps() * 8) + " bit/s") + "\n";
  if (may()) set_key(text.classes, "weight", std::to_string(prng.between(1, 100)));
  if (may()) set_key(text.classes, "queue", ns_text(between(prng, 5_ms, 100_ms)));
  if (may()) set_key(text.classes, "mark", prng.chance(0.5) ? "true" : "false");
  if (may()) set_key(text.classes, "block_age", ns_text(between(prng, 500_us, 5_ms)));
  if (may()) set_key(text.classes, "hold", ns_text(world.hold_max * 9 / 10));
  return text;
}

/// At last all is as it was, since what follows is held to that. Other worlds stay as they are.
void draw_reloads(Prng prng, SwarmWorld& world) {
  if (!prng.chance(0.3)) return;
  Fault fault{.kind = FaultKind::Reload};
  fault.route.from = static_cast<int>(prng.between(1, static_cast<uint64_t>(world.sites)));
  for (uint64_t i = prng.between(1, 12); i > 0; --i) {
    fault.at = within(prng, world.faults_time * 9 / 10);
    fault.text = draw_live_keys(prng, world);
    world.faults.push_back(fault);
  }
  fault.at = Instant() + world.faults_time * 9 / 10;
  fault.text = world.text;
  world.faults.push_back(fault);
  std::ranges::sort(world.faults, {}, [](const Fault& it) { return std::pair(it.at, it.kind); });
}

/// Streams stay as they are, as checkers know them; flows of the last class take turns, or do not.
void draw_relinks(Prng prng, SwarmWorld& world) {
  if (!prng.chance(0.25)) return;
  for (uint64_t i = prng.between(1, 3); i > 0; --i) {
    Fault fault{.kind = FaultKind::Relink,
                .at = within(prng, world.faults_time * 9 / 10),
                .length = between(prng, 1_ms, 400_ms)};
    fault.route.from = static_cast<int>(prng.between(1, static_cast<uint64_t>(world.sites)));
    fault.text = world.text;
    set_key(fault.text.classes, "fair", prng.chance(0.5) ? "true" : "false");
    world.faults.push_back(fault);
  }
  std::ranges::sort(world.faults, {}, [](const Fault& it) { return std::pair(it.at, it.kind); });
}

// ---- hosts

void draw_talks(Prng& prng, SwarmWorld& world) {
  uint16_t number = 0;
  for (int from = 1; from <= world.sites; ++from) {
    for (int to = 1; to <= world.sites; ++to) {
      if (from == to) continue;
      const uint64_t count = prng.between(1, 3);
      const Rate share = Rate::from_bps(world.rate.bps() / static_cast<uint64_t>(world.sites - 1));
      for (uint64_t i = 0; i < count; ++i) {
        Talk talk;
        talk.style = static_cast<TalkStyle>(prng.below(3));
        talk.number = ++number;
        talk.from = from, talk.to = to;
        talk.is_v6 = prng.chance(0.3);
        const uint32_t least = frame_bytes_min(talk.is_v6);
        talk.bytes = static_cast<uint32_t>(prng.chance(0.5) ? prng.between(least, 1500)
                                                            : prng.between(1000, 1500));
        talk.rate = share.scaled((0.1 + prng.uniform() * 0.9) / static_cast<double>(count));
        talk.begin = within(prng, world.faults_time / 4);
        talk.window = static_cast<uint32_t>(prng.between(8, 300));
        talk.timeout = world.one_way * 8 + between(prng, 50_ms, 500_ms);
        world.talks.push_back(talk);
      }
    }
  }
}

const char* name_of(FaultKind kind) {
  constexpr std::array<const char*, 7> names{"pauses", "crashes", "blackouts", "other ways",
                                             "swaps",  "reloads", "relinks"};
  return names[static_cast<size_t>(kind)];
}

/// Who sits on the wire is busier where all is sealed: nothing of it may be believed.
void draw_seals(Prng prng, SwarmWorld& world) {
  world.text.is_sealed = prng.chance(0.4);
  if (!world.text.is_sealed || prng.chance(0.5)) return;
  world.intruder.replays = 0.001 + prng.uniform() * 0.05;
  world.intruder.forges = 0.001 + prng.uniform() * 0.05;
}

}  // namespace

bool SwarmWorld::has(FaultKind kind) const {
  return std::ranges::any_of(faults, [kind](const Fault& fault) { return fault.kind == kind; });
}

std::vector<std::string> SwarmWorld::files(const SiteText& said) const {
  std::vector<std::string> all;
  for (size_t site = 0; site < cores.size(); ++site) {
    SiteText own = said;
    own.site += "memory = \"16 GiB\"\n";  // each core has room for all of its pair's rate
    if (cores[site] > 1) {
      own.site += "cores = [0";
      for (size_t i = 1; i < cores[site]; ++i) own.site += ", 0";
      own.site += "]\n";
    }
    all.push_back(site_files(sites, own)[site]);
  }
  return all;
}

bool SwarmWorld::promises_few_resends() const {
  // Who comes by a shorter way overtakes, by all that jitter holds up in its order as well.
  const bool may_overtake =
      !ways_only_grow || (wan.jitter_max > Duration() && !wan.jitter_reorders);
  const auto is_promised = [&](const Fault& fault) {
    return fault.kind == FaultKind::Swap || fault.kind == FaultKind::Reload ||
           fault.kind == FaultKind::Relink || (fault.kind == FaultKind::Longer && !may_overtake) ||
           (fault.kind == FaultKind::Pause && fault.length <= 50_ms);
  };
  return is_exact() && intruder.replays == 0 && std::ranges::all_of(faults, is_promised) &&
         wan.jitter_max + wan.reorder_delay <= wan.delay * 2;
}

// Nothing leaves that is older than hold; what is behind it in its order waits for as long again
// where word of its being given up is lost, and then there are the way itself and its queues. Who
// replays may bring what a blackout took, until the receiver hears that it was given up (7003502).
Duration SwarmWorld::age_max() const {
  const int64_t holds = has(FaultKind::Blackout) && intruder.replays > 0 ? 3 : 2;
  return hold_max * holds + delay_max + one_way * 2 + pause_max + 20_ms;
}

// A link beside another ends its epoch after a second of silence, and begins anew at both ends.
Duration SwarmWorld::recovery_max() const {
  return (has(FaultKind::Relink) ? 4_s : 1_s) + one_way * 2 * 20;
}

SwarmWorld draw_world(uint64_t seed) {
  Prng prng(seed * 0x9e3779b97f4a7c15 + 1);
  SwarmWorld world;
  world.seed = seed;
  world.sites = pick(prng, std::array{2, 2, 2, 2, 2, 3, 4});
  world.paths = pick(prng, std::array<uint16_t, 4>{1, 1, 2, 4});
  world.rate = Rate::from_mbps(prng.between(20, 250));
  world.faults_time = between(prng, 700_ms, 2500_ms);
  draw_wan(prng, world);
  draw_text(prng, world);
  draw_faults(prng, world);
  draw_talks(prng, world);
  draw_seals(Prng(seed + 0x5eb1), world);
  draw_shards(Prng(seed + 0x5ead), world);
  draw_swaps(Prng(seed + 0x5a9), world);
  draw_reloads(Prng(seed + 0x4e10ad), world);
  draw_relinks(Prng(seed + 0x4e119c), world);
  world.delay_max = world.one_way + world.wan.jitter_max + world.wan.reorder_delay;
  if (world.wan.rate > Rate()) world.delay_max += world.wan.queue_time;
  return world;
}

std::string describe(const SwarmWorld& world) {
  std::ostringstream text;
  text << world.sites << " sites of " << world.rate.bps() / 1'000'000 << " Mbit/s, " << world.paths
       << " paths of " << world.one_way.ms() << " ms";
  if (world.links > 1) {
    text << ", " << world.links << " links on";
    for (const size_t cores : world.cores) text << ' ' << cores;
    text << " cores";
  }
  text << "; classes";
  for (const ClassWorld& each : world.classes) text << ' ' << each.name << '=' << each.policy;
  text << "; " << world.talks.size() << " talks for " << world.faults_time.ms() << " ms";
  const Impairment& wan = world.wan;
  text << "; loss " << wan.loss;
  if (wan.gilbert_elliott.to_bad > 0) text << ", in bursts " << wan.gilbert_elliott.mean_loss();
  if (wan.bursts.loss > 0) text << ", as " << wan.bursts.profile.name << ' ' << wan.bursts.loss;
  if (wan.jitter_max > Duration()) {
    text << ", jitter " << wan.jitter_max.ms() << (wan.jitter_reorders ? " ms reordering" : " ms");
  }
  if (wan.reorder > 0) text << ", reordered by " << wan.reorder_delay.ms() << " ms";
  if (wan.duplicate > 0) text << ", doubled " << wan.duplicate;
  if (wan.corrupt > 0) text << ", damaged" << (world.delivers_damage ? " and delivered" : "");
  if (wan.rate > Rate()) {
    text << ", line " << wan.rate.bps() / 1'000'000 << " Mbit/s a path, queue "
         << wan.queue_time.ms() << " ms";
  }
  for (const auto kind :
       {FaultKind::Pause, FaultKind::Crash, FaultKind::Blackout, FaultKind::Longer, FaultKind::Swap,
        FaultKind::Reload, FaultKind::Relink}) {
    if (world.has(kind)) text << ", " << name_of(kind);
  }
  if (world.intruder.replays > 0) text << ", replays";
  if (world.intruder.forges > 0) text << ", forges";
  if (world.text.is_sealed) text << ", sealed";
  return text.str();
}

}  // namespace cw::sim
