#include "dataplane/collective/sum/pull.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw::group {

void Pull::begin(uint16_t from, const Landing& landing, uint32_t ask_slots) {
  CW_ASSERT(landing.is_open() && ask_slots > 0);
  from_ = from;
  landing_ = &landing;
  ask_slots_ = ask_slots;
  asked_ = 0;
  timed_from_ = {};
  asks_ = {};
}

std::optional<size_t> Pull::next(uint32_t room, const PullTimes& times, Instant now) {
  const uint32_t left = landing_->slots().count() - asked_;
  const uint32_t count = std::min({room, left, ask_slots_});
  // A short ask costs as much as a long one.
  if (count == 0 || (count < ask_slots_ && count < left)) return std::nullopt;
  const auto free = std::ranges::find(asks_, false, &Ask::is_open);
  if (free == asks_.end()) return std::nullopt;
  if (outstanding() == 0) timed_from_ = now;
  *free = {true, asked_, count, asked_ + count - 1, 1, now, now + times.answer};
  asked_ += count;
  return static_cast<size_t>(free - asks_.begin());
}

std::optional<size_t> Pull::overdue(const PullTimes& times, Instant now) {
  const auto late = std::ranges::find_if(
      asks_, [now](const Ask& each) { return each.is_open && now >= each.due; });
  if (late == asks_.end()) return std::nullopt;
  Duration wait = times.answer;
  for (uint32_t i = 0; i < late->tries && wait < wait_max; ++i) wait = wait * 2;
  ++late->tries;
  late->due = now + std::min(wait, std::max(wait_max, times.answer));
  while (landing_->has(late->last)) --late->last;
  timed_from_ = {};
  return static_cast<size_t>(late - asks_.begin());
}

std::optional<Duration> Pull::settle(uint32_t newest, const PullTimes& times, Instant now) {
  std::optional<Duration> took;
  if (timed_from_ != Instant()) took = now - timed_from_;
  timed_from_ = {};
  for (Ask& each : asks_) {
    if (!each.is_open) continue;
    const uint32_t missing = missing_in(each);
    each.is_open = missing > 0;
    // Answers come in order: while some come those behind are on their way, and what lacks when the
    // last is there, or when later ones come, has been lost, or is overtaken.
    const bool is_passed = each.tries == 1 && each.last < newest;
    if (is_passed || landing_->has(each.last)) {
      each.due = std::min(each.due, now + times.reorder);
    } else {
      each.due = std::max(each.due, now + times.answer);
    }
  }
  return took;
}

Instant Pull::due() const {
  Instant due = Instant::never();
  for (const Ask& each : asks_) {
    if (each.is_open) due = std::min(due, each.due);
  }
  return due;
}

size_t Pull::runs_of(size_t ask, std::span<Run> runs) const {
  const Ask& asked = asks_[ask];
  if (landing_ == nullptr || !asked.is_open) return 0;
  const uint32_t end = asked.first + asked.count;
  size_t count = 0;
  uint32_t slot = asked.first;
  while (count < runs.size()) {
    while (slot < end && landing_->has(slot)) ++slot;
    if (slot == end) break;
    const uint32_t first = slot;
    while (slot < end && !landing_->has(slot)) ++slot;
    runs[count++] = {be32(first), be32(slot - first)};
  }
  return count;
}

void Pull::on_gap(Duration gap) {
  for (Ask& each : asks_) {
    if (!each.is_open) continue;
    each.first_said += gap;
    each.due += gap;
  }
}

}  // namespace cw::group
