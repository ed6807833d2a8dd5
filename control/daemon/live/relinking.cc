#include "control/daemon/live/relinking.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "control/config/text/write.h"
#include "control/gateway/changes.h"
#include "control/gateway/site/site.h"

namespace cw::daemon {
namespace {

using Phase = site::Relink::Phase;
using Step = site::Relink::Step;

bool are_same(const std::optional<config::Node>& one, const std::optional<config::Node>& other) {
  if (!one || !other) return one.has_value() == other.has_value();
  return config::toml_of(*one) == config::toml_of(*other);
}

/// But for keys that need no other links.
bool are_alike(const config::Node& one, const config::Node& other) {
  return std::ranges::all_of(site::changes_between(one, other), [](const site::Change& each) {
    return each.kind == site::KeyKind::Live;
  });
}

std::string row_of(const std::vector<std::string>& names) {
  std::string row;
  for (const std::string& each : names) row += (row.empty() ? "\"" : ", \"") + each + "\"";
  return row;
}

}  // namespace

bool Relinking::is_waiting() const {
  const site::Relink& relink = site_.relink();
  return relink.phase() == Phase::Waiting && !relink.is_turning() && !is_cancelled_;
}

void Relinking::want(std::optional<config::Node> tree, const config::Node& in_force,
                     Duration patience) {
  trouble_.clear();
  is_asked_for_ = false;
  // What is in force now will not be in a moment.
  if (!tree && site_.relink().is_turning()) tree = in_force;
  take(std::move(tree), patience);
}

void Relinking::take(std::optional<config::Node> tree, Duration patience) {
  if (is_waiting() && are_same(tree, beside_)) return;
  if (is_waiting()) {
    site_.cancel_relink();
    is_cancelled_ = true;
  }
  wanted_ = std::move(tree);
  pursue(patience);
}

void Relinking::pursue(Duration patience) {
  if (!wanted_ || is_stopping_) return;
  if (site_.plan_beside() == nullptr) return begin(patience);
  if (!beside_ || !are_alike(*wanted_, *beside_) || !site_.try_turn_relink()) return;
  // Live keys that differ take links of their own afterwards.
  if (are_same(wanted_, beside_)) wanted_.reset();
  log_.info("relink_turns",
            {{"meaning",
              "the links beside take the place of those that carry again; who answers by these "
              "alone goes on by them"}});
}

void Relinking::begin(Duration patience) {
  config::Node tree = std::move(*std::exchange(wanted_, std::nullopt));
  const auto begun = [&]() -> Result<void> {
    auto plan = site::read_plan(file_, tree, {.key = site_.plan().key.get()});
    if (!plan) return std::unexpected(plan.error());
    for (const site::Beyond& each : site_.misfits(*plan)) return failure(each.why);
    return site_.begin_relink(std::move(*plan), patience);
  }();
  is_cancelled_ = !begun && site_.plan_beside() != nullptr;
  if (!begun) {
    // What a peer asks for is nothing that this site's file waits for.
    if (!is_asked_for_) trouble_ = begun.error().sentence;
    return log_.error("not_relinked", {{"why", begun.error().sentence}});
  }
  beside_ = std::move(tree);
  begun_at_ = site_.relink().since();
  told_.clear();
  log_.info("relink_begun",
            {{"meaning",
              "links beside those that carry, whose place they take when all peers that "
              "answer have such, too"}});
}

std::optional<config::Node> Relinking::look(const site::SiteState& state,
                                            const config::Node& in_force, Duration patience) {
  const Step step = site_.pursue_relink(state, patience);
  if (site_.relink().phase() == Phase::Waiting) tell_missing(state.at);
  switch (step) {
    case Step::Move:
      log_.info("relink_moved", {{"after_ms", std::round((state.at - begun_at_).ms())}});
      return std::exchange(beside_, in_force);
    case Step::Part:
      beside_.reset();
      log_.info(std::exchange(is_cancelled_, false) ? "relink_cancelled" : "relinked",
                {{"after_ms", std::round((state.at - begun_at_).ms())}});
      break;
    case Step::Leave:
    case Step::Tell:
    case Step::None:
      break;
  }
  follow_peers(state, in_force, patience);
  pursue(patience);
  return std::nullopt;
}

/// Whose own keys have changed, and none that must be alike, needs other links to a peer that has
/// nothing to change.
void Relinking::follow_peers(const site::SiteState& state, const config::Node& in_force,
                             Duration patience) {
  bool is_asked = false, has_gone_over = false;
  has_other_keys_.resize(state.peers.size());
  for (size_t i = 0; i < state.peers.size(); ++i) {
    const site::PeerView& each = state.peers[i];
    is_asked |= each.is_second_wanted;
    has_gone_over |= each.has_gone_over;
    if (!each.has_other_keys) has_other_keys_[i] = false;
    if (!each.has_other_keys || has_other_keys_[i] || site_.plan_beside() != nullptr) continue;
    has_other_keys_[i] = true;
    log_.warning("peer_has_other_keys",
                 {{"peer", site_.plan().gateway.peers[each.peer].name},
                  {"meaning",
                   "it has loaded keys that must be alike, and waits with links by them "
                   "for this site to have the same; what carries goes on"}});
  }
  const bool is_idle = site_.plan_beside() == nullptr && !wanted_ && !is_stopping_;
  if (is_asked && is_idle && state.at >= asked_again_at_) {
    log_.info("relink_asked", {{"by", "a peer whose own keys have changed"}});
    is_asked_for_ = true;
    take(in_force, patience);
    const bool has_begun = site_.plan_beside() != nullptr;
    asked_again_at_ = state.at + (has_begun ? asked_pause : failed_pause);
  }
  if (is_asked_for_ && is_waiting() && !has_gone_over && state.at - begun_at_ >= asked_max) {
    asked_again_at_ = state.at + failed_pause;
    take(std::nullopt, patience);
  }
}

/// Those that are gone from the row are told by what comes after.
void Relinking::tell_missing(Instant now) {
  const site::Relink& relink = site_.relink();
  if (relink.missing() == told_ || now < told_at_ + told_interval) return;
  told_ = relink.missing();
  told_at_ = now;
  if (!told_.empty()) log_.info("relink_waits", {{"for", told_}, {"why", why()}});
}

std::string Relinking::why() const {
  if (!trouble_.empty()) return trouble_;
  const site::Relink& relink = site_.relink();
  if (wanted_) return "links that were to take the place of others before go first";
  if (!is_waiting()) return "";
  if (relink.missing().empty()) return "links with it come up beside those that carry";
  return "of " + row_of(relink.missing()) +
         " no such links are up: have the same keys been loaded there?";
}

Json Relinking::json() const {
  constexpr const char* names[] = {"none", "waiting", "moved", "ending"};
  const site::Relink& relink = site_.relink();
  if (relink.phase() == Phase::None && !wanted_ && trouble_.empty()) return Json();
  return {{"phase", names[static_cast<size_t>(relink.phase())]},
          {"peers_missing", relink.missing()},
          {"why", why()},
          {"memory_mib",
           site_.plan_beside() == nullptr
               ? 0
               : std::round(static_cast<double>(site_.plan_beside()->memory.count()) / (1 << 20))}};
}

}  // namespace cw::daemon
