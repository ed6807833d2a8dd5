#include "control/deploy/file/check.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "control/deploy/file/between.h"
#include "control/deploy/file/site_tree.h"
#include "control/gateway/keys/config.h"

namespace cw::deploy {
namespace {

/// Plans of other machines have it in place of what lies there.
const site::PairKey some_key{};

/// Without what is another machine's: its users, and which cores it has. How many are used decides
/// about memory and stays.
Node for_any_machine(Node tree) {
  const auto number_anew = [](Node* table) {
    if (table == nullptr) return;
    for (config::Entry& each : table->entries) {
      if (each.name != "cores") continue;
      for (Node& core : each.value.items) {
        if (core.kind == Node::Kind::Integer) core.integer = 0;
      }
    }
  };
  for (config::Entry& each : tree.entries) {
    if (each.name != "site" && each.name != "offload") continue;
    number_anew(&each.value);
    if (each.name != "site") continue;
    for (config::Entry& key : each.value.entries) {
      if (key.name == "core" && key.value.kind == Node::Kind::Integer) key.value.integer = 0;
      if (key.name == "user" && key.value.kind == Node::Kind::Text) key.value.text.clear();
    }
  }
  return tree;
}

bool is_of_another_machine(const std::string& warning) {
  return warning.starts_with("site.cores names a core twice");
}

/// The sentences of sites, each once: what is wrong at all of them is told of none.
class Told {
 public:
  Told(config::Mistakes& mistakes, const Deployment& deployment)
      : mistakes_(mistakes), sites_(deployment.sites.size()) {
    for (const config::Mistake& each : mistakes) known_.push_back(each.place);
    for (const SiteRow& each : deployment.sites) std::erase(known_, each.row.place);
  }
  void add(const std::string& site, const config::Mistake& mistake) {
    // It is wrong for a reason that was told there already, or at the other site.
    if (std::ranges::find(known_, mistake.place) != known_.end()) return;
    if (mistake.place == Place()) return;
    if (mistake.sentence.starts_with("peer.") && mistake.sentence.contains(" is missing")) return;
    auto& sites = told_[{mistake.place, mistake.sentence}];
    if (std::ranges::find(sites, site) == sites.end()) sites.push_back(site);
  }
  void end() {
    for (const auto& [what, sites] : told_) {
      const std::string more =
          sites.size() > 1 ? " and " + std::to_string(sites.size() - 1) + " more" : std::string();
      const std::string whose =
          sites.size() == sites_ ? "" : "site \"" + sites.front() + "\"" + more + ": ";
      mistakes_.push_back({what.first, whose + what.second});
    }
  }

 private:
  config::Mistakes& mistakes_;
  size_t sites_;
  std::vector<Place> known_;
  std::map<std::pair<Place, std::string>, std::vector<std::string>> told_;
};

config::Mistakes mistakes_of(const SiteTree& site, const std::string& folder,
                             std::vector<std::string>& warnings) {
  const auto config = std::make_shared<site::Config>();
  config->known.key = &some_key;
  config->known.has_no_secrets = true;
  config->folder = folder;
  config::Section schema;
  site::declare(schema, config);
  config::Mistakes mistakes = config::read(schema, for_any_machine(site.tree));
  for (const std::string& each : config->warnings) {
    if (!is_of_another_machine(each)) warnings.push_back("site \"" + site.name + "\": " + each);
  }
  return mistakes;
}

/// What two gateways tell each other at the start, and carry nothing where they differ.
void compare(const Deployment& deployment, Checked& checked) {
  for (size_t a = 0; a < checked.files.size(); ++a) {
    for (size_t b = a + 1; b < checked.files.size(); ++b) {
      const SiteFile &here = checked.files[a], &there = checked.files[b];
      if (!deployment.are_linked(here.name, there.name)) continue;
      const auto& ours = here.plan.peers.front().control.pair_keys;
      const auto& theirs = there.plan.peers.front().control.pair_keys;
      for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
        if (ours[i] == theirs[i]) continue;
        checked.mistakes.push_back({deployment.site(there.name)->row.place,
                                    "sites \"" + here.name + "\" and \"" + there.name +
                                        "\" would carry nothing: " + ours[i].first + " is " +
                                        ours[i].second + " at one and " + theirs[i].second +
                                        " at the other"});
      }
    }
  }
}

void make_files(const std::vector<SiteTree>& trees, const Remarks& remarks,
                const std::string& folder, Checked& checked) {
  for (const SiteTree& each : trees) {
    const std::string file = (std::filesystem::path(folder) / (each.name + ".toml")).string();
    std::string text = toml_of(each.tree, remarks);
    auto plan = plan_of(file, text);
    if (!plan) {
      checked.mistakes.push_back(
          {Place{1, 1}, "site \"" + each.name +
                            "\": its file would not be read back: " + plan.error().sentence});
      continue;
    }
    checked.files.push_back({each.name, std::move(text), each.tree, std::move(*plan)});
  }
}

void tidy(Checked& checked) {
  std::ranges::sort(checked.mistakes, [](const config::Mistake& a, const config::Mistake& b) {
    return std::tie(a.place, a.sentence) < std::tie(b.place, b.sentence);
  });
  if (!checked.mistakes.empty()) checked.files.clear();
}

}  // namespace

Result<site::Plan> plan_of(const std::string& file, std::string_view text, Rate link_rate) {
  const auto tree = config::parse_toml(text);
  if (!tree) return failure(tree.error().sentence);
  return site::read_plan(file, toml_of(for_any_machine(*tree)),
                         {.key = &some_key, .has_no_secrets = true, .link_rate = link_rate});
}

Checked check(std::string_view text, const std::string& folder) {
  Checked checked;
  Deployment deployment;
  checked.mistakes = read_deployment(deployment, text);
  if (deployment.tree.entries.empty() && !checked.mistakes.empty()) return checked;
  for (config::Mistake& each : mistakes_between(deployment)) {
    checked.mistakes.push_back(std::move(each));
  }
  const CommonPair pair = common_pair(deployment);
  const std::vector<SiteTree> trees = site_trees(deployment, pair);
  Told told(checked.mistakes, deployment);
  for (const SiteTree& each : trees) {
    if (find(each.tree, {"peer"})->items.empty()) continue;  // told already
    for (const config::Mistake& it : mistakes_of(each, folder, checked.warnings)) {
      told.add(each.name, it);
    }
  }
  told.end();
  for (const std::string& each : pair.warnings) checked.warnings.push_back(each);
  for (std::string& each : warnings_between(deployment))
    checked.warnings.push_back(std::move(each));
  if (checked.mistakes.empty()) make_files(trees, pair.remarks, folder, checked);
  if (checked.mistakes.empty()) compare(deployment, checked);
  tidy(checked);
  return checked;
}

}  // namespace cw::deploy
