// The commands that change something, and wait for what comes of it.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <thread>

#include "control/config/quantity.h"
#include "control/ctl/commands.h"
#include "control/ctl/exits.h"
#include "control/ctl/show/rows.h"

namespace cw::ctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_interval{20}, drain_look_interval{200};
constexpr std::chrono::seconds quiet_enough{2};  // for who speaks now and then
constexpr std::chrono::seconds patience{60};     // the kernel and the workers are asked
const std::string wait_default = "10s";
const std::string wait_default_guarded = "60s";  // ten seconds go before it, to compare with
const std::string wait_default_drain =
    "60s";  // others' health checks, and routers, take their time

/// Nothing: it is no time, and that has been said.
std::optional<Clock::time_point> deadline_of(const Options& options,
                                             const std::string& otherwise = wait_default) {
  const std::string& text = options.wait.empty() ? otherwise : options.wait;
  const auto time = config::parse_quantity(config::Quantity::Duration, text);
  if (!time) {
    std::fprintf(stderr, "causewayctl: --wait: \"%s\" is no time; write 10s\n", text.c_str());
    return std::nullopt;
  }
  return Clock::now() + std::chrono::nanoseconds(std::llround(*time));
}

bool is_open(const Json& swap) { return swap["fate"] == "under way" || swap["fate"] == "waiting"; }

int exit_of_refusal(const Json& swap) {
  const std::string status = swap.value("status", "");
  if (status == "busy") return exit_busy;
  if (status == "not allowed" || status == "barred") return exit_not_allowed;
  return swap["refused_there"] == true ? exit_peer_refused : exit_failed;
}

/// The worst of what became of swaps.
int exit_of(const Json& swaps) {
  int exit = exit_done;
  for (const Json& each : swaps) {
    if (each["fate"] == "not done") return exit_of_refusal(each);
    if (is_open(each)) exit = exit_waiting;
  }
  return exit;
}

/// Until all swaps at `path` that are meant are over, or the deadline; these are left in the
/// answer.
Answer wait_for_swaps(Client& client, const std::string& path, Clock::time_point deadline,
                      bool is_order, const std::function<bool(const Json&)>& is_meant) {
  while (true) {
    Answer answer = client.get(path);
    if (!answer.is_good()) return answer;
    Json meant = Json::array();
    // One that no worker has heard of yet is told nowhere.
    bool has_open = is_order && answer.json["swaps"].empty();
    for (const Json& each : answer.json["swaps"]) {
      if (!is_meant(each)) continue;
      has_open |= is_open(each);
      meant.push_back(each);
    }
    if (!has_open || Clock::now() >= deadline) {
      answer.json["swaps"] = meant;
      return answer;
    }
    std::this_thread::sleep_for(look_interval);
  }
}

std::vector<Column> step_columns() {
  return {text_column("key", "key"),       text_column("kind", "kind"),
          text_column("before", "before"), text_column("after", "after"),
          text_column("fate", "fate"),     text_column("why", "why")};
}

int exit_of_steps(const Json& steps) {
  int exit = exit_done;
  for (const Json& each : steps) {
    if (each["fate"] == "not done") return exit_failed;
    if (each["fate"] == "needs restart") exit = exit_waiting;
  }
  return exit;
}

void show_report(const Json& report) {
  for (const char* const kind : {"mistakes", "warnings"}) {
    for (const Json& each : report[kind]) {
      std::fprintf(stderr, "%s\n", each.get<std::string>().c_str());
    }
  }
  if (!report["mistakes"].empty()) return;
  const bool is_same = report["steps"].empty();
  const std::string text =
      is_same ? "nothing differs from what is in force\n" : table(report["steps"], step_columns());
  std::fputs(text.c_str(), stdout);
  if (report.contains("swaps")) {
    std::fputs(("\n" + table(report["swaps"], swap_columns())).c_str(), stdout);
  }
}

/// Whether the swap is what a step of the report waits for.
bool is_of(const Json& swap, const Json& steps) {
  if (swap.value("order", 0) != 0 || swap["ordered_here"] != true) return false;
  const std::string of_class = "class." + swap["class"].get<std::string>() + ".";
  for (const Json& each : steps) {
    const std::string key = each["key"].get<std::string>();
    if (each["fate"] == "waits" && (key.starts_with(of_class) || key == "site.plugins"))
      return true;
  }
  return false;
}

/// By links that take the place of others.
bool is_of_links(const Json& step) { return step["fate"] == "waits" && step["kind"] != "swap"; }

/// The same step as it is now.
Json step_now(const Json& step, const Json& not_in_force) {
  for (const Json& each : not_in_force) {
    if (each["key"] == step["key"]) return each;
  }
  Json done = step;
  done["fate"] = "applied";
  done["why"] = "";
  return done;
}

/// Until those of `steps` that wait for links are in force, or the deadline: they are as of then.
Answer wait_for_links(Client& client, Json& steps, Clock::time_point deadline) {
  while (true) {
    Answer answer = client.get("/v1/config");
    if (!answer.is_good()) return answer;
    Json now = Json::array();
    bool is_open = false;
    for (const Json& each : steps) {
      now.push_back(is_of_links(each) ? step_now(each, answer.json["not_in_force"]) : each);
      is_open |= is_of_links(now.back());
    }
    steps = now;
    if (!is_open || Clock::now() >= deadline) return answer;
    std::this_thread::sleep_for(look_interval);
  }
}

bool is_report(const Answer& answer) {
  return answer.json.is_object() && answer.json.contains("mistakes");
}

/// A value as JSON has it: a number, or a text.
Json value_of(const std::string& text) {
  const Json json = Json::parse_or_null(text);
  return json.is_number() ? json : Json(text);
}

