// A draft for people, and for programs.
#include <algorithm>
#include <filesystem>

#include "control/config/quantity.h"
#include "control/deploy/draft.h"

namespace cw::deploy {
namespace {

std::string_view name_of(Found::State state) {
  constexpr std::string_view names[] = {"missing", "made", "edited", "foreign"};
  return names[static_cast<uint8_t>(state)];
}

std::string bytes_text(uint64_t bytes) {
  constexpr uint64_t unit = 1 << 20;
  const uint64_t whole = (bytes + unit - 1) / unit * unit;
  return config::quantity_text(config::Quantity::Bytes, static_cast<double>(whole));
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text;
}

std::string or_nothing(const std::string& text) { return text.empty() ? "(not written)" : text; }

std::string file_line(const DraftSite& site) {
  const Need& need = site.change.need;
  const std::string memory = site.text.empty() ? "" : ", memory " + bytes_text(site.memory_bytes);
  const char* what = "is as it will be";
  if (need.act == Act::Stop) {
    what = "is of a site that is no longer in the deployment";
  } else if (site.found.state == Found::State::Missing) {
    what = "is not there yet";
  } else if (site.found.state == Found::State::Foreign) {
    what = "was written by somebody else";
  } else if (site.found.state == Found::State::Edited) {
    what = "was changed by somebody since it was made";
  } else if (!site.file_changes.empty()) {
    what = "will change";
  }
  return "site " + need.site + ": " + site.path + " " + what + memory + "\n";
}

std::string keys_of(const std::vector<site::Change>& changes) {
  constexpr size_t keys_max = 8;
  std::vector<std::string> keys;
  for (const site::Change& each : changes) {
    if (keys.size() < keys_max) keys.push_back(each.key);
  }
  const size_t more = changes.size() - keys.size();
  return joined(keys) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

std::string what_it_runs_by(const DraftSite& site) {
  if (site.knows_what_runs()) {
    if (!site.has_file()) return "and by which keys it tells: what changes is told from these";
    if (site.not_loaded.empty()) return "by the file that is there";
    return "and not by the file that is there, which differs in " + keys_of(site.not_loaded) +
           ": what changes is told from what runs";
  }
  const std::string of = site.has_file() ? "the file that is there" : "the file that will be";
  const std::string why = site.running.why_no_file.empty()
                              ? ""
                              : "; compared with that alone, since it does not tell its own: " +
                                    site.running.why_no_file;
  return (site.differences.empty() ? "as far as it tells by " + of : "and not by " + of) + why;
}

std::string running_lines(const DraftSite& site, bool is_offline) {
  if (is_offline) return "  not asked\n";
  if (!site.running.is_reached) {
    const char* const with = site.has_file() ? ", so compared with that file alone" : "";
    return "  not reached" + std::string(with) + ": " + site.running.why + "\n";
  }
  std::string text = "  runs, " + what_it_runs_by(site) + "\n";
  for (const std::string& each : site.differences) text += "    " + each + "\n";
  for (const Json& each : site.running.open.is_array() ? site.running.open : Json::array()) {
    const std::string key = each["key"].get<std::string>();
    const auto told = std::ranges::find(site.not_loaded, key, &site::Change::key);
    if (told == site.not_loaded.end())
      text += "    its own file says and is not in force: " + key + "\n";
  }
  return text;
}

std::string site_text(const DraftSite& site, bool is_offline) {
  std::string text = file_line(site);
  for (const site::Change& each : site.change.changes) {
    text += "  " + each.key + ": " + or_nothing(each.before) + " -> " + or_nothing(each.after) +
            "  (" + std::string(name_of(each.kind)) + ")\n";
  }
  for (const std::string& each : site.change.notes) text += "  careful: " + each + "\n";
  return text + running_lines(site, is_offline);
}

std::string step_text(size_t number, const Step& step, const DraftSite& site) {
  std::string text = std::to_string(number) + ". " + std::string(name_of(step.act)) + " " +
                     step.site + ": " + step.why + "\n     " + command_of(step, site) + "\n";
  if (step.act == Act::Stop)
    text += "     then take " + site.path + " away, by which it is known\n";
  if (!step.breaks.empty()) {
    text += "     until they have it, too, its links are down with " + joined(step.breaks) + "\n";
  }
  if (!step.carries_on.empty()) {
    text += "     until they have it, too, its links of before carry on with " +
            joined(step.carries_on) + "\n";
  }
  if (!step.waits_for.empty() && step.act != Act::Stop) {
    text += "     go on when its links are up with " + joined(step.waits_for) + ": " +
            look_of(site) + "\n";
  }
  return text;
}

Json change_json(const site::Change& change) {
  return {{"key", change.key},
          {"kind", name_of(change.kind)},
          {"before", change.before},
          {"after", change.after}};
}

Json changes_json(const std::vector<site::Change>& changes) {
  Json json = Json::array();
  for (const site::Change& each : changes) json.push_back(change_json(each));
  return json;
}

Json running_json(const DraftSite& site) {
  const Running& it = site.running;
  if (!it.is_reached) return {{"reached", false}, {"why", it.why}};
  return {{"reached", true},
          {"site", it.site},
          {"state", it.state},
          {"peers", it.peers},
          {"classes", it.policies},
          {"differences", site.differences},
          {"open", it.open},
          {"is_file_told", site.knows_what_runs()},
          {"why_no_file", it.why_no_file},
          {"not_loaded", changes_json(site.not_loaded)}};
}

}  // namespace

std::string text_of(const Draft& draft, const Options& options) {
  std::string text;
  for (const std::string& each : draft.warnings) text += "careful: " + each + "\n";
  for (const DraftSite& each : draft.sites) text += site_text(each, options.is_offline);
  if (draft.steps.empty()) return text + "\nnothing changes\n";
  text += "\nin this order, each site's file brought to it just before:\n";
  for (size_t i = 0; i < draft.steps.size(); ++i) {
    text += step_text(i + 1, draft.steps[i], draft.site(draft.steps[i].site));
  }
  return text;
}

Json json_of(const Draft& draft) {
  Json json = {{"mistakes", Json::array()},
               {"warnings", draft.warnings},
               {"sites", Json::array()},
               {"steps", Json::array()}};
  for (const DraftSite& each : draft.sites) {
    json["sites"].push_back({{"name", each.change.need.site},
                             {"file", each.path},
                             {"found", name_of(each.found.state)},
                             {"memory_bytes", each.memory_bytes},
                             {"changes", changes_json(each.change.changes)},
                             {"file_changes", changes_json(each.file_changes)},
                             {"notes", each.change.notes},
                             {"running", running_json(each)}});
  }
  for (size_t i = 0; i < draft.steps.size(); ++i) {
    const Step& step = draft.steps[i];
    const DraftSite& site = draft.site(step.site);
    json["steps"].push_back({{"number", i + 1},
                             {"site", step.site},
                             {"do", name_of(step.act)},
                             {"why", step.why},
                             {"command", command_of(step, site)},
                             {"waits_for", step.waits_for},
                             {"breaks", step.breaks},
                             {"carries_on", step.carries_on},
                             {"is_links_later", step.is_links_later}});
  }
  return json;
}

}  // namespace cw::deploy
