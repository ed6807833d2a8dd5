#include "control/daemon/admin/views.h"

#include <array>
#include <string>
#include <string_view>

#include "control/config/policy_keys.h"
#include "control/daemon/log.h"
#include "control/gateway/site/site.h"

namespace cw::daemon::views {
namespace {

using api::json_response;

/// {"site": ..., "written": ..., NAME: ROWS}.
Response part(const Json& status, std::string_view name, const Json& rows) {
  Json json = {{"site", status["site"]}, {"written", status["written"]}};
  json[name] = rows;
  return json_response(json);
}

/// Of a peer with several links each has its own.
void add_paths(Json& rows, const std::string& peer, const Json& link, uint64_t number) {
  if (!link.contains("paths")) return;
  uint64_t path = 0;
  for (const Json& each : link["paths"]) {
    Json row = {{"peer", peer}, {"link", number}, {"path", path++}};
    row.update(each);
    rows.push_back(row);
  }
}

Json param_json(const cw_param& param) {
  constexpr std::array types = {"integer", "real", "duration", "choice"};
  Json json = {{"name", param.name},
               {"type", types[param.type]},
               {"default", config::param_text(param, param.initial)}};
  if (param.choices != nullptr) {
    json["choices"] = param.choices;
  } else {
    json["min"] = config::param_text(param, param.min);
    json["max"] = config::param_text(param, param.max);
  }
  json["sentence"] = param.sentence;
  return json;
}

/// Classes that send by it now, over any link.
Json users_of(std::string_view policy, const Json& status) {
  Json users = Json::array();
  for (const Json& lane : status["classes"]) {
    const std::string its = lane["policy"]["out"].get<std::string>();
    if (its != policy) continue;
    const Json& name = lane["class"];
    bool is_known = false;
    for (const Json& each : users) is_known |= each == name;
    if (!is_known) users.push_back(name);
  }
  return users;
}

}  // namespace

Response who(const Request& request) {
  return json_response({{"who", request.who}, {"may_order", request.role == api::Role::Control}});
}

Response status(const Doors& doors, const Request&) { return json_response(doors.status()); }

Response metrics(const Doors& doors, const Request&) {
  return {.body = doors.metrics(), .type = "text/plain; version=0.0.4; charset=utf-8"};
}

Response links(const Doors& doors, const Request&) {
  const Json status = doors.status();
  return part(status, "links", status["peers"]);
}

Response paths(const Doors& doors, const Request&) {
  const Json status = doors.status();
  Json rows = Json::array();
  for (const Json& peer : status["peers"]) {
    const std::string name = peer["name"].get<std::string>();
    add_paths(rows, name, peer, 0);
    if (!peer.contains("links")) continue;
    for (const Json& link : peer["links"]) {
      add_paths(rows, name, link, link["number"].get<uint64_t>());
    }
  }
  return part(status, "paths", rows);
}

Response classes(const Doors& doors, const Request&) {
  const Json status = doors.status();
  return part(status, "classes", status["classes"]);
}

Response drops(const Doors& doors, const Request&) {
  const Json status = doors.status();
  return part(status, "drops", status["drops"]);
}

Response swaps(const Doors& doors, const Request& request) {
  const Json status = doors.status();
  const auto order = request.query.find("order");
  if (order == request.query.end()) return part(status, "swaps", status["swaps"]);
  Json rows = Json::array();
  for (const Json& each : status["swaps"]) {
    if (each["order"].dump() == order->second) rows.push_back(each);
  }
  return part(status, "swaps", rows);
}

Response adaptive(const Doors& doors, const Request&) {
  const Json status = doors.status();
  return part(status, "adaptive", status["adaptive"]);
}

Response policies(const Doors& doors, const Request&) {
  const Json status = doors.status();
  Json rows = Json::array();
  for (const plugins::PolicyRef& each : doors.site.plan().registry->all()) {
    const cw_policy_ops& table = each.table();
    Json row = {{"name", table.name},
                {"wire_version", table.wire_version},
                {"classes", users_of(table.name, status)},
                {"params", Json::array()}};
    for (uint32_t i = 0; i < table.param_count; ++i)
      row["params"].push_back(param_json(table.params[i]));
    rows.push_back(row);
  }
  return part(status, "policies", rows);
}

Response streams(const Doors& doors, const Request&) {
  constexpr Duration patience = Duration::from_ms(20);  // a glance: who has no turn is left out
  const site::Plan& plan = doors.site.plan();
  Json rows = Json::array();
  for (const site::StreamRow& each : doors.site.streams(patience)) {
    const sdr::StreamView& view = each.view;
    rows.push_back({{"peer", plan.gateway.peers[each.peer].name},
                    {"link", each.link},
                    {"class", plan.classes[each.class_index].name},
                    {"direction", each.is_outward ? "out" : "in"},
                    {"is_started", view.is_started},
                    {"messages", view.messages},
                    {"places", view.places},
                    {"waiting_bytes", view.waiting_bytes},
                    {"policy_epoch", view.policy_epoch},
                    {"is_swapping", view.is_swapping},
                    {"is_quarantined", view.is_quarantined},
                    {"refused", view.refused}});
  }
  return part(doors.status(), "streams", rows);
}

Response bars(const Doors& doors, const Request&) {
  Json rows = Json::array();
  for (const site::Bar& each : doors.site.bars()) {
    rows.push_back({{"policy", each.policy},
                    {"params", each.params},
                    {"file", each.file},
                    {"since", each.since}});
  }
  return json_response(
      {{"site", doors.site.plan().site}, {"bars", rows}, {"trouble", doors.site.bars_trouble()}});
}

Response log(const Doors& doors, const Request&) {
  std::vector<std::string> lines = doors.log.last();
  for (std::string& each : lines) each.erase(each.find_last_not_of('\n') + 1);
  return json_response({{"site", doors.site.plan().site}, {"lines", lines}});
}

}  // namespace cw::daemon::views
