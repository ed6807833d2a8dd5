// A shard's part of links that take the place of others.
#include <algorithm>
#include <utility>

#include "control/gateway/site/site_shard.h"
#include "dataplane/base/assert.h"

namespace cw::site {

Result<std::unique_ptr<Rooms>> SiteShard::make_beside(const Plan& plan,
                                                      std::deque<PairGrants>& grants,
                                                      sdr::PolicyFinder& finder, Instant now) {
  auto rooms = std::make_unique<Rooms>();
  rooms->endpoint = sdr_->make_endpoint(plan.coding);
  rooms->endpoint->set_finder(finder);
  // Those in force have the other numbers.
  const bool are_low = sdr_->endpoint().links().front()->number() < limits::links_max;
  const auto first = static_cast<uint16_t>(are_low ? limits::links_max : 0);
  const auto added = add_links(plan, grants, first, *rooms->endpoint, now);
  if (!added) return std::unexpected(added.error());
  // Until the worker has seen who is there.
  for (const auto& link : rooms->endpoint->links()) link->set_mute(true);
  const auto made = add_rooms(plan, *rooms->endpoint, *rooms, now);
  if (!made) return std::unexpected(made.error());
  return rooms;
}

void SiteShard::exchange_beside(std::unique_ptr<Rooms>& rooms) {
  for (size_t i = 0; beside_ && i < beside_->gateway->lane_count(); ++i) {
    out_before_ += beside_->gateway->view(i).inbound.out;
  }
  std::unique_ptr<sdr::Endpoint> endpoint;
  if (rooms != nullptr) endpoint = std::move(rooms->endpoint);
  sdr_->exchange_beside(endpoint);
  beside_.swap(rooms);
  if (rooms != nullptr) rooms->endpoint = std::move(endpoint);
  beside_ == nullptr ? gateways_->end() : gateways_->begin(*beside_->gateway);
  has_moved_ = has_given_up_ = false;
  tell_links();
}

void SiteShard::move(bool is_drain_wanted, Instant now) {
  CW_ASSERT(beside_ != nullptr);
  sdr_->exchange();
  std::swap(rooms_, *beside_);
  gateways_->move(now);
  has_moved_ = !has_moved_;
  tell_links();
  want_drain(is_drain_wanted, now);
}

/// Which of two each is.
void SiteShard::tell_links() {
  LinkAge age = LinkAge::Older, age_beside = LinkAge::Newer;
  if (has_moved_) std::swap(age, age_beside);
  if (beside_ == nullptr) age = LinkAge::Only;
  for (const auto& link : sdr_->endpoint().links()) link->set_beside(age, /*is_beside=*/false);
  if (beside_ == nullptr) return;
  for (const auto& link : sdr_->beside()->links()) link->set_beside(age_beside, /*is_beside=*/true);
}

bool SiteShard::are_of_one_shape() const {
  const auto carrying = sdr_->endpoint().links(), beside = sdr_->beside()->links();
  return carrying.front()->control().shape() == beside.front()->control().shape();
}

void SiteShard::give_up_newer(bool is_given_up, bool is_drain_wanted, Instant now) {
  has_given_up_ = is_given_up;
  gateways_->give_up_newer(is_given_up);
  want_drain(is_drain_wanted, now);
}

std::vector<bool> SiteShard::numbers_of(const std::vector<bool>& places) const {
  std::vector<bool> numbers;
  for (const bool is_other : places) numbers.insert(numbers.end(), links_here_, is_other);
  return numbers;
}

void SiteShard::exchange_others(std::vector<bool>& numbers) { gateways_->exchange_others(numbers); }

void SiteShard::leave_beside(Instant now) {
  for (const auto& link : sdr_->beside()->links()) link->leave(now);
}

/// A peer that knows of no links beside others would take their hellos for its peer's next life.
void SiteShard::set_mute() {
  const auto carrying = sdr_->endpoint().links();
  const auto beside = sdr_->beside()->links();
  for (size_t i = 0; i < beside.size(); ++i) {
    beside[i]->set_mute(carrying[i]->is_up() && !carrying[i]->peer_knows_shapes());
  }
}

BesideState SiteShard::beside_state(Instant now) const {
  const gateway::Gateway& gateway = *beside_->gateway;
  BesideState state{.peers = {}, .is_quiet = gateway.is_drained()};
  const auto links = sdr_->beside()->links();
  for (size_t i = 0; i < links.size(); ++i) {
    state.peers.push_back(view_of(*links[i], now));
    state.peers.back().is_quiet = gateway.is_drained(i);
  }
  state.has_left = sdr_->beside()->has_left() && gateway.is_drained();
  for (size_t i = 0; i < gateway.lane_count(); ++i) {
    const gateway::LaneView lane = gateway.view(i);
    state.crossed += lane.sent + lane.inbound.seen;
    state.waiting += lane.waiting;
    state.out += lane.inbound.out;
  }
  const auto is_under_way = [](const SwapView& each) {
    return each.fate == SwapView::Fate::UnderWay;
  };
  state.is_swapping = std::ranges::any_of(beside_->swaps->views(), is_under_way);
  return state;
}

}  // namespace cw::site
