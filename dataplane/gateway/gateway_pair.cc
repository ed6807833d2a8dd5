#include "dataplane/gateway/gateway_pair.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/split.h"

namespace cw::gateway {
namespace {

bool is_among(const std::vector<bool>& peers, const sdr::Link& link) {
  return link.peer() < peers.size() && peers[link.peer()];
}

}  // namespace

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
    lane.link->carry_alone();
  }
  for (Handover& each : handovers_) each.has_said_over = false;
  rows_.wake_all();
}

void Gateway::let_in() {
  for (Lane& lane : lanes_) {
    lane.in->let_go();
    lane.in->set_late(false);
  }
}

void Gateway::hold_back_in() {
  for (size_t index = 0; index < row_count(); ++index) hold_back_in(index);
}

void Gateway::hold_back_in(size_t index) {
  for (Lane& lane : row(index)) lane.in->hold_back();
}

void Gateway::finish(Instant now) {
  for (Lane& lane : lanes_) lane.out->finish(now);
}

/// All that hosts have sent to this link's peer is on its way.
bool Gateway::is_sent(size_t index) const {
  return std::ranges::all_of(row(index),
                             [](const Lane& lane) { return !lane.is_open || lane.out->is_idle(); });
}

/// And the peer has it, or it has been given up.
bool Gateway::is_settled(size_t index) const {
  return std::ranges::all_of(row(index), [](const Lane& lane) {
    return !lane.is_open || (lane.out->is_idle() && lane.source.is_idle());
  });
}

/// Who hears it knows that nothing of before is on its way any more.
void Gateway::say_gone_over(const std::vector<bool>& others, bool drains, Instant now) {
  for (size_t index = 0; index < row_count(); ++index) {
    sdr::Link& link = *row(index).front().link;
    bool& has_said_over = handovers_[index].has_said_over;
    has_said_over = !is_among(others, link) && (has_said_over || is_settled(index));
    link.want_drain(drains || has_said_over, now);
  }
}

/// What the peer has sent has left.
bool Gateway::is_through(size_t index) const {
  return std::ranges::all_of(row(index), [](const Lane& lane) { return lane.in->is_through(); });
}

/// The peer says on the other that it sends by this one. A site that drains says so on both.
bool Gateway::says_gone_over(size_t index, const Gateway& before) const {
  const sdr::Link &link = *row(index).front().link, &other = *before.row(index).front().link;
  return other.is_up() && other.is_drain_wanted() && link.is_up() && !link.is_drain_wanted();
}

/// Or something has just come here. One that says that it goes back begins anew once it has.
bool Gateway::has_gone_over(size_t index, const Gateway& before, Instant now) {
  Handover& known = handovers_[index];
  uint64_t seen = 0;
  for (const Lane& lane : row(index)) seen += lane.in->accounts().seen;
  if (std::exchange(known.seen, seen) != seen) known.seen_at = now;
  const bool has_just_come = seen > 0 && now - known.seen_at < row(index).front().hold;
  if (!before.says_gone_over(index, *this)) return has_just_come || says_gone_over(index, before);
  if (!has_just_come) hold_back_in(index);
  return false;
}

/// Besides what carries, there are resends of the other, and envelopes about what the peer sends.
/// What a peer answers by alone, carries.
void Gateway::share_line(size_t index, Gateway& before, bool carries, Instant now) {
  sdr::Link *one = row(index).front().link, *other = before.row(index).front().link;
  if (!carries) std::swap(one, other);
  if (!one->answers(now) && other->answers(now)) std::swap(one, other);
  one->carry_beside(*other, now);
}

void Gateway::share_lines(Gateway& other, const std::vector<bool>& others, Instant now) {
  for (size_t index = 0; index < row_count(); ++index) {
    share_line(index, other, !is_among(others, *row(index).front().link), now);
  }
}

