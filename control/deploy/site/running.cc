#include "control/deploy/site/running.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "control/api/sockets.h"

namespace cw::deploy {

ctl::Place place_of(const Node& tree, const std::string& ask, const std::string& folder,
                    const Papers& papers) {
  const std::string listen = text_at(tree, {"api", "listen"});
  const bool has_papers = !papers.certificate.empty();
  if (!ask.empty() || (!listen.empty() && has_papers)) {
    return {.read_socket = "",
            .control_socket = "",
            .url = ask.empty() ? "https://" + listen : ask,
            .certificate = papers.certificate,
            .key = papers.key,
            .ca = papers.ca};
  }
  const Node* const written = find(tree, {"api", "folder"});
  const std::string shared = written == nullptr ? api::default_folder : written->text;
  const std::string own = api::folder_of((std::filesystem::path(folder) / shared).string(),
                                         text_at(tree, {"site", "name"}));
  return {.read_socket = api::read_socket_of(own), .control_socket = api::control_socket_of(own)};
}

namespace {

/// A gateway of an older version has no such answer.
void note_file(Running& running, const ctl::Answer& answer) {
  running.why_no_file = answer.why;
  if (!answer.is_good()) return;
  auto tree = config::parse_toml(answer.json["toml"].get<std::string>());
  if (!tree) return void(running.why_no_file = tree.error().sentence);
  running.in_force = std::move(*tree);
}

Running ask_for_all(ctl::Client& client) {
  Running running;
  const ctl::Answer status = client.get("/v1/status");
  running.is_reached = status.is_good() && status.json.is_object();
  if (!running.is_reached) return running.why = status.why, running;
  running.site = status.json.value("site", "");
  running.state = status.json.value("state", "");
  for (const Json& each : status.json["peers"]) {
    running.peers.push_back({{"name", each["name"]},
                             {"link", each.value("link", "down")},
                             {"why", each.value("why", "")}});
  }
  for (const Json& each : status.json["classes"]) {
    running.policies.push_back(
        {{"class", each["class"]}, {"peer", each["peer"]}, {"out", each["policy"]["out"]}});
  }
  running.payload_max = status.json["wan"].value("payload_max", 0U);
  const ctl::Answer plan = client.post("/v1/plan", Json::object());
  if (plan.json.is_object() && plan.json.contains("steps")) running.open = plan.json["steps"];
  note_file(running, client.get_as_controller("/v1/config/in_force"));
  return running;
}

}  // namespace

Running ask(ctl::Client& client) {
  try {
    return ask_for_all(client);
  } catch (const Json::Error& error) {
    // Of another version than this program, perhaps.
    Running running;
    running.why = std::string("what it answers is not understood: ") + error.what();
    return running;
  }
}

std::vector<std::string> differences(const Running& running, const Node& tree) {
  std::vector<std::string> found;
  if (const std::string name = text_at(tree, {"site", "name"}); running.site != name) {
    found.push_back("who answers calls itself \"" + running.site + "\"");
  }
  if (running.state != "running") found.push_back("it is " + running.state);
  std::set<std::string> wanted, there;
  if (const Node* const peers = find(tree, {"peer"})) {
    for (const Node& each : peers->items) wanted.insert(text_at(each, {"name"}));
  }
  for (const Json& each : running.peers) {
    const std::string name = each["name"].get<std::string>();
    there.insert(name);
    if (!wanted.contains(name)) {
      found.push_back("it has peer \"" + name + "\"");
    } else if (each["link"] != "up") {
      const std::string why = each["why"].get<std::string>();
      found.push_back("its link with " + name + " is down" + (why.empty() ? "" : ": " + why));
    }
  }
  for (const std::string& each : wanted) {
    if (!there.contains(each)) found.push_back("it has no peer \"" + each + "\" yet");
  }
  const Node* const classes = find(tree, {"class"});
  for (const Json& each : running.policies) {
    const std::string name = each["class"].get<std::string>();
    const Node* const row = find_named(classes, name);
    const std::string policy = row == nullptr ? "" : text_at(*row, {"policy"});
    const std::string out = each["out"].get<std::string>();
    if (classes != nullptr && row == nullptr) {
      found.push_back("it has class \"" + name + "\"");
    } else if (!policy.empty() && !out.empty() && out != policy) {
      found.push_back("class \"" + name + "\" sends to " + each["peer"].get<std::string>() +
                      " by " + out + ", not " + policy);
    }
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

}  // namespace cw::deploy
