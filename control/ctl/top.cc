// A gateway's rates and losses, drawn anew each second.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "control/ctl/commands.h"
#include "control/ctl/exits.h"
#include "control/ctl/show/rows.h"
#include "control/units/text.h"

namespace cw::ctl {
namespace {

constexpr std::chrono::milliseconds interval{1000}, step{50};
// What a terminal does when told: to the top; the rest of a line, of the screen; the cursor.
constexpr const char* home = "\x1b[H";
constexpr const char* end_of_line = "\x1b[K\n";
constexpr const char* rest_of_screen = "\x1b[J";
constexpr const char* enter = "\x1b[?1049h\x1b[?25l";
constexpr const char* leave = "\x1b[?25h\x1b[?1049l";

std::atomic<bool> is_ended = false;

double per_second(const Json& now, const Json& before, double seconds) {
  return (now.get<double>() - before.get<double>()) / seconds;
}

std::string port_line(const char* name, const Json& now, const Json& before, double seconds) {
  const auto rate = [&](const char* count) {
    return per_second(now[count], before[count], seconds);
  };
  return text_of("%-4s in %10.1f Mbit/s %9.0f packets/s   out %10.1f Mbit/s %9.0f packets/s\n",
                 name, rate("rx_bytes") * 8 / 1e6, rate("rx_packets"), rate("tx_bytes") * 8 / 1e6,
                 rate("tx_packets"));
}

/// Each class with what went through it since.
Json rates_of(const Json& now, const Json& before, double seconds) {
  Json rows = Json::array();
  for (size_t i = 0; i < now["classes"].size() && i < before["classes"].size(); ++i) {
    Json row = now["classes"][i];
    const Json& old = before["classes"][i];
    row["sent_rate"] = per_second(row["sent"], old["sent"], seconds);
    for (const char* const name : {"out", "given_up", "dropped"}) {
      row[std::string(name) + "_rate"] =
          per_second(row["received"][name], old["received"][name], seconds);
    }
    rows.push_back(row);
  }
  return rows;
}

std::string counters_line(const Json& now, const Json& before, double seconds) {
  const auto rate = [&](const char* name) {
    return per_second(now["counters"][name], before["counters"][name], seconds);
  };
  return text_of("sent again %.0f/s, repair %.0f/s, dropped here %.0f/s\n", rate("resends_sent"),
                 rate("repairs_sent"), [&] {
                   const auto sum = [](const Json& status) {
                     double count = 0;
                     for (const auto& [name, drop] : status["drops"].items()) {
                       count += drop["count"].get<double>();
                     }
                     return count;
                   };
                   return (sum(now) - sum(before)) / seconds;
                 }());
}

std::string screen_of(const Json& now, const Json& before) {
  const double seconds =
      std::max(1e-3, now["uptime_s"].get<double>() - before["uptime_s"].get<double>());
  std::string text = summary_of(now);
  text += port_line("lan", now["lan"], before["lan"], seconds);
  text += port_line("wan", now["wan"], before["wan"], seconds);
  text += counters_line(now, before, seconds);
  text += "\n" + table(now["peers"], link_columns()) + "\n";
  text += table(
      rates_of(now, before, seconds),
      {text_column("peer", "peer"), text_column("class", "class"),
       text_column("sends by", "policy.out"), number_column("sent/s", "sent_rate"),
       number_column("waiting", "waiting"), number_column("received/s", "out_rate"),
       number_column("given up/s", "given_up_rate"), number_column("dropped/s", "dropped_rate")});
  if (!now["swaps"].empty()) text += "\n" + table(now["swaps"], swap_columns());
  return text;
}

void draw(std::string text, bool is_terminal) {
  if (!is_terminal) return void(std::printf("%s\n", text.c_str()));
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 4)) {
    text.replace(at, 1, end_of_line);
  }
  std::printf("%s%s%s", home, text.c_str(), rest_of_screen);
  std::fflush(stdout);
}

}  // namespace

int top(Client& client, const Options& options) {
  for (const int number : {SIGINT, SIGTERM}) signal(number, [](int) { is_ended = true; });
  const bool is_terminal = isatty(STDOUT_FILENO) == 1 && !options.is_json;
  Answer before = client.get("/v1/status");
  if (!before.is_good()) return tell_failure(before, options);
  if (is_terminal) std::fputs(enter, stdout);
  for (uint32_t round = 0; options.top.rounds == 0 || round < options.top.rounds; ++round) {
    for (auto waited = step; waited <= interval && !is_ended; waited += step) {
      std::this_thread::sleep_for(step);
    }
    if (is_ended) break;
    Answer now = client.get("/v1/status");
    if (!now.is_good()) {
      if (is_terminal) std::fputs(leave, stdout);
      return tell_failure(now, options);
    }
    if (options.is_json) {
      std::printf("%s\n", now.json.dump().c_str());
      std::fflush(stdout);
    } else {
      draw(screen_of(now.json, before.json), is_terminal);
    }
    before = std::move(now);
  }
  if (is_terminal) std::fputs(leave, stdout);
  return exit_done;
}

}  // namespace cw::ctl