/// What was lost is mended in a few round trips, or is late. True: nothing of the peer is held
/// back.
bool Gateway::try_let_in(size_t index, const Gateway& before, Instant now) {
  const std::span<Lane> lanes = row(index);
  if (!lanes.front().in->is_held_back()) return true;
  const Duration mended = lanes.front().link->rtt() * 4 + Duration::from_ms(50);
  // One that is down brings nothing more; but it may be up again before anything comes here.
  const auto has_any = [](const Lane& lane) { return lane.in->has_held_back(); };
  const bool is_down = !before.row(index).front().link->is_up();
  bool has_waited = (says_gone_over(index, before) && before.is_through(index)) ||
                    (is_down && std::ranges::any_of(lanes, has_any));
  for (Lane& lane : lanes) has_waited |= lane.in->has_waited(std::min(mended, lane.hold), now);
  const auto is_out = [](const Lane& lane) { return lane.in->frames_queued() == 0; };
  if (!has_waited || !std::ranges::all_of(before.row(index), is_out)) return false;
  for (Lane& lane : lanes) lane.in->let_go();
  return true;
}

/// What waits for its turn at a line is at most half as old as may be. True: nothing is held back.
bool Gateway::try_let_out(size_t index, bool is_sent, Instant now) {
  bool is_free = true;
  for (Lane& lane : row(index)) {
    if (lane.held_back_since == Instant::never()) continue;
    const bool may_leave = is_sent || now - lane.held_back_since >= lane.hold / 2;
    is_free &= may_leave;
    if (!may_leave) continue;
    lane.held_back_since = Instant::never();
    lane.out->let_go();
    rows_.wake(index);
  }
  return is_free;
}

void Gateway::let_go_behind(Gateway& before, bool is_first, const std::vector<bool>& others,
                            Instant now) {
  for (size_t index = 0; index < row_count(); ++index) {
    const bool is_free = try_let_out(index, before.is_sent(index), now);
    const bool is_other = is_among(others, *row(index).front().link);
    share_line(index, before, is_first && is_free && !is_other, now);
    const bool has_come = try_let_in(index, before, now);
    const bool is_late = has_gone_over(index, before, now) && has_come;
    for (Lane& lane : before.row(index)) lane.in->set_late(is_late);
  }
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
  others_.clear();
  if (behind_ != first_) second_->let_go_out();
  if (behind_ == first_ && !has_given_up_) first_->hold_back_out(now);
  looked_ = Instant();
}

void GatewayPair::give_up_newer(bool is_given_up) {
  if (std::exchange(has_given_up_, is_given_up) == is_given_up) return;
  for (Gateway* each : {first_, second_}) {
    each->let_go_out();
    each->let_in();
  }
  if (!is_given_up) behind_->hold_back_in();
}

void GatewayPair::end() {
  // Whichever it is: nothing of the other is before it any more.
  first_->let_go_out();
  first_->let_in();
  second_ = behind_ = nullptr;
  others_.clear();
  has_given_up_ = false;
}

void GatewayPair::follow(Instant now) {
  is_waiting_ = true;
  if (now - looked_ < look_interval) return;
  looked_ = now;
  if (has_given_up_) {
    is_waiting_ = false;
    return first_->share_lines(*second_, others_, now);
  }
  Gateway& older = behind_ == first_ ? *second_ : *first_;
  if (behind_ == first_) older.finish(now);
  behind_->let_go_behind(older, behind_ == first_, others_, now);
  if (behind_ == first_) older.say_gone_over(others_, drains_, now);
  is_waiting_ = behind_->has_held_back();
}

void GatewayPair::on_gap(Duration gap, Instant now) {
  first_->on_gap(gap, now);
  if (second_ != nullptr) second_->on_gap(gap, now);
}

bool GatewayPair::is_for_second(const Packet& packet) const {
  const auto peer = first_->peer_of(packet);
  return peer && *peer < others_.size() && others_[*peer];
}

void GatewayPair::on_rx(std::span<Packet* const> packets, Instant now) {
  if (second_ == nullptr || others_.empty()) return first_->on_rx(packets, now);
  const auto [firsts, seconds] = split_in_order(
      packets, sorted_, [this](const Packet* packet) { return !is_for_second(*packet); });
  if (!firsts.empty()) first_->on_rx(firsts, now);
  if (!seconds.empty()) second_->on_rx(seconds, now);
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
