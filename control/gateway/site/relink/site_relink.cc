// A site's part of links that take the place of others: the second plan and its rooms, made outside
// of the workers' turns, handed over and taken back between them.
#include <utility>

#include "control/gateway/site/live/peer_places.h"
#include "control/gateway/site/relink/misfits.h"
#include "control/gateway/site/site.h"
#include "dataplane/base/assert.h"

namespace cw::site {
namespace {

/// Tables of the registry that lives as long as the site, in place of the plan's own.
void adopt(Plan& plan, RegistryFinder& finder) {
  const auto take = [&finder](const cw_policy_ops*& ops) {
    if (ops == nullptr) return;
    if (const auto found = finder.find(ops->name)) ops = *found;
  };
  for (sdr::LinkOptions& peer : plan.peers) {
    for (sdr::QpOptions& qp : peer.qps) {
      take(qp.policy.ops);
      take(qp.after_quarantine.ops);
      for (sdr::PolicyChoice& each : qp.policies) take(each.ops);
    }
  }
  for (ClassPlan& each : plan.classes) {
    take(each.fallback.ops);
    for (OtherPolicy& other : each.others) take(other.ops);
  }
  plan.loaded.clear();
  plan.registry.reset();
}

/// Takes back what one shard has done and another could not: a worker that has had a turn just now
/// has one again, however busy the machine is, or its manager ends it.
void insist(const std::function<bool()>& act) {
  constexpr int tries_max = 100;
  int tries = 1;
  for (; !act() && tries < tries_max; ++tries) continue;
  CW_ASSERT(tries < tries_max);
}

/// After which a frame that has not come will not come any more.
Duration empty_for(const Plan& plan) {
  Duration hold;
  for (const ClassPlan& each : plan.classes) hold = std::max(hold, each.hold);
  return std::max(hold + plan.rtt * 4, Duration::from_ms(500));
}

}  // namespace

std::vector<Beyond> Site::misfits(Plan& next) const {
  auto found = site::misfits(plan_, next, shards_.front()->wan().facts());
  if (found.empty()) CW_ASSERT(try_arrange(plan_, next));
  return found;
}

Result<void> Site::begin_relink(Plan next, Instant now, const Between& between) {
  CW_ASSERT(!beside_);
  adopt(next, finder_);
  take_bars(next);
  next.lan.device = plan_.lan.device;  // as it came to be called
  keep_standings(next);
  auto beside = std::make_unique<Beside>(std::move(next));
  for (size_t i = 0; plan_.links > 1 && i < plan_.peers.size(); ++i) {
    beside->grants.emplace_back(beside->plan, i);
  }
  std::vector<std::unique_ptr<Rooms>> rooms(shards_.size());
  const auto make = [&](size_t shard) -> Result<void> {
    auto made = shards_[shard]->make_beside(beside->plan, beside->grants, finder_, now);
    if (!made) return std::unexpected(made.error());
    rooms[shard] = std::move(*made);
    return {};
  };
  if (const auto made = build_shards(make); !made) return made;
  {
    const std::scoped_lock lock(grants_mutex_);
    beside_ = std::move(beside);
  }
  const size_t joined = join(rooms, between);
  if (joined == 0) {
    const std::scoped_lock lock(grants_mutex_);
    beside_.reset();
  } else {
    relink_.begin(empty_for(plan_), now);
  }
  if (joined == shards_.size()) return {};
  relink_.cancel();  // those that have them, say goodbye with them
  return failure("the packets' thread " + std::to_string(joined) + " has no turn");
}

/// How many shards have taken theirs.
size_t Site::join(std::vector<std::unique_ptr<Rooms>>& rooms, const Between& between) {
  for (size_t i = 0; i < shards_.size(); ++i) {
    const bool is_done =
        between(*shards_[i], [this, &rooms, i](Instant) { shards_[i]->exchange_beside(rooms[i]); });
    if (!is_done) return i;
  }
  return shards_.size();
}

bool Site::try_turn_relink() {
  if (!relink_.may_turn() || shards_.front()->are_of_one_shape()) return false;
  relink_.turn();
  return true;
}

Relink::Step Site::pursue_relink(const SiteState& state, const Between& between) {
  const Relink::Step step = relink_.look(state, plan_);
  const bool is_done = [&] {
    switch (step) {
      case Relink::Step::None:
        return false;
      case Relink::Step::Move:
        return try_move(between);
      case Relink::Step::Leave:
        return on_shards(between, [](SiteShard& shard, Instant now) {
          if (shard.has_beside()) shard.leave_beside(now);
        });
      case Relink::Step::Part:
        return try_part(between);
      case Relink::Step::Tell:
        return on_shards(between, [this](SiteShard& shard, Instant now) {
          if (!shard.has_beside()) return;
          shard.give_up_newer(!relink_.has_given_up(), is_drain_wanted_, now);
        });
    }
    return false;
  }();
  if (is_done) relink_.on_done(step);
  // Of others than these it has told before.
  if (step == Relink::Step::None || !is_done) tell_others(between);
  return is_done ? step : Relink::Step::None;
}

void Site::tell_others(const Between& between) {
  if (beside_ == nullptr) return;
  const std::vector<bool> others = relink_.others();
  if (others == beside_->others && beside_->are_all_told) return;
  bool are_told = true;
  for (const auto& shard : shards_) {
    std::vector<bool> numbers = shard->numbers_of(others);
    are_told &= between(*shard, [&](Instant) { shard->exchange_others(numbers); });
  }
  beside_->are_all_told = are_told;
  const std::scoped_lock lock(grants_mutex_);
  beside_->others = others;
}

bool Site::on_shards(const Between& between, const std::function<void(SiteShard&, Instant)>& act) {
  bool are_done = true;
  for (const auto& shard : shards_) {
    are_done &= between(*shard, [&](Instant now) { act(*shard, now); });
  }
  return are_done;
}

/// False: some have not, who are to be asked again; who has is as before.
bool Site::try_move(const Between& between) {
  const auto move = [&](size_t i) {
    return between(*shards_[i], [&, i](Instant now) { shards_[i]->move(is_drain_wanted_, now); });
  };
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (move(i)) continue;
    // Twice is as if it had not been.
    for (; i > 0; --i) insist([&] { return move(i - 1); });
    beside_->are_all_told = false;  // who has moved has forgotten them
    return false;
  }
  exchange_plans();
  return true;
}