std::optional<Json> order_of(const Options::Swap& swap) {
  Json order = {{"class", swap.class_name},
                {"policy", swap.policy},
                {"direction", swap.direction},
                {"guard", swap.is_guarded},
                {"params", Json::object()}};
  if (!swap.peer.empty()) order["peer"] = swap.peer;
  for (const std::string& each : swap.params) {
    const size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0) {
      std::fprintf(stderr, "causewayctl: \"%s\" is no parameter; write k=32\n", each.c_str());
      return std::nullopt;
    }
    order["params"][each.substr(0, equals)] = value_of(each.substr(equals + 1));
  }
  return order;
}

int tell_drain(const Json& drain, const char* sentence, const Options& options) {
  std::fputs(options.is_json ? (drain.dump(2) + "\n").c_str() : sentence, stdout);
  return exit_done;
}

}  // namespace

int swap(Client& client, const Options& options) {
  const auto deadline =
      deadline_of(options, options.swap.is_guarded ? wait_default_guarded : wait_default);
  const auto order = order_of(options.swap);
  if (!deadline || !order) return exit_usage;
  const Answer ordered = client.post("/v1/swap", *order);
  if (!ordered.is_good()) return tell_failure(ordered, options);
  const auto number = ordered.json["order"].get<uint64_t>();
  const Answer over = wait_for_swaps(client, "/v1/swaps?order=" + std::to_string(number), *deadline,
                                     /*is_order=*/true, [](const Json&) { return true; });
  if (!over.is_good()) return tell_failure(over, options);
  const std::string text =
      options.is_json ? over.json.dump(2) + "\n" : table(over.json["swaps"], swap_columns());
  std::fputs(text.c_str(), stdout);
  return over.json["swaps"].empty() ? exit_waiting : exit_of(over.json["swaps"]);
}

int adapt(Client& client, const Options& options) {
  Json order = {{"class", options.swap.class_name}};
  if (!options.swap.peer.empty()) order["peer"] = options.swap.peer;
  const Answer answer = client.post("/v1/adapt", order);
  if (!answer.is_good()) return tell_failure(answer, options);
  const std::string text = "class " + options.swap.class_name + " chooses by itself again\n";
  std::fputs(options.is_json ? answer.body.c_str() : text.c_str(), stdout);
  return exit_done;
}

int drain(Client& client, const Options& options) {
  const auto deadline = deadline_of(options, wait_default_drain);
  if (!deadline) return exit_usage;
  const bool is_wanted = !options.is_undone;
  const Answer ordered = client.post("/v1/drain", {{"is_wanted", is_wanted}});
  if (!ordered.is_good()) return tell_failure(ordered, options);
  if (!is_wanted) return tell_drain(ordered.json, "peers may send by it again\n", options);
  while (true) {
    const Answer status = client.get("/v1/status");
    if (!status.is_good()) return tell_failure(status, options);
    const Json& drain = status.json["drain"];
    const bool is_quiet = drain["quiet_s"].get<double>() >= quiet_enough.count();
    if (is_quiet)
      return tell_drain(drain, "nothing crosses it any more: it can be stopped\n", options);
    if (Clock::now() >= *deadline) {
      tell_drain(drain,
                 "frames still cross it: hosts here, or at sites without another way, use it\n",
                 options);
      return exit_waiting;
    }
    std::this_thread::sleep_for(drain_look_interval);
  }
}

int forgive(Client& client, const Options& options) {
  const Answer answer = client.post("/v1/forgive", {{"policy", options.policy}});
  if (!answer.is_good()) return tell_failure(answer, options);
  if (options.is_json) return std::fputs(answer.body.c_str(), stdout), exit_done;
  std::printf("%s may be swapped to again\n", options.policy.c_str());
  return exit_done;
}

int plan(Client& client, const Options& options) {
  const Answer answer = client.post("/v1/plan", Json::object(), patience);
  if (!is_report(answer)) return tell_failure(answer, options);
  options.is_json ? void(std::fputs(answer.body.c_str(), stdout)) : show_report(answer.json);
  return answer.json["mistakes"].empty() ? exit_of_steps(answer.json["steps"]) : exit_failed;
}

int reload(Client& client, const Options& options) {
  const auto deadline = deadline_of(options);
  if (!deadline) return exit_usage;
  const Answer answer = client.post("/v1/reload", Json::object(), patience);
  if (!is_report(answer)) return tell_failure(answer, options);
  Json report = answer.json;
  int exit = report["mistakes"].empty() ? exit_of_steps(report["steps"]) : exit_failed;
  if (exit != exit_failed) {
    const Answer over =
        wait_for_swaps(client, "/v1/swaps", *deadline, /*is_order=*/false,
                       [&](const Json& swap) { return is_of(swap, report["steps"]); });
    if (!over.is_good()) return tell_failure(over, options);
    if (!over.json["swaps"].empty()) report["swaps"] = over.json["swaps"];
    if (const int swapped = exit_of(over.json["swaps"]); swapped != exit_done) exit = swapped;
    const Answer linked =
        wait_for_links(client, report["steps"], options.is_links_later ? Clock::now() : *deadline);
    if (!linked.is_good()) return tell_failure(linked, options);
    bool waits = false;
    for (const Json& each : report["steps"]) waits |= is_of_links(each);
    if (exit == exit_done) exit = exit_of_steps(report["steps"]);
    if (exit == exit_done && waits && !options.is_links_later) exit = exit_waiting;
  }
  options.is_json ? void(std::printf("%s\n", report.dump(2).c_str())) : show_report(report);
  return exit;
}

}  // namespace cw::ctl
