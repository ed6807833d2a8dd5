#include "control/daemon/reload.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "control/config/text/file.h"
#include "control/gateway/changes.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/site.h"
#include "control/json/json.h"

namespace cw::daemon {
namespace {

using site::ClassPlan;
using site::SwapView;
using site::WantedPolicy;
using Fate = SwapView::Fate;

/// By the running gateway's number of the class; classes of the file that it has not are left out.
std::vector<WantedPolicy> wanted_by(const site::Plan& file, site::Site& site) {
  const site::Plan& running = site.plan();
  std::vector<WantedPolicy> wanted;
  for (size_t i = 0; i < file.classes.size(); ++i) {
    const auto there = std::ranges::find(running.classes, file.classes[i].name, &ClassPlan::name);
    if (there == running.classes.end()) continue;
    const auto index = static_cast<uint16_t>(there - running.classes.begin());
    const sdr::PolicyChoice& policy = file.peers.front().qps[i].policy;
    wanted.push_back({index, sdr::named(policy), site.newest_policy(policy.ops->name)});
  }
  return wanted;
}

}  // namespace

Reload::Reload(site::Site& site, const Source& source, const Log& log)
    : site_(site), source_(source), log_(log) {
  for (const std::string& each : site.plan().plugin_files) plugins_[each] = state_of(each);
}

Reload::FileState Reload::state_of(const std::string& file) {
  struct stat it{};
  if (stat(file.c_str(), &it) != 0) return {};
  return {it.st_dev, it.st_ino, static_cast<uint64_t>(it.st_size),
          it.st_mtim.tv_sec * 1'000'000'000 + it.st_mtim.tv_nsec};
}

/// Plugins that are new, or other files than those which were loaded.
bool Reload::try_load(const site::Plan& plan) {
  for (const std::string& each : plan.plugin_files) {
    const FileState state = state_of(each);
    if (const auto known = plugins_.find(each); known != plugins_.end() && known->second == state) {
      continue;
    }
    if (const auto loaded = site_.load_policy(each); !loaded) {
      log_.error("not_reloaded", {{"why", loaded.error().sentence}});
      return false;
    }
    plugins_[each] = state;
    log_.info("plugin_loaded", {{"file", each}});
  }
  return true;
}

void Reload::run(Duration patience) {
  const auto refuse = [&](const std::string& sentences) {
    std::istringstream lines(sentences);
    for (std::string line; std::getline(lines, line);) log_.error("not_reloaded", {{"why", line}});
  };
  const auto text = config::text_of_file(source_.file);
  if (!text) return refuse(text.error().sentence);
  const auto plan = site::read_plan(source_.file, *text, site_.plan().key.get());
  if (!plan) return refuse(plan.error().sentence);
  if (!try_load(*plan)) return;
  Json waiting = Json::array();
  for (const site::Change& each : site::changes_between(source_.text, *text)) {
    if (each.kind == site::KeyKind::Restart) waiting.push_back(each.key);
  }
  Fields fields = {{"file", source_.file}};
  if (!waiting.empty()) fields["need_restart"] = waiting;
  log_.info("reloaded", fields);
  site_.want_policies(wanted_by(*plan, site_), patience);
}

bool Reload::look(const site::SiteState& state, Duration patience) {
  for (const SwapView& view : state.swaps) {
    if (std::ranges::find(seen_, view) == seen_.end() && may_tell(view, state.at)) tell(view);
  }
  seen_ = state.swaps;
  if (state.has_open_swaps) site_.pursue_swaps(patience);
  const bool is_any =
      std::ranges::any_of(seen_, [](const SwapView& view) { return view.fate == Fate::UnderWay; });
  if (!is_any) swapping_since_ = state.at;
  return is_any && state.at - swapping_since_ < haste;
}

/// A peer that asks for what cannot be, again and again, fills no disk.
bool Reload::may_tell(const SwapView& view, Instant now) {
  if (view.is_ours || view.fate != Fate::NotDone) return true;
  if (now < peers_told_ + Duration::from_s(1)) return false;
  peers_told_ = now;
  return true;
}

void Reload::tell(const SwapView& view) const {
  const bool was_so = view.fate == Fate::Done && view.id == 0;
  if (view.fate == Fate::UnderWay || was_so) return;
  const site::Plan& plan = site_.plan();
  Fields fields = {{"class", plan.classes[view.class_index].name},
                   {"peer", plan.gateway.peers[view.peer].name}};
  if (plan.links > 1) fields["link"] = view.link;
  fields.update({{"direction", view.is_outward ? "out" : "in"}, {"policy", view.policy}});
  if (!view.params.empty()) fields["params"] = view.params;
  if (!view.is_ours) fields["ordered_by"] = "peer";
  if (view.order != 0) fields["order"] = view.order;
  if (view.fate == Fate::Done) {
    fields["after_ms"] = std::round(view.ms * 10) / 10;
    return log_.info("swapped", fields);
  }
  fields["why"] = view.why;
  if (view.fate == Fate::Waiting) return log_.info("swap_waits", fields);
  log_.warning("not_swapped", fields);
}

}  // namespace cw::daemon
