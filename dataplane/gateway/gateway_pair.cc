#include "dataplane/gateway/gateway_pair.h"

#include <algorithm>
#include <utility>

namespace cw::gateway {

// ---- of one in the place of another ----

void Gateway::hold_back_out(Instant now) {
  for (Lane& lane : lanes_) {
    lane.held_back_since = now;
    lane.out->hold_back();
  }
}

void Gateway::let_go_out() {
  for (Lane& lane : lanes_) {
    lane.held_back_since = Instant::never();
    lane.out->let_go();
  }
  rows_.wake_all();
}

void Gateway::hold_back_in() {
  for (Lane& lane : lanes_) lane.in->hold_back();
}

void Gateway::finish(Instant now) {
  for (Lane& lane : lanes_) lane.out->finish(now);
}

/// All that hosts have sent to this link's peer is on its way.
bool Gateway::is_sent(size_t index) const {
  return std::ranges::all_of(row(index),
                             [](const Lane& lane) { return !lane.is_open || lane.out->is_idle(); });
}

/// And what it has sent has left, if it says that it sends by others now.
bool Gateway::is_through(size_t index) const {
  const sdr::Link& link = *row(index).front().link;
  return !link.is_up() ||
         (link.is_drain_wanted() &&
          std::ranges::all_of(row(index), [](const Lane& lane) { return lane.in->is_through(); }));
}

bool Gateway::try_let_go(const Gateway& before, Instant now) {
  bool are_all = true;
  for (size_t index = 0; index * class_count_ < lanes_.size(); ++index) {
    const bool is_sent = before.is_sent(index), is_through = before.is_through(index);
    for (Lane& lane : row(index)) {
      const bool has_come = lane.in->try_let_go(is_through, lane.hold, now);
      const bool is_held = lane.held_back_since != Instant::never();
      if (is_held && (is_sent || now - lane.held_back_since >= lane.hold)) {
        lane.held_back_since = Instant::never();
        lane.out->let_go();
        rows_.wake(index);
      }
      are_all &= has_come && lane.held_back_since == Instant::never();
    }
  }
  return are_all;
}

bool Gateway::has_held_back() const {
  return std::ranges::any_of(lanes_, [](const Lane& lane) {
    const bool is_held_out = lane.held_back_since != Instant::never() && !lane.out->is_idle();
    return is_held_out || lane.in->has_held_back();
  });
}

// ---- both ----

void GatewayPair::begin(Gateway& newer) {
  second_ = behind_ = &newer;
  newer.hold_back_in();
}

void GatewayPair::move(Instant now) {
  std::swap(first_, second_);
  if (behind_ == first_) first_->hold_back_out(now);
  if (behind_ == second_) second_->let_go_out();
  looked_ = Instant();
}

void GatewayPair::end() { second_ = behind_ = nullptr; }

void GatewayPair::follow(Instant now) {
  is_waiting_ = true;
  if (now - looked_ < look_interval) return;
  looked_ = now;
  Gateway& older = behind_ == first_ ? *second_ : *first_;
  if (behind_ == first_) older.finish(now);
  const bool is_nothing_held = behind_->try_let_go(older, now);
  is_waiting_ = behind_->has_held_back();
  if (is_nothing_held && behind_ == first_) behind_ = nullptr;
}

void GatewayPair::on_gap(Duration gap, Instant now) {
  first_->on_gap(gap, now);
  if (second_ != nullptr) second_->on_gap(gap, now);
}

bool GatewayPair::on_time(Instant now) {
  if (second_ == nullptr) return first_->on_time(now);
  if (behind_ != nullptr) follow(now);
  const bool has_worked = second_->on_time(now);
  return first_->on_time(now) || has_worked;
}

// What has been here longer leaves first.
size_t GatewayPair::collect(std::span<Packet*> out, Instant now) {
  const size_t count = second_ == nullptr ? 0 : second_->collect(out, now);
  return count + first_->collect(out.subspan(count), now);
}

Instant GatewayPair::next_wakeup() const {
  const Instant due = first_->next_wakeup();
  if (second_ == nullptr) return due;
  const Instant follow_due =
      behind_ != nullptr && is_waiting_ ? looked_ + look_interval : Instant::never();
  return std::min({due, second_->next_wakeup(), follow_due});
}

}  // namespace cw::gateway