void Site::exchange_plans() {
  keep_standings(beside_->plan);
  are_rules_stale_ = true;
  const std::scoped_lock lock(grants_mutex_);
  std::swap(plan_, beside_->plan);
  std::swap(grants_, beside_->grants);
  beside_->has_carried = true;
  beside_->others.clear();
  // The one of the site's life.
  std::swap(plan_.registry, beside_->plan.registry);
  std::swap(plan_.loaded, beside_->plan.loaded);
  const auto impaired = bounds_.impaired;
  bounds_ = LiveBounds::of(plan_);
  bounds_.impaired = impaired;
}

bool Site::try_part(const Between& between) {
  std::vector<std::unique_ptr<Rooms>> rooms(shards_.size());
  const auto is_free = [](const auto& shard) { return shard->has_all_policies(); };
  if (!std::ranges::all_of(shards_, is_free)) return false;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (!shards_[i]->has_beside()) continue;
    const bool is_done =
        between(*shards_[i], [&, i](Instant) { shards_[i]->exchange_beside(rooms[i]); });
    if (!is_done) return false;
  }
  rooms.clear();  // before the grants that their links read
  const std::scoped_lock lock(grants_mutex_);
  beside_.reset();
  return true;
}

Result<void> Site::begin_relink(Plan next, Duration patience) {
  Instant now;
  const auto read_time = [&now](Instant its) { now = its; };
  if (!shards_.front()->between_turns(read_time, patience)) {
    return failure("the packets' thread has no turn");
  }
  return begin_relink(std::move(next), now, between(patience));
}

Result<void> Site::begin_relink(Plan next, Instant now) {
  return begin_relink(std::move(next), now, between(now));
}

Relink::Step Site::pursue_relink(const SiteState& state, Duration patience) {
  return pursue_relink(state, between(patience));
}

Relink::Step Site::pursue_relink(const SiteState& state, Instant now) {
  return pursue_relink(state, between(now));
}

/// Who waits for another thread's turn.
Site::Between Site::between(Duration patience) {
  return [patience](SiteShard& shard, const std::function<void(Instant)>& act) {
    return shard.between_turns(act, patience);
  };
}

/// Who turns the shards himself.
Site::Between Site::between(Instant now) {
  return [now](SiteShard&, const std::function<void(Instant)>& act) {
    act(now);
    return true;
  };
}

}  // namespace cw::site
