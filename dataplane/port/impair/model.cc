#include "dataplane/port/impair/model.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw {

const char* name_of(LossCause cause) {
  static constexpr const char* names[loss_cause_count] = {
      "none",    "targeted",        "path_mtu", "queue_full", "blackout",
      "uniform", "gilbert_elliott", "burst",    "flow_hole"};
  return names[static_cast<size_t>(cause)];
}

uint64_t ImpairmentCounters::lost_total() const {
  uint64_t total = 0;
  for (const uint64_t count : lost) total += count;
  return total;
}

ImpairmentModel::ImpairmentModel(const Impairment& impairment, Prng prng)
    : uniform_(prng.split()),
      corrupt_(prng.split()),
      corrupt_bit_(prng.split()),
      duplicate_(prng.split()),
      jitter_(prng.split()),
      copy_jitter_(prng.split()),
      reorder_(prng.split()),
      gilbert_elliott_(prng.split()),
      bursts_(prng.split()) {
  change(impairment);
}

void ImpairmentModel::change(const Impairment& impairment) {
  CW_ASSERT(validate(impairment).has_value());
  // A path that became shorter may overtake the old one; the same one, rid of its jitter, does not.
  if (impairment.delay != options_.delay) latest_arrival_ = {};
  options_ = impairment;
  event_probability_ = options_.bursts.event_probability();
  // A limit of more than 2^40 bytes is none: at the lowest valid rate its time would overflow.
  const bool is_limited = options_.queue_bytes < Bytes(uint64_t{1} << 40);
  queue_drain_ = options_.rate > Rate() && is_limited ? options_.rate.time_for(options_.queue_bytes)
                                                      : Duration::max();
  line_remainder_ = 0;
}

// A burst counts packets: where few come it would outlive the faults that it belongs to.
ImpairmentModel::Losses ImpairmentModel::draw_losses(uint64_t key) {
  return {
      .targeted = targets_.hits(options_.targeted, key),
      .uniform = options_.loss > 0 && uniform_.chance(options_.loss),
      .gilbert_elliott = gilbert_elliott_.loses_next(options_.gilbert_elliott),
      .burst = event_probability_ > 0 && bursts_.loses_next(options_.bursts, event_probability_)};
}

LossCause ImpairmentModel::entry_loss(Bytes bytes, Instant now, bool is_targeted,
                                      uint32_t flow) const {
  if (is_targeted) return LossCause::Targeted;
  const bool is_holed = options_.hole.flow != 0 && options_.hole.flow == flow;
  if (is_holed && bytes > options_.hole.above) return LossCause::FlowHole;
  if (now >= options_.mtu_from && bytes > options_.mtu) return LossCause::PathMtu;
  if (options_.rate == Rate()) return LossCause::None;
  const Duration wait = std::max(line_free_at_ - now, Duration());
  if (wait > options_.queue_time) return LossCause::QueueFull;
  if (wait + options_.rate.time_for(bytes) > queue_drain_) return LossCause::QueueFull;
  return LossCause::None;
}

LossCause ImpairmentModel::line_loss(const Losses& losses, Instant sent) const {
  if (options_.blackout.covers(sent)) return LossCause::Blackout;
  if (losses.uniform) return LossCause::Uniform;
  if (losses.gilbert_elliott) return LossCause::GilbertElliott;
  return losses.burst ? LossCause::Burst : LossCause::None;
}

/// Puts the packet on the line; returns when its last bit has left.
Instant ImpairmentModel::send(Bytes bytes, Instant now) {
  if (options_.rate == Rate()) return now;
  if (line_free_at_ < now) {
    line_free_at_ = now;
    line_remainder_ = 0;
  }
  const uint64_t bit_ns = bytes.count() * 8'000'000'000 + line_remainder_;
  line_free_at_ += Duration::from_ns(static_cast<int64_t>(bit_ns / options_.rate.bps()));
  line_remainder_ = bit_ns % options_.rate.bps();
  return line_remainder_ == 0 ? line_free_at_ : line_free_at_ + Duration::from_ns(1);
}

Duration ImpairmentModel::draw_jitter(Prng& prng) const {
  if (options_.jitter_max == Duration()) return {};
  const int64_t most = options_.jitter_max.ns();
  if (options_.jitter_shape == JitterShape::Uniform) {
    return Duration::from_ns(static_cast<int64_t>(prng.below(static_cast<uint64_t>(most) + 1)));
  }
  const double drawn = prng.exponential(static_cast<double>(options_.jitter_mean.ns()));
  return Duration::from_ns(static_cast<int64_t>(std::min(drawn, static_cast<double>(most))));
}

/// When a packet that is not held back arrives.
Instant ImpairmentModel::arrival(Instant sent, Duration jitter) {
  const Instant at = sent + options_.delay + jitter;
  if (options_.jitter_reorders) return at;
  return latest_arrival_ = std::max(latest_arrival_, at);
}

/// What is drawn for a packet behind the line; drawn also for packets that are lost before.
ImpairmentModel::Exit ImpairmentModel::draw_exit(Bytes bytes) {
  Exit exit;
  if (options_.corrupt > 0 && corrupt_.chance(options_.corrupt)) {
    exit.is_corrupted = true;
    exit.corrupt_bit = static_cast<uint32_t>(corrupt_bit_.below(bytes.count() * 8));
  }
  exit.is_held_back = options_.reorder > 0 && reorder_.chance(options_.reorder);
  if (options_.duplicate > 0) {
    while (exit.copies < options_.copies_max && duplicate_.chance(options_.duplicate))
      ++exit.copies;
  }
  exit.jitter = draw_jitter(jitter_);
  return exit;
}

void ImpairmentModel::draw_arrivals(Instant sent, const Exit& exit, Verdict& verdict) {
  verdict.copies = exit.copies;
  // A packet held back must not hold up those behind it: that is what lets them pass.
  verdict.at[0] = exit.is_held_back ? sent + options_.delay + exit.jitter + options_.reorder_delay
                                    : arrival(sent, exit.jitter);
  for (size_t i = 1; i < exit.copies; ++i) {
    verdict.at[i] = arrival(sent, draw_jitter(copy_jitter_));
  }
}

Verdict ImpairmentModel::on_packet(Bytes bytes, Instant now, uint64_t key, uint32_t flow) {
  ++counters_.packets;
  const Losses losses = draw_losses(key);
  const Exit exit = draw_exit(bytes);

  Verdict verdict;
  Instant sent = now;
  verdict.lost = entry_loss(bytes, now, losses.targeted, flow);
  if (verdict.lost == LossCause::None) {
    const Duration wait = options_.rate > Rate() ? line_free_at_ - now : Duration();
    verdict.is_marked = wait > options_.mark_above;
    counters_.queue_wait_max = std::max(counters_.queue_wait_max, wait);
    sent = send(bytes, now);
    verdict.lost = line_loss(losses, sent);
  }
  if (verdict.lost == LossCause::None) {
    verdict.is_corrupted = exit.is_corrupted;
    verdict.corrupt_bit = exit.corrupt_bit;
    draw_arrivals(sent, exit, verdict);
  }
  count(verdict, exit.is_held_back);
  return verdict;
}

void ImpairmentModel::count(const Verdict& verdict, bool is_held_back) {
  counters_.marked += verdict.is_marked;
  if (verdict.lost != LossCause::None) {
    ++counters_.lost[static_cast<size_t>(verdict.lost)];
    return;
  }
  counters_.delivered += verdict.copies;
  counters_.extra_copies += verdict.copies - 1u;
  counters_.corrupted += verdict.is_corrupted;
  counters_.held_back += is_held_back;
}

}  // namespace cw
