#include "dataplane/sdr/beside/endpoint_pair.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/split.h"

namespace cw::sdr {

void EndpointPair::on_gap(Duration gap, Instant now) {
  first_->on_gap(gap, now);
  if (second_ != nullptr) second_->on_gap(gap, now);
}

size_t EndpointPair::arrivals_max() const {
  const size_t room = first_->arrivals_max();
  return second_ == nullptr ? room : std::min(room, second_->arrivals_max());
}

void EndpointPair::on_arrivals(std::span<const Arrival> arrivals, Instant now) {
  if (second_ == nullptr) return first_->on_arrivals(arrivals, now);
  const auto [firsts, seconds] = split_in_order(arrivals, sorted_, [this](const Arrival& arrival) {
    return first_->claim(arrival) >= second_->claim(arrival);
  });
  if (!firsts.empty()) first_->on_arrivals(firsts, now);
  if (!seconds.empty()) second_->on_arrivals(seconds, now);
}

bool EndpointPair::on_time(Instant now) {
  const bool has_worked = first_->on_time(now);
  return second_ == nullptr ? has_worked : second_->on_time(now) || has_worked;
}

size_t EndpointPair::collect(std::span<Send> out, Instant now) {
  if (second_ == nullptr) return first_->collect(out, now);
  Endpoint *one = first_, *other = second_;
  if (std::exchange(is_second_due_, !is_second_due_)) std::swap(one, other);
  const size_t count = one->collect(out, now);
  return count + other->collect(out.subspan(count), now);
}

void EndpointPair::on_done(std::span<const uint64_t> cookies) {
  first_->on_done(cookies);
  if (second_ != nullptr) second_->on_done(cookies);
}

Instant EndpointPair::next_wakeup() const {
  const Instant due = first_->next_wakeup();
  return second_ == nullptr ? due : std::min(due, second_->next_wakeup());
}

}  // namespace cw::sdr
