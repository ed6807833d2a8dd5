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

/// Those that will be, in their order, then those that go.
Result<void> add_sites(Draft& draft, const std::vector<SiteFile>& files, const Options& options) {
  std::map<std::string, Found> gone;
  if (const auto added = add_gone(options.folder, files, gone); !added) return added;
  const std::string from = fs::path(options.file).filename().string();
  for (const SiteFile& each : files) {
    DraftSite& site = draft.sites.emplace_back();
    site.change.need.site = each.name;
    site.path = path_in(options.folder, each.name);
    auto found = find_file(site.path);
    if (!found) return std::unexpected(found.error());
    site.found = std::move(*found);
    site.text = with_head(each.text, each.name, from);
    site.memory_bytes = each.plan.memory.count();
  }
  for (auto& [name, found] : gone) {
    DraftSite& site = draft.sites.emplace_back();
    site.change.need.site = name;
    site.path = path_in(options.folder, name);
    site.found = std::move(found);
  }
  return {};
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

std::vector<OldFile> known_files(const Draft& draft) {
  std::vector<OldFile> files;
  for (const DraftSite& each : draft.sites) {
    OldFile file{.site = each.change.need.site, .text = each.found.text};
    if (each.running.site == file.site) file.payload_max = each.running.payload_max;
    if (each.knows_what_runs()) file.text = config::toml_of(*each.running.in_force);
    if (each.knows_what_runs() || each.has_file()) files.push_back(std::move(file));
  }
  return files;
}

void compare_with_file(DraftSite& site) {
  const Node there = tree_of(site.found.text), will = tree_of(site.text);
  const bool is_known = site.knows_what_runs();
  if (site.has_file() && !site.text.empty()) {
    site.file_changes = site::changes_between(there, will);
  }
  if (!site.running.is_reached) return;
  if (site.has_file() && is_known) {
    site.not_loaded = site::changes_between(*site.running.in_force, there);
  }
  const Node& base = is_known ? *site.running.in_force : site.has_file() ? there : will;
  site.differences = differences(site.running, base);
  if (site.change.need.act == Act::Start) note_that_it_runs(site);
}

}  // namespace

const DraftSite& Draft::site(const std::string& name) const {
  const auto it =
      std::ranges::find_if(sites, [&](const auto& each) { return each.change.need.site == name; });
  CW_ASSERT(it != sites.end());
  return *it;
}

void compare(Draft& draft, const std::vector<SiteFile>& files) {
  std::vector<Need> needs;
  for (SiteChange& change : changes_of(known_files(draft), files)) {
    const auto site = std::ranges::find(
        draft.sites, change.need.site, [](const DraftSite& each) { return each.change.need.site; });
    CW_ASSERT(site != draft.sites.end());
    site->change = std::move(change);
    compare_with_file(*site);
    needs.push_back(site->change.need);
  }
  draft.steps = order_of(needs);
}

Result<Draft> draft_of(const Options& options) {
  const auto text = config::text_of_file(options.file);
  if (!text) return std::unexpected(text.error());
  Checked checked = check(*text, fs::path(options.file).parent_path().string());
  Draft draft;
  draft.mistakes = std::move(checked.mistakes);
  draft.warnings = std::move(checked.warnings);
  if (!draft.mistakes.empty()) return draft;
  if (const auto added = add_sites(draft, checked.files, options); !added) {
    return std::unexpected(added.error());
  }
  ask_all(draft, *text, options);
  compare(draft, checked.files);
  return draft;
}

/// How causewayctl is told whom to ask.
static std::string ctl_for(const DraftSite& site) {
  const ctl::Place& place = site.place;
  if (place.url.empty()) return "causewayctl --config " + site.path;
  return "causewayctl --url " + place.url + " --certificate " + place.certificate + " --key " +
         place.key + " --ca " + place.ca;
}

/// The instance that reads /etc/causeway/NAME.toml.
std::string unit_of(const DraftSite& site) {
  return "causewayd@" + std::filesystem::path(site.path).stem().string();
}

std::string command_of(const Step& step, const DraftSite& site) {
  switch (step.act) {
    case Act::Start:
      return "causewayd --config " + site.path;
    case Act::Reload:
      return ctl_for(site) + " reload --wait 10s" + (step.is_links_later ? " --links-later" : "");
    case Act::Restart:
      return "systemctl restart " + unit_of(site);
    case Act::Stop:
      return "systemctl stop " + unit_of(site);
  }
  return {};
}

std::string look_of(const DraftSite& site) { return ctl_for(site) + " links"; }

}  // namespace cw::deploy
