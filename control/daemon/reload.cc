#include "control/daemon/reload.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "control/config/text/file.h"
#include "control/daemon/live/told_params.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/site.h"
#include "control/json/json.h"
#include "dataplane/sdr/seat/policy_offer.h"

namespace cw::daemon {
namespace {

using site::Change;
using site::ClassPlan;
using site::KeyKind;
using site::SwapView;
using site::WantedPolicy;
using Fate = SwapView::Fate;

/// By the running gateway's number of the class; classes of the file that it has not are left out,
/// and those that adapt, which choose for themselves.
std::vector<WantedPolicy> wanted_by(const site::Plan& next, site::Site& site) {
  const site::Plan& running = site.plan();
  const sdr::LinkOptions& first = *std::ranges::find_if(
      next.peers, [](const sdr::LinkOptions& each) { return !each.control.is_vacant; });
  std::vector<WantedPolicy> wanted;
  for (size_t i = 0; i < next.classes.size(); ++i) {
    const auto there = std::ranges::find(running.classes, next.classes[i].name, &ClassPlan::name);
    if (there == running.classes.end() || next.classes[i].adapt) continue;
    const auto index = static_cast<uint16_t>(there - running.classes.begin());
    const sdr::PolicyChoice& policy = first.qps[i].policy;
    wanted.push_back({index, sdr::named(policy), site.newest_policy(policy.ops->name)});
  }
  return wanted;
}

/// As a person writes them, where the policy is known here.
std::string params_of(const SwapView& view, const site::Plan& plan) {
  for (const plugins::PolicyRef& each : plan.registry->all()) {
    const cw_policy_ops& table = each.table();
    if (sdr::PolicyOffer::of({&table, {}}).name == view.policy) {
      return told_params_text(table, view.params);
    }
  }
  return view.params;
}

std::vector<std::string> lines_of(const std::string& sentences) {
  std::vector<std::string> lines;
  std::istringstream stream(sentences);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void refuse(ReloadReport& report, const std::string& sentences) {
  for (const std::string& each : lines_of(sentences)) {
    report.mistakes.push_back("what can be changed now does not go without what needs a restart: " +
                              each);
  }
}

constexpr const char* by_links =
    "by links that take the place of those that carry, once all peers that answer have such";

/// It waits for links that take the place of others; a swap, where it says why it takes such.
bool is_of_links(const Step& step) {
  return step.fate == Step::Fate::Waits && (step.kind != KeyKind::Swap || !step.why.empty());
}

/// It is taken by the links that carry.
bool is_by_what_carries(const Step& step) {
  return step.fate == Step::Fate::Applied || (step.fate == Step::Fate::Waits && !is_of_links(step));
}

config::Node tree_of(const std::string& text) {
  auto tree = config::parse_toml(text);
  return tree ? std::move(*tree) : config::Node();
}

}  // namespace

std::string_view name_of(Step::Fate fate) {
  constexpr std::string_view names[] = {"applied", "waits", "needs restart", "not done"};
  return names[static_cast<size_t>(fate)];
}

Reload::Reload(site::Site& site, const Source& source, const Log& log, Surroundings around)
    : site_(site),
      source_(source),
      log_(log),
      around_(std::move(around)),
      in_force_(tree_of(source.text)),
      relinking_(site, source.file, log) {
  wanted_ = in_force_;
  for (const std::string& each : site.plan().plugin_files) plugins_[each] = state_of(each);
}

Reload::FileState Reload::state_of(const std::string& file) {
  struct stat it{};
  if (stat(file.c_str(), &it) != 0) return {};
  return {it.st_dev, it.st_ino, static_cast<uint64_t>(it.st_size),
          it.st_mtim.tv_sec * 1'000'000'000 + it.st_mtim.tv_nsec};
}

/// Plugins that are new, or other files than those which were loaded.
bool Reload::try_load(const site::Plan& plan, ReloadReport& report, Loaded& loaded) {
  for (const std::string& each : plan.plugin_files) {
    const FileState state = state_of(each);
    if (const auto known = plugins_.find(each); known != plugins_.end() && known->second == state) {
      continue;
    }
    const auto policy = site_.load_policy(each);
    if (!policy) {
      report.mistakes.push_back(policy.error().sentence);
      return false;
    }
    loaded.push_back({each, state, *policy});
  }
  return true;
}

void Reload::keep(const Loaded& loaded) {
  for (const auto& each : loaded) {
    plugins_[each.file] = each.state;
    log_.info("plugin_loaded", {{"file", each.file}});
  }
}

/// Their names find what they found before.
void Reload::unload(Loaded& loaded) {
  for (; !loaded.empty(); loaded.pop_back()) site_.unload_policy(loaded.back().policy);
}

// ---- what a file comes to ----

site::Known Reload::known() const {
  return {.key = site_.plan().key.get(), .secrets = &site_.plan().secrets};
}

Reload::Draft Reload::draft() const {
  Draft draft;
  const auto refuse = [&draft](const std::string& sentences) {
    draft.report.mistakes = lines_of(sentences);
    return std::move(draft);
  };
  const auto text = config::text_of_file(source_.file);
  if (!text) return refuse(text.error().sentence);
  auto plan = site::read_plan(source_.file, *text, known());
  if (!plan) return refuse(plan.error().sentence);
  draft.report.warnings = plan->warnings;
  draft.file = tree_of(*text);
  draw(draft);
  return draft;
}

/// What can be taken need not hold together without what cannot: then nothing is.
void Reload::draw(Draft& draft) const {
  ReloadReport& report = draft.report;
  Reasons refused, relinked;
  do {
    report.steps.clear();
    draft.next = site::merged(in_force_, draft.file, [&](const Change& change) {
      Step& step = report.steps.emplace_back(step_of(change));
      if (const auto found = refused.find(step.key); found != refused.end()) {
        step.fate = Step::Fate::NeedsRestart;
        step.why = found->second;
      }
      if (const auto found = relinked.find(step.key); found != relinked.end()) {
        step.fate = Step::Fate::Waits;
        step.why = found->second;
      }
      return is_by_what_carries(step);
    });
    site::Known memory_of_start = known();
    memory_of_start.link_rate = site_.plan().link_rate;
    auto plan = site::read_plan(source_.file, draft.next, memory_of_start);
    if (!plan) return refuse(report, plan.error().sentence);
    draft.plan.emplace(std::move(*plan));
  } while (!is_all_within(draft, refused, relinked));
  draw_relink(draft);
  if (!report.mistakes.empty()) return;
  warn_of_next_start(draft);
  add_open_swaps(report.steps);
  std::ranges::sort(report.steps, {}, &Step::key);
}

/// What takes other links, as far as such can be beside those that carry.
void Reload::draw_relink(Draft& draft) const {
  std::vector<Step>& steps = draft.report.steps;
  while (std::ranges::any_of(steps, is_of_links)) {
    auto tree = site::merged(in_force_, draft.file, [&](const Change& change) {
      return std::ranges::find(steps, change.key, &Step::key)->fate != Step::Fate::NeedsRestart;
    });
    auto plan = site::read_plan(source_.file, tree, known());
    if (!plan) return refuse(draft.report, plan.error().sentence);
    if (!is_all_fit(*plan, steps)) continue;
    warn_of_relink(draft, *plan);
    draft.relinked = std::move(tree);
    return;
  }
}

/// False: some keys, or all of these, need a restart.
bool Reload::is_all_fit(site::Plan& plan, std::vector<Step>& steps) const {
  const auto found = site_.misfits(plan);
  for (const site::Beyond& each : found) {
    const bool is_named = std::ranges::any_of(
        steps, [&](const Step& step) { return is_of_links(step) && step.key == each.key; });
    for (Step& step : steps) {
      if (!is_of_links(step) || (is_named && step.key != each.key)) continue;
      step.fate = Step::Fate::NeedsRestart;
      step.why = each.why;
    }
  }
  return found.empty();
}

void Reload::warn_of_relink(Draft& draft, const site::Plan& plan) const {
  draft.report.warnings.push_back(
      "until other links have taken the place of those that carry, there is memory for both: " +
      std::to_string(plan.memory.count() >> 20) + " MiB more at most");
  if (plan.wan.packets <= site_.plan().wan.packets) return;
  draft.report.warnings.push_back(
      "the WAN port keeps " + std::to_string(site_.plan().wan.packets) +
      " packets since its start, and " + std::to_string(plan.wan.packets) +
      " would hold all that may be on the way: at full rate and much loss, frames may have to wait "
      "for one until the next start");
}

/// Where streams would be others, sites that disagree about what they follow from carry nothing,
/// from the next start of either on.
void Reload::warn_of_next_start(Draft& draft) const {
  const auto next = site::read_plan(source_.file, draft.next, known());
  if (!next) return;
  const site::Plan& running = site_.plan();
  const bool are_alike = std::ranges::equal(
      next->classes, running.classes, {},
      [](const ClassPlan& it) { return sdr::pair_keys(it.stream); },
      [](const ClassPlan& it) { return sdr::pair_keys(it.stream); });
  if (are_alike) return;
  const sdr::PairKeys &then = next->peers.front().control.told_keys,
                      &now = running.peers.front().control.told_keys;
  for (size_t i = 0; i < std::min(then.size(), now.size()); ++i) {
    if (then[i] == now[i]) continue;
    draft.report.warnings.push_back(
        then[i].first + " is " + now[i].second + " for the peers and will be " + then[i].second +
        " when this site starts again; it must be so at all sites then");
  }
}

/// False: some keys are not to be taken by the links there are, which have no memory for so much.
bool Reload::is_all_within(Draft& draft, Reasons& refused, Reasons& relinked) const {
  const size_t before = refused.size() + relinked.size();
  for (const site::Beyond& each : site_.beyond(*draft.plan)) {
    for (const Step& step : draft.report.steps) {
      const bool is_it = step.key == each.key || step.key.starts_with(each.key + ".");
      if (!is_it || !is_by_what_carries(step)) continue;
      (each.goes_by_relink ? relinked : refused)[step.key] = each.why;
    }
  }
  return refused.size() + relinked.size() == before;
}

Step Reload::step_of(const Change& change) const {
  Step step{.key = change.key,
            .kind = change.kind,
            .before = change.before,
            .after = change.after,
            .why = ""};
  switch (change.kind) {
    case KeyKind::Swap:
      step.fate = change.key.starts_with("class.") ? Step::Fate::Waits : Step::Fate::Applied;
      break;
    case KeyKind::Relink:
      step.fate = Step::Fate::Waits;
      step.why = by_links;
      break;
    case KeyKind::Keys:
      step.why = "the key is read at start";
      break;
    case KeyKind::Live:
      step.fate = Step::Fate::Applied;
      break;
    case KeyKind::Restart:
      break;
  }
  return step;
}

ReloadReport Reload::plan() {
  ReloadReport report = draft().report;
  report.is_done = report.mistakes.empty();
  return report;
}

std::vector<Step> Reload::open() const {
  std::vector<Step> steps;
  for (const Change& each : site::changes_between(in_force_, wanted_)) {
    Step& step = steps.emplace_back(step_of(each));
    const auto known = std::ranges::find(not_taken_, step.key, &Step::key);
    if (known != not_taken_.end()) step = *known;
    if (!is_of_links(step)) continue;
    if (relinking_.has_failed()) step.fate = Step::Fate::NeedsRestart;
    if (const std::string why = relinking_.why(); !why.empty()) step.why = why;
  }
  add_open_swaps(steps);
  std::ranges::sort(steps, {}, &Step::key);
  return steps;
}

/// Those that were ordered, until every link has told that it is done; of several links the last
/// that has not says why.
void Reload::add_open_swaps(std::vector<Step>& steps) const {
  for (const Change& change : swapping_) {
    if (std::ranges::find(steps, change.key, &Step::key) != steps.end()) continue;
    std::optional<Step> step;
    for (const SwapView& view : seen_) {
      const std::string& name = site_.plan().classes[view.class_index].name;
      const bool is_its = view.is_ours && view.is_outward && view.fate != Fate::Done &&
                          change.key.starts_with("class." + name + ".");
      if (!is_its) continue;
      step = step_of(change);
      if (view.fate == Fate::NotDone) step->fate = Step::Fate::NotDone;
      step->why = view.why;
    }
    if (step) steps.push_back(*step);
  }
}

// ---- doing it ----

ReloadReport Reload::run(Duration patience) {
  Draft draft = this->draft();
  ReloadReport& report = draft.report;
  Loaded loaded;
  report.is_done = report.mistakes.empty() && try_load(*draft.plan, report, loaded) &&
                   try_apply(draft, patience);
  report.is_done ? keep(loaded) : unload(loaded);
  tell(report);
  if (!report.is_done) return report;
  std::erase_if(swapping_, [&](const Change& each) {
    return std::ranges::find(report.steps, each.key, &Step::key) != report.steps.end();
  });
  for (const Step& each : report.steps) {
    if (each.fate != Step::Fate::Waits || is_of_links(each)) continue;
    swapping_.push_back({each.key, each.kind, each.before, each.after});
  }
  not_taken_.clear();
  std::ranges::copy_if(report.steps, std::back_inserter(not_taken_), [](const Step& each) {
    return each.fate == Step::Fate::NeedsRestart || is_of_links(each);
  });
  wanted_ = std::move(draft.file);
  in_force_ = std::move(draft.next);
  site_.want_policies(wanted_by(*draft.plan, site_), patience);
  relinking_.want(std::move(draft.relinked), in_force_, patience);
  if (around_.on_reloaded) around_.on_reloaded();
  return report;
}

bool Reload::look_at_links(const site::SiteState& state, Duration patience) {
  auto tree = relinking_.look(state, in_force_, patience);
  if (!tree) return false;
  in_force_ = std::move(*tree);
  seen_.clear();  // of classes that may have other numbers now
  return true;
}

/// False: all is as before.
bool Reload::try_apply(Draft& draft, Duration patience) {
  const auto applied = apply_live(*draft.plan, site_, log_, around_, patience);
  if (applied) return true;
  ReloadReport& report = draft.report;
  report.mistakes.push_back(applied.error().sentence);
  for (Step& each : report.steps) {
    if (each.fate == Step::Fate::NeedsRestart) continue;
    each.fate = Step::Fate::NotDone;
    each.why = "something else could not be done: " + applied.error().sentence;
  }
  return false;
}

void Reload::tell(const ReloadReport& report) const {
  for (const std::string& each : report.mistakes) log_.error("not_reloaded", {{"why", each}});
  if (!report.is_done) return;
  for (const std::string& each : report.warnings) log_.warning("careful", {{"what", each}});
  Json restart = Json::array(), links = Json::array();
  for (const Step& each : report.steps) {
    if (each.fate == Step::Fate::NeedsRestart) restart.push_back(each.key);
    if (is_of_links(each)) links.push_back(each.key);
  }
  Fields fields = {{"file", source_.file}};
  if (!links.empty()) fields["by_other_links"] = links;
  if (!restart.empty()) fields["need_restart"] = restart;
  log_.info("reloaded", fields);
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
  if (!view.params.empty()) fields["params"] = params_of(view, plan);
  if (!view.is_ours) fields["ordered_by"] = "peer";
  if (view.order != 0) fields["order"] = view.order;
  if (!view.guard_says.empty()) return tell_verdict(view, fields);
  if (view.guard == site::GuardState::Watching) fields["guard"] = "watching";
  if (view.fate == Fate::Done) {
    fields["after_ms"] = std::round(view.ms * 10) / 10;
    return log_.info("swapped", fields);
  }
  fields["why"] = view.why;
  if (view.fate == Fate::Waiting) return log_.info("swap_waits", fields);
  log_.warning("not_swapped", fields);
}

void Reload::tell_verdict(const SwapView& view, Fields& fields) const {
  fields["why"] = view.guard_says;
  switch (view.guard) {
    case site::GuardState::SwappedBack:
      return log_.warning("swapped_back", fields);
    case site::GuardState::Undecided:
      return log_.warning("guard_undecided", fields);
    default:
      return log_.info("guard_content", fields);
  }
}

}  // namespace cw::daemon
