#include "dataplane/port/sim/fabric/calendar.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw {

Calendar::Calendar(size_t count) : entries_(count), slots_(slot_count), pages_(page_count) {
  far_.reserve(count);
}

void Calendar::append(Row& row, uint32_t number) {
  entries_[number].next = none;
  (row.is_empty() ? row.first : entries_[row.last].next) = number;
  row.last = number;
}

uint32_t Calendar::take_first(Row& row) {
  const uint32_t number = row.first;
  row.first = entries_[number].next;
  return number;
}

void Calendar::push(uint32_t number, Instant at) {
  CW_DCHECK(at >= now_ && at != Instant::never());
  entries_[number].at = at;
  const int64_t pages_ahead = page_of(at) - page_of(now_);
  if (pages_ahead < 2) {
    append(slots_[slot_of(at)], number);
    taken_slots_.set(slot_of(at));
  } else if (pages_ahead < page_count) {
    const size_t place = place_of(page_of(at));
    Page& page = pages_[place];
    append(page.row, number);
    page.earliest = std::min(page.earliest, at);
    taken_pages_.set(place);
  } else {
    push_far(number, at);
  }
}

void Calendar::push_far(uint32_t number, Instant at) {
  CW_ASSERT(far_.size() < entries_.size());
  far_.push_back({at, number, order_++});
  std::push_heap(far_.begin(), far_.end());
}

Instant Calendar::earliest() const {
  const size_t slot = taken_slots_.find_around(slot_of(now_));
  if (slot != taken_slots_.none) {
    return now_ + Duration::from_ns((int64_t(slot) - now_.ns()) & (slot_count - 1));
  }
  const size_t page = taken_pages_.find_around(place_of(page_of(now_)));
  if (page != taken_pages_.none) return pages_[page].earliest;
  return far_.empty() ? Instant::never() : far_.front().at;
}

size_t Calendar::pull(Instant limit, Duration ahead, std::span<Due> out) {
  Instant at = earliest();
  if (at > limit || at == Instant::never()) return 0;
  limit = std::min(limit, at + ahead);
  size_t count = 0;
  while (at <= limit && count < out.size()) {
    advance_to(at);
    Row& row = slots_[slot_of(at)];
    while (!row.is_empty() && count < out.size()) out[count++] = {at, take_first(row)};
    if (!row.is_empty()) break;
    taken_slots_.clear(slot_of(at));
    at = earliest();
  }
  return count;
}

void Calendar::advance_to(Instant t) {
  CW_DCHECK(t >= now_ && t <= earliest());
  const bool is_same_page = page_of(t) == page_of(now_);
  now_ = t;
  if (!is_same_page) turn_page();
}

/// Two pages are near now. What was far comes last: its page was not among the pages until now, so
/// nothing can have been pushed behind it.
void Calendar::turn_page() {
  deal(page_of(now_));
  deal(page_of(now_) + 1);
  while (!far_.empty() && page_of(far_.front().at) - page_of(now_) < page_count) {
    const Far first = far_.front();
    std::pop_heap(far_.begin(), far_.end());
    far_.pop_back();
    push(first.number, first.at);
  }
}

void Calendar::deal(int64_t page) {
  const size_t place = place_of(page);
  Row row = pages_[place].row;
  if (row.is_empty()) return;
  pages_[place] = {};
  taken_pages_.clear(place);
  while (!row.is_empty()) {
    const uint32_t number = take_first(row);
    push(number, entries_[number].at);
  }
}

}  // namespace cw
