#include "dataplane/core/path/psn_tracker.h"

#include <algorithm>

namespace cw {

void PsnTracker::restart(Psn expected) {
  highest_ = expected - 1;
  stale_run_ = 0;
  gap_count_ = 0;
  gone_ = {};
  // What was sent before is no loss of this life; should it turn up, it counts as a duplicate.
  arrived_.fill(~uint64_t{0});
}

bool PsnTracker::has(Psn psn) const {
  const uint32_t place = psn.value() % window_psns;
  return arrived_[place / word_bits] >> (place % word_bits) & 1;
}

void PsnTracker::set(Psn psn, bool arrived) {
  const uint32_t place = psn.value() % window_psns;
  const uint64_t bit = uint64_t{1} << (place % word_bits);
  uint64_t& word = arrived_[place / word_bits];
  word = arrived ? word | bit : word & ~bit;
}

PsnArrival PsnTracker::on_arrival(Psn psn, Instant now, Ring<LostRange>& lost) {
  const int64_t step = highest_.distance_to(psn);
  if (step <= 0) return on_older(psn, static_cast<uint32_t>(-step), now);
  stale_run_ = 0;
  if (step > window_psns) {
    jump(psn, static_cast<uint32_t>(step), lost);
    return {};
  }
  // A gap that leaves the window is settled while its bits still tell what arrived.
  while (gap_count_ > 0 && gaps_[0].first.distance_to(psn) >= window_psns) settle_first(true, lost);
  const auto skipped = static_cast<uint32_t>(step - 1);
  for (uint32_t i = 1; i <= skipped; ++i) set(highest_ + i, false);
  set(psn, true);
  if (skipped > 0) open_gap(psn, skipped, now, lost);
  highest_ = psn;
  return {};
}

void PsnTracker::open_gap(Psn psn, uint32_t skipped, Instant now, Ring<LostRange>& lost) {
  if (gap_count_ > 0) {
    Gap& newest = gaps_[gap_count_ - 1];
    if (now - newest.opened < joined_within_) {
      newest.count = static_cast<uint32_t>(newest.first.distance_to(psn));
      newest.missing += skipped;
      return;
    }
  }
  if (gap_count_ == gaps_max) settle_first(true, lost);
  gaps_[gap_count_++] = {highest_ + 1, skipped, skipped, now};
}

PsnArrival PsnTracker::on_older(Psn psn, uint32_t depth, Instant now) {
  if (depth >= window_psns) return on_stale(psn, depth, now);
  stale_run_ = 0;
  if (has(psn)) return {PsnArrival::Kind::Duplicate, depth, {}};
  set(psn, true);
  Gap* gap = gap_of(psn);
  if (gap == nullptr) return {PsnArrival::Kind::Late, depth, since_lost(psn, now)};
  const Duration behind = now - gap->opened;
  if (--gap->missing == 0) remove(gap);
  return {PsnArrival::Kind::Reordered, depth, behind};
}

PsnArrival PsnTracker::on_stale(Psn psn, uint32_t depth, Instant now) {
  if (now - stale_last_ > stale_pause_max) stale_run_ = 0;
  if (stale_run_ == 0) stale_since_ = now;
  stale_last_ = now;
  if (++stale_run_ < stale_run_max || now - stale_since_ < stale_time_min) {
    return {PsnArrival::Kind::Stale, depth, {}};
  }
  restart(psn + 1);
  return {};
}

// More was skipped than the window remembers: one burst of loss, by arithmetic.
void PsnTracker::jump(Psn psn, uint32_t step, Ring<LostRange>& lost) {
  while (gap_count_ > 0) settle_first(true, lost);
  report({highest_ + 1, step - 1, step - 1, Instant()}, step - 1, true, lost);
  arrived_.fill(0);
  set(psn, true);
  highest_ = psn;
}

void PsnTracker::settle(Instant now, Duration reorder_time, Ring<LostRange>& lost) {
  joined_within_ = reorder_time / joined_share;
  while (gap_count_ > 0 && now - gaps_[0].opened >= reorder_time) {
    if (!settle_first(false, lost)) return;
  }
}

Instant PsnTracker::next_settle(Duration reorder_time) const {
  return gap_count_ == 0 ? Instant::never() : gaps_[0].opened + reorder_time;
}

// Reports what is missing from the oldest gap and removes it; false when the report had to stop,
// and then the gap keeps what has not been reported.
bool PsnTracker::settle_first(bool must, Ring<LostRange>& lost) {
  Gap& gap = gaps_[0];
  while (gap.missing > 0) {
    uint32_t present = 0;
    while (has(gap.first + present)) ++present;
    uint32_t run = 0;
    while (present + run < gap.count && !has(gap.first + present + run)) ++run;
    gap.first = gap.first + present;
    gap.count -= present;
    if (!report(gap, run, must, lost)) return false;
    gap.first = gap.first + run;
    gap.count -= run;
    gap.missing -= run;
  }
  remove(&gap);
  return true;
}

/// The first `count` of a gap.
bool PsnTracker::report(const Gap& gap, uint32_t count, bool must, Ring<LostRange>& lost) {
  const bool is_carried = lost.try_push({tag_, gap.first, count});
  if (!is_carried && !must) return false;
  gone_[gone_next_++ % gaps_max] = {gap.first, count, count, gap.opened};
  lost_count_ += count;
  ++lost_range_count_;
  if (!is_carried) unreported_count_ += count;
  return true;
}

// Newest first: what is reordered is mostly reordered by little.
PsnTracker::Gap* PsnTracker::gap_of(Psn psn) {
  for (size_t i = gap_count_; i-- > 0;) {
    const int64_t offset = gaps_[i].first.distance_to(psn);
    if (offset >= 0) return offset < gaps_[i].count ? &gaps_[i] : nullptr;
  }
  return nullptr;
}

/// How long ago a gap was opened that has been reported: by so much was its reorder time too short.
/// Newest first, hence highest first: what is late is mostly late by little.
Duration PsnTracker::since_lost(Psn psn, Instant now) const {
  for (size_t i = 1; i <= gaps_max; ++i) {
    const Gap& gap = gone_[(gone_next_ - i) % gaps_max];
    const int64_t offset = gap.first.distance_to(psn);
    if (offset < 0) continue;
    return offset < gap.count && gap.opened != Instant() ? now - gap.opened : Duration();
  }
  return {};
}

void PsnTracker::remove(Gap* gap) {
  std::move(gap + 1, gaps_.data() + gap_count_, gap);
  --gap_count_;
}

}  // namespace cw
