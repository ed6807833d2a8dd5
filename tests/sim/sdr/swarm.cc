#include "tests/sim/sdr/swarm.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/sdr/seat/policy_needs.h"
#include "offload/codec/codecs.h"
#include "tests/sim/program/draws.h"

namespace cw::sim {
namespace {
using namespace literals;

void draw_losses(Prng& prng, Impairment& wire) {
  if (prng.chance(0.6)) wire.loss = prng.uniform() * 0.03;
  if (prng.chance(0.3)) {
    const double burst = 1 + prng.uniform() * 9;
    wire.gilbert_elliott = GilbertElliott::from_burst(burst, prng.uniform() * 0.02);
  }
  if (prng.chance(0.3)) {
    wire.bursts.loss = prng.uniform() * 0.02;
    wire.bursts.profile = burst_profiles[prng.below(std::size(burst_profiles))];
  }
  if (prng.chance(0.2)) {
    wire.blackout = {.start = Instant::from_ns(0) + between(prng, 0_ms, 300_ms),
                     .length = between(prng, 1_ms, 60_ms),
                     .period = between(prng, 200_ms, 2_s)};
  }
}

/// How late one packet may be behind another stays below the two round trips that four generations
/// can tell apart (stream_config.h).
void draw_disorder(Prng& prng, Impairment& wire) {
  const Duration late_max = wire.delay / 2;
  if (prng.chance(0.4)) {
    wire.jitter_max = between(prng, Duration::from_ns(1), late_max);
    wire.jitter_reorders = prng.chance(0.7);
  }
  if (prng.chance(0.3)) {
    wire.reorder = prng.uniform() * 0.02;
    wire.reorder_delay = between(prng, Duration::from_ns(1), late_max);
  }
  if (prng.chance(0.4)) {
    wire.duplicate = prng.uniform() * 0.05;
    wire.copies_max = static_cast<uint32_t>(prng.between(2, impairment_copies_max));
  }
  if (prng.chance(0.4)) wire.corrupt = prng.uniform() * 0.005;
}

/// A line that is narrower than what the pacer sends, with a short queue in front of it.
void draw_line(Prng& prng, Impairment& wire, Rate paced) {
  if (!prng.chance(0.25)) return;
  wire.rate = paced.scaled(0.7 + prng.uniform());
  wire.queue_time = between(prng, wire.delay / 16, wire.delay / 4);
  if (prng.chance(0.5)) wire.mark_above = wire.queue_time / 2;
}

Impairment draw_wire(Prng& prng, Rate paced) {
  Impairment wire{.delay = between(prng, 50_us, 30_ms)};
  draw_losses(prng, wire);
  draw_disorder(prng, wire);
  draw_line(prng, wire, paced);
  return wire;
}

const cw_policy_ops* draw_policy(Prng& prng) {
  constexpr std::array<const cw_policy_ops* (*)(), 10> weighted{
      cw_policy_selective_repeat, cw_policy_selective_repeat,
      cw_policy_selective_repeat, cw_policy_erasure,
      cw_policy_erasure,          cw_policy_hybrid,
      cw_policy_hybrid,           cw_policy_layered_interleave,
      cw_policy_go_back_n,        cw_policy_passthrough};
  return pick(prng, weighted)();
}

/// Its parameters: the defaults, save for small blocks, of which a message has several.
std::vector<double> draw_params(Prng& prng, const cw_policy_ops& policy) {
  const double k = pick(prng, std::array{2.0, 4.0, 8.0, 16.0});
  const double m = static_cast<double>(prng.between(1, static_cast<uint64_t>(k)));
  const double rows = static_cast<double>(prng.between(1, 4));
  const std::vector<std::pair<std::string_view, double>> drawn{
      {"k", k},
      {"m", m},
      {"m_max", prng.chance(0.5) ? 0 : m},
      {"rows", rows},
      {"r", k},
      {"c", static_cast<double>(prng.between(1, 3))},
      {"detect", double(prng.chance(0.5))}};
  std::vector<double> params;
  for (uint32_t i = 0; i < policy.param_count; ++i) {
    const auto is_it = [&](const auto& each) { return each.first == policy.params[i].name; };
    const auto found = std::ranges::find_if(drawn, is_it);
    params.push_back(found == drawn.end() ? policy.params[i].initial : found->second);
  }
  return params;
}

/// Blocks as the policy wants them, in messages that have room for one at least.
void make_coded(SiteOptions& site) {
  const sdr::PolicyChoice policy{site.policy, site.policy_params};
  const cw_policy_limits needs = sdr::needs_of(policy, site.stream, {});
  if (needs.rows == 0) return;
  site.stream.data_slots_max = std::max(site.stream.data_slots_max, needs.rows * needs.k);
  site.stream = sdr::coded(site.stream, needs, code::all());
}

void draw_stream(Prng& prng, sdr::StreamConfig& stream) {
  const std::array<ImmediateSplit, 4> splits{
      split_default, split_long_messages, {6, 18, 8}, {8, 24, 0}};
  stream.split = pick(prng, splits);
  stream.messages = 1u << prng.between(1, 5);
  stream.data_slots_max = static_cast<uint32_t>(prng.between(1, 300));
  stream.chunk_slots = static_cast<uint32_t>(prng.between(1, 40));
  stream.channels = static_cast<uint8_t>(prng.between(1, 4));
  stream.payload_bytes = pick(prng, std::array<uint32_t, 5>{256, 300, 512, 1024, 1500});
  if (prng.chance(0.3)) stream.first_seq = MessageSeq() - static_cast<uint32_t>(prng.below(50));
}

/// Messages are so many that every world makes about the same number of packets.
CourierOptions draw_courier(Prng& prng, const SiteOptions& site) {
  constexpr uint64_t slots_wanted = 12'000;
  CourierOptions courier;
  courier.bytes_max = site.stream.message_bytes_max();
  const uint64_t salt = prng.next();
  const uint64_t range =
      prng.chance(0.2) ? std::min<uint64_t>(courier.bytes_max, 3000) : courier.bytes_max;
  courier.bytes_of = [salt, range](uint64_t i) { return Prng(salt + i).below(range + 1); };
  const uint64_t mean = std::max<uint64_t>(1, range / site.stream.payload_bytes / 2);
  courier.messages = std::min<uint64_t>(slots_wanted / mean, 3000);
  courier.in_flight = prng.between(1, site.stream.messages);
  courier.posted = prng.between(1, site.stream.messages);
  if (prng.chance(0.3)) courier.pieces = static_cast<uint32_t>(prng.between(2, 64));
  if (site.policy == cw_policy_passthrough()) courier.patience = between(prng, 1_ms, 100_ms);
  courier.seed = prng.next();
  return courier;
}

/// Ends that crash, start anew, or stand still.
std::vector<Blow> draw_blows(Prng& prng) {
  std::vector<Blow> blows;
  if (!prng.chance(0.4)) return blows;
  for (uint64_t left = prng.between(1, 6); left > 0; --left) {
    Blow blow{.after = between(prng, 1_us, 300_ms)};
    blow.what = prng.chance(0.6) ? Blow::What::Restart : Blow::What::Pause;
    const uint64_t who = prng.between(1, 3);
    blow.hits_sender = (who & 1) != 0;
    blow.hits_receiver = (who & 2) != 0;
    blow.pause = between(prng, 1_ms, 300_ms);
    blows.push_back(blow);
  }
  return blows;
}

/// Orders of either end, of what the stream has room for or not. Who was to lose nothing gets
/// nobody who may.
void draw_swaps(Prng& prng, WorldOptions& world) {
  const auto all = policy::for_streams();
  world.site.knows.assign(all.begin(), all.end());
  for (uint64_t left = prng.between(1, 12); left > 0; --left) {
    Blow blow{.after = between(prng, 1_us, 60_ms), .what = Blow::What::Swap};
    blow.policy = draw_policy(prng);
    if (blow.policy == cw_policy_passthrough()) blow.policy = world.site.policy;
    blow.params = blow.policy == world.site.policy && prng.chance(0.5)
                      ? world.site.policy_params
                      : draw_params(prng, *blow.policy);
    const uint64_t who = prng.below(4);
    blow.hits_sender = who != 3;
    blow.hits_receiver = who >= 2;
    const auto place = static_cast<ptrdiff_t>(prng.below(world.blows.size() + 1));
    world.blows.insert(world.blows.begin() + place, blow);
  }
}

StrangerOptions draw_stranger(Prng& prng) {
  StrangerOptions stranger{.seed = prng.next()};
  if (!prng.chance(0.4)) return stranger;
  stranger.interval = between(prng, 100_us, 10_ms);
  stranger.forges = prng.uniform();
  stranger.row_max = static_cast<uint32_t>(prng.between(1, 100));
  return stranger;
}

/// For what is left over when the calm begins: a few round trips per message after message, and
/// what a timeout that has doubled all the way may add once.
Duration calm_needed(const WorldOptions& world) {
  const size_t at_once = std::min(world.courier.in_flight, world.courier.posted);
  const auto rounds = static_cast<int64_t>(world.courier.messages / at_once + 1);
  return 30_s + world.back.delay * 2 * 4 * rounds;
}

}  // namespace

WorldOptions swarm_world(uint64_t seed) {
  Prng prng(seed);
  WorldOptions world;
  world.seed = seed;
  SiteOptions& site = world.site;
  site.paths = pick(prng, std::array<uint16_t, 4>{1, 1, 2, 4});
  site.rate = Rate::from_mbps(prng.between(100, 5'000));
  site.policy = draw_policy(prng);
  site.policy_params = draw_params(prng, *site.policy);
  draw_stream(prng, site.stream);
  make_coded(site);
  world.courier = draw_courier(prng, site);
  world.back = draw_wire(prng, site.rate);
  world.wires.assign(site.paths, world.back);
  // Paths differ by up to a quarter of their length.
  for (uint16_t path = 1; path < site.paths; ++path) {
    world.wires[path].delay = world.back.delay + between(prng, 0_ns, world.back.delay / 4);
  }
  world.blows = draw_blows(prng);
  world.stranger = draw_stranger(prng);
  // Two generations are enough only where nothing overtakes (stream_config.h).
  const bool is_orderly = site.paths == 1 && !world.back.jitter_reorders &&
                          world.back.reorder == 0 && world.back.duplicate == 0 &&
                          world.stranger.interval == Duration::max();
  site.stream.generations = is_orderly && prng.chance(0.5) ? 2 : 4;
  world.sender_has_rnic = prng.chance(0.25);
  world.receiver_has_rnic = prng.chance(0.25);
  world.offload = static_cast<uint32_t>(world.seed % 4);  // no draw: other worlds stay as they are
  Prng of_seals(seed ^ 0x5ea1);                           // nor of this
  const bool has_rnic = world.sender_has_rnic || world.receiver_has_rnic;
  // No seed draws the keys of a handshake: small seeds stay the same run to the last packet.
  world.is_sealed = seed > 10'000 && of_seals.chance(has_rnic ? 0.4 : 0.1);
  Prng of_swaps(seed ^ 0x5a9);  // other worlds stay as they are
  if (of_swaps.chance(0.3)) draw_swaps(of_swaps, world);
  world.calm_from = world.courier.messages * 3 / 4;
  world.calm_max = calm_needed(world);
  return world;
}

std::string describe(const WorldOptions& world) {
  const sdr::StreamConfig& stream = world.site.stream;
  const CourierOptions& courier = world.courier;
  std::ostringstream text;
  if (world.sender_has_rnic) text << "from an RNIC, ";
  if (world.receiver_has_rnic) text << "to an RNIC, ";
  const bool has_rnic = world.sender_has_rnic || world.receiver_has_rnic;
  if (world.is_sealed) text << "sealed, ";
  if (has_rnic && world.offload > 0 && !world.is_sealed)
    text << "bits by " << world.offload << " others, ";
  text << world.site.policy->name << ", " << world.site.paths << " paths of "
       << world.back.delay.us() << " us, " << world.site.rate.bps() / 1'000'000 << " Mbit/s, "
       << courier.messages << " messages up to " << stream.data_slots_max << " x "
       << stream.payload_bytes << " bytes, " << stream.messages << " ids, "
       << int{stream.generations} << " generations, " << int{stream.channels}
       << " channels, chunks of " << stream.chunk_slots << ", " << courier.in_flight
       << " in flight, " << courier.posted << " posted, loss " << world.back.loss;
  if (stream.k > 0) {
    text << ", blocks of " << stream.rows << " x " << int{stream.k} << " + " << stream.m_cap;
  }
  if (courier.pieces > 1) text << ", " << courier.pieces << " pieces";
  if (courier.patience != Duration::max()) text << ", patience " << courier.patience.ms() << " ms";
  for (const Blow& blow : world.blows) {
    text << ", after " << blow.after.us() << " us "
         << (blow.hits_sender && blow.hits_receiver ? "both"
             : blow.hits_sender                     ? "sender"
                                                    : "receiver");
    if (blow.what == Blow::What::Restart) text << " restarted";
    if (blow.what == Blow::What::Swap) text << " swaps to " << blow.policy->name;
    if (blow.what == Blow::What::Pause) text << " still for " << blow.pause.ms() << " ms";
  }
  if (world.stranger.interval != Duration::max()) {
    text << ", a stranger every " << world.stranger.interval.us() << " us";
  }
  return text.str();
}

SwarmRun run_swarm(const WorldOptions& options) {
  World world(options);
  world.run_faults();
  SwarmRun run;
  run.faulty_packets = world.packets();
  run.complaint = world.run_calm();
  run.packets = world.packets();
  run.turns = world.turn_count();
  run.trace_hash = world.trace_hash();
  return run;
}

}  // namespace cw::sim
