// The commands that only look.
#include <cstdio>
#include <ctime>

#include "control/ctl/commands.h"
#include "control/ctl/exits.h"
#include "control/ctl/show/rows.h"
#include "control/units/text.h"

namespace cw::ctl {
namespace {

/// One part of the status as a table.
int show(Client& client, const Options& options, const char* name,
         const std::vector<Column>& columns) {
  const Answer answer = client.get(std::string("/v1/") + name);
  if (!answer.is_good()) return tell_failure(answer, options);
  const std::string text = options.is_json ? answer.body : table(answer.json[name], columns);
  std::fputs(text.c_str(), stdout);
  return exit_done;
}

std::string uptime_text(double seconds) {
  const auto whole = static_cast<long>(seconds);
  if (whole < 60) return text_of("%.1f s", seconds);
  if (whole < 3600) return text_of("%ld min %ld s", whole / 60, whole % 60);
  if (whole < 86'400) return text_of("%ld h %ld min", whole / 3600, whole % 3600 / 60);
  return text_of("%ld days %ld h", whole / 86'400, whole % 86'400 / 3600);
}

}  // namespace

int tell_failure(const Answer& answer, const Options& options) {
  if (options.is_json && answer.json.is_object()) {
    std::fputs(answer.body.c_str(), stdout);
  } else {
    std::fprintf(stderr, "causewayctl: %s\n", answer.why.c_str());
  }
  return answer.exit_code;
}

std::string summary_of(const Json& status) {
  std::string text = text_of(
      "%s: %s, up %s, %.0f %% of a core\n", status["site"].get<std::string>().c_str(),
      status["state"].get<std::string>().c_str(),
      uptime_text(status["uptime_s"].get<double>()).c_str(), status["cpu"].get<double>() * 100);
  for (const Json& alarm : status["alarms"]) text += "ALARM: " + alarm.get<std::string>() + "\n";
  return text;
}

int status(Client& client, const Options& options) {
  const Answer answer = client.get("/v1/status");
  if (!answer.is_good()) return tell_failure(answer, options);
  const Json& status = answer.json;
  const std::string text = options.is_json ? answer.body
                                           : summary_of(status) + "\n" +
                                                 table(status["peers"], link_columns()) + "\n" +
                                                 table(status["classes"], class_columns());
  std::fputs(text.c_str(), stdout);
  return exit_done;
}

int links(Client& client, const Options& options) {
  return show(client, options, "links", link_columns());
}

int paths(Client& client, const Options& options) {
  const Column state = {"state", [](const Json& row) {
                          const bool loses_long = row.value("is_too_small", Json(false)) == true;
                          return row["state"].get<std::string>() +
                                 (loses_long ? ", loses long packets" : "");
                        }};
  return show(
      client, options, "paths",
      {text_column("peer", "peer"), number_column("link", "link"), number_column("path", "path"),
       state, number_column("rtt ms", "rtt_ms", 2), number_column("shortest", "rtt_min_ms", 2),
       number_column("queue ms", "queue_ms", 2), percent_column("loss there", "loss_there"),
       percent_column("loss here", "loss"), number_column("arrived", "arrived"),
       number_column("lost", "lost"), number_column("reordered", "reordered")});
}

int classes(Client& client, const Options& options) {
  return show(client, options, "classes", class_columns());
}

int streams(Client& client, const Options& options) {
  return show(client, options, "streams",
              {text_column("peer", "peer"), number_column("link", "link"),
               text_column("class", "class"), text_column("way", "direction"),
               text_column("started", "is_started"), number_column("messages", "messages"),
               number_column("of", "places"), number_column("waiting bytes", "waiting_bytes"),
               number_column("policy no.", "policy_epoch"), text_column("swapping", "is_swapping"),
               text_column("quarantined", "is_quarantined"), number_column("refused", "refused")});
}

int flows(Client& client, const Options& options) {
  const Answer answer = client.get("/v1/flows?seconds=" + std::to_string(options.flow_seconds),
                                   std::chrono::seconds(options.flow_seconds + 10));
  if (!answer.is_good()) return tell_failure(answer, options);
  if (options.is_json) return std::fputs(answer.body.c_str(), stdout), exit_done;
  const double seconds = answer.json["seconds"].get<double>();
  const Column rate = {"Mbit/s",
                       [seconds](const Json& row) {
                         return text_of("%.1f", row["bytes"].get<double>() * 8 / 1e6 / seconds);
                       },
                       /*is_number=*/true};
  const std::string text =
      table(answer.json["flows"],
            {text_column("way", "direction"), text_column("protocol", "protocol"),
             text_column("from", "from"), text_column("port", "from_port"), text_column("to", "to"),
             text_column("port", "to_port"), number_column("packets", "packets"), rate});
  std::printf("estimates, of one packet in %s\n%s", number_text(answer.json["one_in"]).c_str(),
              text.c_str());
  return exit_done;
}

int drops(Client& client, const Options& options) {
  const Answer answer = client.get("/v1/drops");
  if (!answer.is_good()) return tell_failure(answer, options);
  if (options.is_json) return std::fputs(answer.body.c_str(), stdout), exit_done;
  Json rows = Json::array();
  for (const auto& [name, drop] : answer.json["drops"].items()) {
    Json row = {{"reason", name}};
    row.update(drop);
    rows.push_back(row);
  }
  const std::string text =
      table(rows, {number_column("count", "count"), text_column("reason", "reason"),
                   text_column("what it means", "sentence")});
  std::fputs(text.c_str(), stdout);
  return exit_done;
}

int policies(Client& client, const Options& options) {
  const Answer answer = client.get("/v1/policies");
  if (!answer.is_good()) return tell_failure(answer, options);
  if (options.is_json) return std::fputs(answer.body.c_str(), stdout), exit_done;
  std::string text;
  for (const Json& policy : answer.json["policies"]) {
    const Json& users = policy["classes"];
    text += text_of("%s/%s%s\n", policy["name"].get<std::string>().c_str(),
                    number_text(policy["wire_version"]).c_str(),
                    users.empty() ? "" : ", which sends for:");
    for (const Json& user : users) text += "  " + user.get<std::string>() + "\n";
    if (policy["params"].empty()) continue;
    text += table(policy["params"],
                  {text_column("parameter", "name"), text_column("default", "default"),
                   text_column("min", "min"), text_column("max", "max"),
                   text_column("choices", "choices"), text_column("", "sentence")});
  }
  std::fputs(text.c_str(), stdout);
  return exit_done;
}

int adaptive(Client& client, const Options& options) {
  const Answer answer = client.get("/v1/adaptive");
  if (!answer.is_good()) return tell_failure(answer, options);
  if (options.is_json) return std::fputs(answer.body.c_str(), stdout), exit_done;
  const Json& rows = answer.json["adaptive"];
  std::string text =
      table(rows, {text_column("peer", "peer"), text_column("class", "class"),
                   text_column("state", "state"), percent_column("loss", "loss"),
                   percent_column("to", "loss_high"), number_column("burst", "burst", 1),
                   number_column("rtt ms", "rtt_ms", 2), number_column("raised", "raised"),
                   number_column("lowered", "lowered"), text_column("present", "present")});
  for (const Json& each : rows) {
    if (each["last"] == Json("")) continue;
    text += text_of("%.0f s ago, ", each["last_s_ago"].get<double>()) +
            each["class"].get<std::string>() + " to " + each["peer"].get<std::string>() + ": " +
            each["last"].get<std::string>() + "\n";
  }
  std::fputs(text.c_str(), stdout);
  return exit_done;
}

int bars(Client& client, const Options& options) {
  return show(client, options, "bars",
              {text_column("policy", "policy"), text_column("params", "params"),
               text_column("file", "file"), text_column("since", "since")});
}

int config(Client& client, const Options& options) {
  const Answer answer = client.get_as_controller("/v1/config/in_force");
  if (!answer.is_good()) return tell_failure(answer, options);
  const std::string text = options.is_json ? answer.body : answer.json["toml"].get<std::string>();
  std::fputs(text.c_str(), stdout);
  return exit_done;
}

int swaps(Client& client, const Options& options) {
  return show(client, options, "swaps", swap_columns());
}

}  // namespace cw::ctl
