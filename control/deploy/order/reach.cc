#include "control/deploy/order/reach.h"

#include <algorithm>

#include "control/gateway/site/live/live_change.h"
#include "control/gateway/site/live/peer_places.h"
#include "control/gateway/site/relink/misfits.h"

namespace cw::deploy {
namespace {

using site::Beyond;
using site::Change;
using site::ClassPlan;
using site::KeyKind;
using site::Plan;

class Reaching {
 public:
  Reaching(const InForce& in_force, const SiteFile& file)
      : in_force_(in_force), running_(in_force.plan), file_(file) {}

  /// By the links that carry.
  void go_live() {
    auto live = plan_of_the_rest();
    if (!live) {
      found_.beyond.push_back(
          "what can be changed at once does not go without what takes other links, so that a "
          "reload would take neither: " +
          live.error().sentence);
      return;
    }
    Plan next = std::move(*live);
    add(site::beyond_places(running_, next));
    if (site::try_arrange(running_, next)) add(site::beyond(site::LiveBounds::of(running_), next));
  }
  void go_by_links(const std::vector<Change>& changes) {
    found_.is_by_links |= std::ranges::any_of(
        changes, [](const Change& each) { return each.kind == KeyKind::Relink; });
    if (!found_.is_by_links || !found_.beyond.empty()) return;
    add(site::misfits(running_, file_.plan, in_force_.wan));
  }
  Reach found() && { return std::move(found_); }

 private:
  /// But for what takes other links by its kind.
  Result<Plan> plan_of_the_rest() const {
    const Node tree = site::merged(in_force_.tree, file_.tree,
                                   [](const Change& each) { return each.kind != KeyKind::Relink; });
    return plan_of(file_.name + ".toml", toml_of(tree), running_.link_rate);
  }
  void add(const std::vector<Beyond>& all) {
    for (const Beyond& each : all) {
      found_.is_by_links |= each.goes_by_relink;
      if (!each.goes_by_relink) found_.beyond.push_back(each.key + ": " + each.why);
    }
  }

  const InForce& in_force_;
  const Plan& running_;
  const SiteFile& file_;
  Reach found_;
};

}  // namespace

Reach reach_of(const InForce& in_force, const SiteFile& file, const std::vector<Change>& changes) {
  Reaching reaching(in_force, file);
  reaching.go_live();
  reaching.go_by_links(changes);
  return std::move(reaching).found();
}

sdr::PairKeys shape_of(const Plan& plan) {
  sdr::PairKeys keys = plan.peers.front().control.pair_keys;
  for (const ClassPlan& each : plan.classes) {
    const sdr::PairKeys more = sdr::pair_keys(each.stream);
    keys.insert(keys.end(), more.begin(), more.end());
  }
  return keys;
}

}  // namespace cw::deploy
