#include "tests/sim/sdr/swarm.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "dataplane/base/prng.h"

namespace cw::sim {
namespace {
using namespace literals;

template <class Value, size_t Count>
Value pick(Prng& prng, const std::array<Value, Count>& values) {
  return values[prng.below(Count)];
}

Duration between(Prng& prng, Duration low, Duration high) {
  return Duration::from_ns(static_cast<int64_t>(
      prng.between(static_cast<uint64_t>(low.ns()), static_cast<uint64_t>(high.ns()))));
}

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

void draw_policy(Prng& prng, StoryOptions& story) {
  switch (prng.below(8)) {
    case 0:
    case 1:
    case 2:
      story.site.policy = cw_policy_selective_repeat();
      story.site.policy_params = {0};  // rto
      return;
    case 3:
    case 4:
    case 5:
      story.site.policy = cw_policy_selective_repeat();
      story.site.policy_params = {1};  // nack
      return;
    case 6:
      story.site.policy = cw_policy_go_back_n();
      return;
    default:
      story.site.policy = cw_policy_passthrough();
      story.transfer.patience = between(prng, 1_ms, 100_ms);
  }
}

void draw_stream(Prng& prng, StoryOptions& story) {
  sdr::StreamConfig& stream = story.site.stream;
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

/// Messages are so many that every story makes about the same number of packets.
void draw_transfer(Prng& prng, StoryOptions& story) {
  constexpr uint64_t slots_wanted = 15'000;
  const uint64_t bytes_max = story.site.stream.message_bytes_max();
  const uint64_t salt = prng.next();
  const bool small = prng.chance(0.2);
  const uint64_t range = small ? std::min<uint64_t>(bytes_max, 3000) : bytes_max;
  story.transfer.bytes_of = [salt, range](uint64_t i) { return Prng(salt + i).below(range + 1); };
  const uint64_t mean = std::max<uint64_t>(1, range / story.site.stream.payload_bytes / 2);
  story.transfer.messages = std::min<uint64_t>(slots_wanted / mean, 3000);
  story.transfer.in_flight = static_cast<uint32_t>(prng.between(1, story.site.stream.messages));
  story.transfer.posted = static_cast<uint32_t>(prng.between(1, story.site.stream.messages));
  if (prng.chance(0.3)) story.transfer.pieces = static_cast<uint32_t>(prng.between(2, 64));
  story.transfer.seed = prng.next();
}

/// For what is left over when the calm begins: a few round trips per message after message, and
/// what a timeout that has doubled all the way may add once.
Duration calm_needed(const StoryOptions& story) {
  const uint32_t at_once = std::min(story.transfer.in_flight, story.transfer.posted);
  const auto rounds = static_cast<int64_t>(story.transfer.messages / at_once + 1);
  return 30_s + story.wire.delay * 2 * 4 * rounds;
}

}  // namespace

StoryOptions swarm_story(uint64_t seed) {
  Prng prng(seed);
  StoryOptions story;
  story.seed = seed;
  story.payload_max = 2048;
  story.site.paths = pick(prng, std::array<uint16_t, 4>{1, 1, 2, 4});
  story.site.rate = Rate::from_mbps(prng.between(100, 5'000));
  draw_policy(prng, story);
  draw_stream(prng, story);
  draw_transfer(prng, story);
  story.wire = draw_wire(prng, story.site.rate);
  // Two generations are enough only where nothing overtakes (stream_config.h).
  const bool is_orderly = story.site.paths == 1 && !story.wire.jitter_reorders &&
                          story.wire.reorder == 0 && story.wire.duplicate == 0;
  story.site.stream.generations = is_orderly && prng.chance(0.5) ? 2 : 4;
  story.calm_max = calm_needed(story);
  story.age_max = 100_s;
  return story;
}

std::string describe(const StoryOptions& story) {
  const sdr::StreamConfig& stream = story.site.stream;
  std::ostringstream text;
  text << story.site.policy->name << ", " << story.site.paths << " paths of "
       << story.wire.delay.us() << " us, " << story.site.rate.bps() / 1'000'000 << " Mbit/s, "
       << story.transfer.messages << " messages up to " << stream.data_slots_max << " x "
       << stream.payload_bytes << " bytes, " << stream.messages << " ids, "
       << int{stream.generations} << " generations, " << int{stream.channels}
       << " channels, chunks of " << stream.chunk_slots << ", " << story.transfer.in_flight
       << " in flight, " << story.transfer.posted << " posted, loss " << story.wire.loss
       << ", patience " << story.transfer.patience.ms() << " ms";
  return text.str();
}

SwarmRun run_swarm(uint64_t seed) {
  const StoryOptions options = swarm_story(seed);
  Story story(options);
  // Paths differ by up to a quarter of their length.
  Prng prng(~seed);
  for (uint16_t path = 1; path < options.site.paths; ++path) {
    Impairment wire = options.wire;
    wire.delay = wire.delay + between(prng, 0_ns, wire.delay / 4);
    story.set_forward(path, wire);
  }
  const uint64_t most = options.transfer.messages * 3 / 4;
  story.run_faults(100_s, [&] { return story.transfer.received_count() >= most; });
  SwarmRun run;
  run.faulty_packets = story.packets();
  run.complaint = story.run_calm();
  run.packets = story.packets();
  run.trace_hash = story.network.trace_hash();
  const bool repairs = options.site.policy != cw_policy_passthrough();
  if (repairs && run.complaint.empty() &&
      story.transfer.whole_count() != options.transfer.messages) {
    run.complaint = "only " + std::to_string(story.transfer.whole_count()) + " arrived whole";
  }
  return run;
}

}  // namespace cw::sim
