#include "control/deploy/draft.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include "control/config/text/file.h"
#include "dataplane/base/assert.h"

namespace cw::deploy {
namespace {

namespace fs = std::filesystem;

std::string path_in(const std::string& folder, const std::string& site) {
  return (fs::path(folder) / (site + ".toml")).string();
}

Node tree_of(const std::string& text) {
  auto tree = config::parse_toml(text);
  return tree ? std::move(*tree) : Node();
}

/// Files that we made for sites that are no longer in the deployment.
Result<void> add_gone(const std::string& folder, const std::vector<SiteFile>& files,
                      std::map<std::string, Found>& found) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string site = entry.path().stem().string();
    const bool is_there = std::ranges::find(files, site, &SiteFile::name) != files.end();
    if (is_there || entry.path().extension() != ".toml") continue;
    auto file = find_file(entry.path().string());
    if (!file) return std::unexpected(file.error());
    const bool is_ours = file->state == Found::State::Made || file->state == Found::State::Edited;
    if (is_ours && text_at(tree_of(file->text), {"site", "name"}) == site) {
      found[site] = std::move(*file);
    }
  }
  return {};
}

/// Of the deployment's row, as a text: of a site that goes nobody knows it any more.
std::string ask_of(const std::string& deployment, const std::string& site) {
  const Node tree = tree_of(deployment);
  const Node* const row = find_named(find(tree, {"site"}), site);
  return row == nullptr ? "" : text_at(*row, {"ask"});
}

/// There is no file of it here, and it is there.
void note_that_it_runs(DraftSite& site) {
  Need& need = site.change.need;
  if (site.running.site != need.site) return;
  need.act = Act::Reload;
  for (const Json& each : site.running.peers) {
    need.peers_before.insert(each["name"].get<std::string>());
  }
  site.change.notes.push_back(
      "it runs already, by which file is not known here; what a reload takes is told by "
      "causewayctl --config " +
      site.path + " plan");
}

/// All at once: who does not answer is waited for some seconds.
void ask_all(Draft& draft, const std::string& deployment, const Options& options) {
  std::vector<std::jthread> threads;
  for (DraftSite& each : draft.sites) {
    // Where what runs now is asked, its own file says, if there is one.
    const Node now = tree_of(each.found.text.empty() ? each.text : each.found.text);
    each.place =
        place_of(now, ask_of(deployment, each.change.need.site), options.folder, options.papers);
    if (options.is_offline) continue;
    threads.emplace_back([&each] {
      ctl::Client client(each.place);
      each.running = ask(client);
    });
  }
}

void compare_all(Draft& draft) {
  for (DraftSite& each : draft.sites) {
    if (!each.running.is_reached) continue;
    each.differences =
        differences(each.running, tree_of(each.found.text.empty() ? each.text : each.found.text));
    if (each.change.need.act == Act::Start) note_that_it_runs(each);
  }
}

}  // namespace

const DraftSite& Draft::site(const std::string& name) const {
  const auto it =
      std::ranges::find_if(sites, [&](const auto& each) { return each.change.need.site == name; });
  CW_ASSERT(it != sites.end());
  return *it;
}

Result<Draft> draft_of(const Options& options) {
  const auto text = config::text_of_file(options.file);
  if (!text) return std::unexpected(text.error());
  Checked checked = check(*text, fs::path(options.file).parent_path().string());
  Draft draft;
  draft.mistakes = std::move(checked.mistakes);
  draft.warnings = std::move(checked.warnings);
  if (!draft.mistakes.empty()) return draft;
  std::map<std::string, Found> found;
  for (const SiteFile& each : checked.files) {
    auto file = find_file(path_in(options.folder, each.name));
    if (!file) return std::unexpected(file.error());
    if (file->state != Found::State::Missing) found[each.name] = std::move(*file);
  }
  if (const auto added = add_gone(options.folder, checked.files, found); !added) {
    return std::unexpected(added.error());
  }
  std::vector<OldFile> before;
  before.reserve(found.size());
  for (const auto& [site, file] : found) before.push_back({site, file.text});
  for (SiteChange& change : changes_of(before, checked.files)) {
    const std::string name = change.need.site;
    DraftSite& site = draft.sites.emplace_back();
    site.change = std::move(change);
    site.path = path_in(options.folder, name);
    if (const auto old = found.find(name); old != found.end()) site.found = old->second;
    const auto file = std::ranges::find(checked.files, name, &SiteFile::name);
    if (file == checked.files.end()) continue;
    const std::string from = fs::path(options.file).filename().string();
    site.text = with_head(file->text, name, from);
    site.memory_bytes = file->plan.memory.count();
  }
  ask_all(draft, *text, options);
  compare_all(draft);
  std::vector<Need> needs;
  needs.reserve(draft.sites.size());
  for (const DraftSite& each : draft.sites) needs.push_back(each.change.need);
  draft.steps = order_of(needs);
  return draft;
}

/// How causewayctl is told whom to ask.
static std::string ctl_for(const DraftSite& site) {
  const ctl::Place& place = site.place;
  if (place.url.empty()) return "causewayctl --config " + site.path;
  return "causewayctl --url " + place.url + " --certificate " + place.certificate + " --key " +
         place.key + " --ca " + place.ca;
}

std::string command_of(const Step& step, const DraftSite& site) {
  switch (step.act) {
    case Act::Start:
      return "causewayd --config " + site.path;
    case Act::Reload:
      return ctl_for(site) + " reload --wait 10s";
    case Act::Restart:
      return "systemctl restart causeway";
    case Act::Stop:
      return "systemctl stop causeway";
  }
  return {};
}

std::string look_of(const DraftSite& site) { return ctl_for(site) + " links"; }

}  // namespace cw::deploy
