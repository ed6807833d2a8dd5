#include "control/daemon/admin/orders.h"

#include <algorithm>
#include <charconv>

#include "control/config/text/write.h"
#include "control/daemon/adapt/adapting.h"
#include "control/daemon/admin/swap_order.h"
#include "control/daemon/live/drain.h"
#include "control/daemon/reload.h"
#include "control/gateway/site/site.h"

namespace cw::daemon::orders {
namespace {

using api::json_response;

Json step_json(const Step& step) {
  Json json = {{"key", step.key},     {"kind", config::name_of(step.kind)}, {"before", step.before},
               {"after", step.after}, {"fate", name_of(step.fate)},         {"why", step.why}};
  return json;
}

Json steps_json(const std::vector<Step>& steps) {
  Json json = Json::array();
  for (const Step& each : steps) json.push_back(step_json(each));
  return json;
}

Response report_response(const ReloadReport& report) {
  const Json json = {{"is_done", report.is_done},
                     {"mistakes", report.mistakes},
                     {"warnings", report.warnings},
                     {"steps", steps_json(report.steps)}};
  return json_response(json, report.mistakes.empty() ? 200 : 422);
}

}  // namespace

Response config(const Doors& doors, const Request&) {
  return json_response({{"not_in_force", steps_json(doors.reload.open())},
                        {"relink", doors.reload.relinking().json()}});
}

Response in_force(const Doors& doors, const Request&) {
  return json_response({{"site", doors.site.plan().site},
                        {"file", doors.reload.file()},
                        {"toml", config::toml_of(doors.reload.in_force())}});
}

Response plan(const Doors& doors, const Request&) { return report_response(doors.reload.plan()); }

Response reload(const Doors& doors, const Request&) {
  const ReloadReport report = doors.reload.run(answer_patience);
  doors.look();
  return report_response(report);
}

Response swap(const Doors& doors, const Request& request) {
  const auto order = parse_swap_order(Json::parse_or_null(request.body), doors.site);
  if (!order) return api::error_response(400, "mistakes", order.error().sentence);
  const uint32_t number = doors.site.order_swap(*order, answer_patience);
  if (order->is_outward) doors.adapting.places().hold(order->class_index, order->peer);
  doors.look();
  return json_response({{"order", number}}, 202);
}

Response adapt(const Doors& doors, const Request& request) {
  const Json json = Json::parse_or_null(request.body);
  const auto order = parse_adapt_order(json, doors.site);
  if (!order) return api::error_response(400, "mistakes", order.error().sentence);
  doors.adapting.places().resume(order->class_index, order->peer);
  doors.look();
  return json_response(json);
}

Response drain(const Doors& doors, const Request& request) {
  const Json order = Json::parse_or_null(request.body);
  const bool is_wanted = order == Json({{"is_wanted", true}});
  if (!is_wanted && order != Json({{"is_wanted", false}})) {
    return api::error_response(400, "mistakes", "an order is {\"is_wanted\": true}, or false");
  }
  doors.drain.want(is_wanted, answer_patience);
  doors.look();
  return json_response(order);
}

Response forgive(const Doors& doors, const Request& request) {
  const Json order = Json::parse_or_null(request.body);
  const bool is_right =
      order.is_object() && order.contains("policy") && order["policy"].is_string();
  if (!is_right) {
    return api::error_response(400, "mistakes", "\"policy\" is missing, as /v1/bars has it");
  }
  const std::string policy = order["policy"].get<std::string>();
  size_t forgiven = 0;
  const std::vector<site::Bar> bars = doors.site.bars();  // forgiving changes it
  for (const site::Bar& each : bars) {
    const bool is_meant = each.policy == policy &&
                          (!order.contains("params") || order["params"] == Json(each.params));
    if (is_meant) forgiven += doors.site.forgive(each.policy, each.params);
  }
  if (forgiven > 0) return json_response({{"forgiven", forgiven}});
  return api::error_response(404, "not_barred", policy + " is not barred with such parameters");
}

Result<CaptureOrder> parse_capture(const Doors& doors, const Request& request) {
  const Json json = Json::parse_or_null(request.body);
  if (!json.is_object()) return failure("an order is an object, {\"seconds\": 10}");
  CaptureOrder order;
  std::string mistakes;
  const auto complain = [&](const std::string& sentence) {
    mistakes += (mistakes.empty() ? "" : "\n") + sentence;
  };
  if (const auto seconds = number_in(json, "seconds", 1, CaptureOrder::seconds_max, complain)) {
    order.time = Duration::from_s(*seconds);
  }
  if (const auto packets = number_in(json, "packets", 1, UINT32_MAX, complain)) {
    order.packets_max = static_cast<uint64_t>(*packets);
  }
  const Json side = json.value("side", Json("both"));
  if (side != "lan" && side != "wan" && side != "both") complain("\"side\" is lan, wan or both");
  order.filter.has_lan = side != "wan";
  order.filter.has_wan = side != "lan";
  if (json.contains("peer")) {
    const auto& peers = doors.site.plan().gateway.peers;
    const auto found = std::ranges::find_if(
        peers, [&](const auto& each) { return json["peer"] == Json(each.name); });
    if (found == peers.end()) {
      complain("there is no peer " + json["peer"].dump() + " here");
    } else {
      order.filter.peer = static_cast<uint16_t>(found - peers.begin());
    }
  }
  if (!mistakes.empty()) return failure(mistakes);
  return order;
}

Result<Duration> parse_flows(const Request& request) {
  constexpr int64_t seconds_max = 10;
  const auto given = request.query.find("seconds");
  if (given == request.query.end()) return Duration::from_s(1);
  int64_t seconds = 0;
  const char* const end = given->second.data() + given->second.size();
  const auto [stop, error] = std::from_chars(given->second.data(), end, seconds);
  const bool is_number = error == std::errc() && stop == end;
  if (is_number && seconds >= 1 && seconds <= seconds_max) return Duration::from_s(seconds);
  return failure("\"seconds\" must be a number from 1 to " + std::to_string(seconds_max));
}

}  // namespace cw::daemon::orders
