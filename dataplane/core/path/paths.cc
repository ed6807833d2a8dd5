#include "dataplane/core/path/paths.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dataplane/base/assert.h"

namespace cw {

void RttEstimator::add(Duration sample, Instant now) {
  if (sample.ns() <= 0) return;
  if (!has_sample()) {
    smoothed_ = sample;
    variance_ = sample / 2;
    window_start_ = now;
  } else {
    const Duration deviation = std::max(smoothed_ - sample, sample - smoothed_);
    variance_ += (deviation - variance_) / 4;
    smoothed_ += (sample - smoothed_) / 8;
    smoothed_ = std::max(smoothed_, std::min({sample, before_[0], before_[1]}));
  }
  before_ = {sample, before_[0]};
  if (now - window_start_ >= min_window) {
    min_before_ = now - window_start_ < min_window * 2 ? min_now_ : Duration::max();
    min_now_ = Duration::max();
    window_start_ = now;
  }
  min_now_ = std::min(min_now_, sample);
}

Duration RttEstimator::min() const {
  return has_sample() ? std::min(min_now_, min_before_) : Duration();
}

Duration RttEstimator::timeout(Duration floor, Duration ceiling, Duration unknown) const {
  if (!has_sample()) return unknown;
  return std::clamp(smoothed_ + variance_ * 4, floor, ceiling);
}

Share wilson_share(uint64_t hits, uint64_t trials) {
  if (trials == 0) return {};
  constexpr double z = 1.959963984540054;  // 97.5 % of the standard normal distribution
  const auto n = static_cast<double>(trials);
  const double p = static_cast<double>(hits) / n;
  const double scale = 1 / (1 + z * z / n);
  const double centre = scale * (p + z * z / (2 * n));
  const double half = scale * z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {p, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

LossEstimator::LossEstimator(Duration window) : part_time_(window / part_count) {
  CW_ASSERT(part_time_.ns() > 0);
}

// Parts that time has passed over are emptied as they come into use again.
void LossEstimator::advance_to(Instant now) {
  const int64_t ordinal = std::max(ordinal_of(now), newest_);
  const int64_t steps = std::min<int64_t>(ordinal - newest_, part_count);
  for (int64_t i = 0; i < steps; ++i) {
    parts_[static_cast<size_t>(ordinal - i) % part_count] = {};
  }
  newest_ = ordinal;
  newest_end_ = Instant::from_ns(0) + part_time_ * (ordinal + 1);
}

LossEstimator::Part LossEstimator::total(Instant now) const {
  Part sum;
  const int64_t oldest = std::max(ordinal_of(now), newest_) - int64_t{part_count} + 1;
  for (int64_t i = std::max<int64_t>(oldest, 0); i <= newest_; ++i) {
    const Part& part = parts_[static_cast<size_t>(i) % part_count];
    sum.arrived += part.arrived;
    sum.lost += part.lost;
    sum.bursts += part.bursts;
  }
  return sum;
}

void LossEstimator::add_lost(uint64_t packets, uint64_t bursts, Instant now) {
  Part& part = part_at(now);
  part.lost += packets;
  part.bursts += bursts;
}

void LossEstimator::add_late(Instant now) {
  Part& newest = part_at(now);
  ++newest.arrived;
  // It was counted not long ago: in this part or one of the last.
  for (size_t i = 0; i < part_count; ++i) {
    Part& part = parts_[(static_cast<size_t>(newest_) + part_count - i) % part_count];
    if (part.lost == 0) continue;
    --part.lost;
    return;
  }
}

Share LossEstimator::loss(Instant now) const {
  const Part sum = total(now);
  return wilson_share(sum.lost, sum.lost + sum.arrived);
}

double LossEstimator::burst_mean(Instant now) const {
  const Part sum = total(now);
  if (sum.lost == 0 || sum.bursts == 0) return 0;
  return std::max(1.0, static_cast<double>(sum.lost) / static_cast<double>(sum.bursts));
}

ReorderBudget::ReorderBudget(Duration floor, Duration ceiling)
    : floor_(floor), ceiling_(ceiling), time_(floor) {
  CW_ASSERT(floor.ns() > 0 && floor <= ceiling);
}

void ReorderBudget::on_reordered(Duration behind, Instant now) {
  behind_max_ = std::max(behind_max_, behind);
  // It came in time by what round trips said then; they may say less when the next one comes.
  grow_to(behind + behind / 4, now);
}

void ReorderBudget::on_late(Duration behind, Instant now) {
  const Duration needed = behind + behind / 4;
  // Packets that are late together say the same thing; it is heard once.
  const bool is_heard = is_grown_ && now - changed_ < time_;
  grow_to(is_heard ? needed : std::max(time_ * 2, needed), now);
}

void ReorderBudget::grow_to(Duration needed, Instant now) {
  if (needed <= time_) return;
  is_grown_ = true;
  time_ = std::min(needed, ceiling_);
  changed_ = now;
}

void ReorderBudget::on_time(Instant now) {
  if (now - changed_ < calm) return;
  // Shrink by an eighth, but not below what packets lately needed, with half as much to spare.
  const Duration needed = std::min(behind_max_ + behind_max_ / 2, time_);
  time_ = std::clamp(std::max(time_ - time_ / 8, needed), floor_, ceiling_);
  behind_max_ = Duration();
  changed_ = now;
}

void ReorderBudget::set_bounds(Duration floor, Duration ceiling) {
  CW_ASSERT(floor.ns() > 0 && floor <= ceiling);
  floor_ = floor;
  ceiling_ = ceiling;
  time_ = std::clamp(time_, floor, ceiling);
}

PathEstimates::PathEstimates(const PathOptions& options)
    : options_(options),
      loss_(options.loss_window),
      reorder_(options.reorder_floor, options.reorder_ceiling) {}

void PathEstimates::on_arrival(const PsnArrival& arrival, Instant now) {
  switch (arrival.kind) {
    case PsnArrival::Kind::Duplicate:
      ++totals_.duplicates;
      return;
    case PsnArrival::Kind::Stale:
      ++totals_.stale;
      return;
    case PsnArrival::Kind::Late:
      ++totals_.late;
      reorder_.on_late(arrival.behind, now);
      loss_.add_late(now);
      break;
    case PsnArrival::Kind::Reordered:
      ++totals_.reordered;
      reorder_.on_reordered(arrival.behind, now);
      loss_.add_arrived(1, now);
      break;
    case PsnArrival::Kind::Fresh:
      loss_.add_arrived(1, now);
      break;
  }
  ++totals_.arrived;
  totals_.reorder_packets_max = std::max(totals_.reorder_packets_max, arrival.depth);
}

void PathEstimates::on_lost(const LostRange& range, Instant now) {
  totals_.lost += range.count;
  ++totals_.bursts;
  const auto octave = static_cast<size_t>(std::bit_width(range.count - 1));
  ++totals_.bursts_by_octave[std::min(octave, PathState::burst_octaves - 1)];
  loss_.add_lost(range.count, 1, now);
}

PathState PathEstimates::report(Instant now) const {
  PathState report = totals_;
  report.rtt_min = rtt_.min();
  report.rtt_smoothed = rtt_.smoothed();
  report.rtt_variance = rtt_.variance();
  report.loss = loss_.loss(now);
  report.burst_packets_mean = loss_.burst_mean(now);
  report.reorder_budget = reorder_time();
  return report;
}

}  // namespace cw
