#include "control/adapt/line_history.h"

#include <algorithm>
#include <cmath>

namespace cw::adapt {
namespace {

/// So unlikely must a difference be by chance, as a logarithm: once in ten million. It is looked
/// for some times a second, at each of some tens of places.
constexpr double surprise_min = 16;

/// Some of so many.
struct Hits {
  double hits = 0, of = 0;
  double share() const { return of > 0 ? hits / of : 0; }
};

/// How unlikely it is that these are of a line with such a share, as a logarithm.
double surprise(const Hits& seen, double share) {
  const auto term = [](double p, double q) { return p > 0 ? p * std::log(p / q) : 0; };
  if (seen.of <= 0 || share <= 0 || share >= 1) return 0;
  return seen.of * (term(seen.share(), share) + term(1 - seen.share(), 1 - share));
}

/// And that both are of one line: the logarithm of their likelihood ratio.
double difference(const Hits& before, const Hits& after) {
  const double share = Hits{before.hits + after.hits, before.of + after.of}.share();
  return surprise(before, share) + surprise(after, share);
}

/// Of packets, those that begin a run of losses; of lost packets, those that do not.
Hits runs_of(const LineCounts& it) { return {double(it.bursts), double(it.packets())}; }
Hits longer_of(const LineCounts& it) { return {double(it.lost - it.bursts), double(it.lost)}; }

/// How sure it is that a line has changed between the two: that it loses more or less often, or
/// more or less at once.
double difference(const LineCounts& before, const LineCounts& after) {
  return difference(runs_of(before), runs_of(after)) +
         difference(longer_of(before), longer_of(after));
}

}  // namespace

void LineCounts::add(const LineCounts& other) {
  arrived += other.arrived;
  lost += other.lost;
  bursts += other.bursts;
}

void LineHistory::add(const LineCounts& counts, Instant now) {
  const Instant begin = last_ == Instant::never() ? now : last_;
  last_ = now;
  std::erase_if(parts_, [&](const Part& each) { return now - each.begin > age_max; });
  if (counts.packets() == 0) return;
  parts_.push_back({.begin = begin, .counts = counts});
  join();
  cut();
}

/// The two oldest of the newest size that there are too many of, and of those that this brings.
void LineHistory::join() {
  size_t end = parts_.size();
  while (end > 0) {
    size_t first = end;
    while (first > 0 && parts_[first - 1].joined == parts_[end - 1].joined) --first;
    if (end - first <= alike_max) return;
    parts_[first].counts.add(parts_[first + 1].counts);
    ++parts_[first].joined;
    parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(first) + 1);
    end = first + 1;
  }
}

/// What lies before the place at which the line has changed, if it has.
void LineHistory::cut() {
  LineCounts all, before;
  for (const Part& each : parts_) all.add(each.counts);
  size_t kept = 0;
  double largest = surprise_min;
  for (size_t i = 0; i + 1 < parts_.size(); ++i) {
    before.add(parts_[i].counts);
    const LineCounts after{all.arrived - before.arrived, all.lost - before.lost,
                           all.bursts - before.bursts};
    const double found = difference(before, after);
    if (found <= largest) continue;
    largest = found;
    kept = i + 1;
  }
  parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(kept));
}

LineLoss LineHistory::loss(Instant now) const {
  LineLoss loss;
  for (const Part& each : parts_) loss.counts.add(each.counts);
  if (!parts_.empty()) loss.age = now - parts_.front().begin;
  const LineCounts& counts = loss.counts;
  if (counts.packets() == 0) return loss;
  // Runs begin independently of each other, what they lose does not.
  if (counts.bursts > 0) loss.burst_packets = double(counts.lost) / double(counts.bursts);
  const Share runs = wilson_share(counts.bursts, counts.packets());
  loss.share = {.ratio = double(counts.lost) / double(counts.packets()),
                .low = runs.low * loss.burst_packets,
                .high = std::min(1.0, runs.high * loss.burst_packets)};
  return loss;
}

}  // namespace cw::adapt
