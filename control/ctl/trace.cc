// What the policies of one stream are told and decide, as a file for causeway-sim.
#include <unistd.h>

#include <cstdio>

#include "control/ctl/commands.h"
#include "control/ctl/exits.h"
#include "control/ctl/show/rows.h"

namespace cw::ctl {

Answer ask_for_trace(Client& client, const Options& options) {
  const Options::Trace& wanted = options.trace;
  Json order = {
      {"class", wanted.class_name}, {"direction", wanted.direction}, {"seconds", wanted.seconds}};
  if (!wanted.peer.empty()) order["peer"] = wanted.peer;
  if (wanted.link) order["link"] = *wanted.link;
  if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "traces for %u s\n", wanted.seconds);
  return client.post("/v1/trace", order, std::chrono::seconds(wanted.seconds + 60));
}

int trace(Client& client, const Options& options) {
  const Answer answer = ask_for_trace(client, options);
  if (!answer.is_good()) return tell_failure(answer, options);
  Json streams = Json::array();
  bool has_any = false;
  for (const Json& each : answer.json["streams"]) {
    Json row = each;
    row.erase("facts");
    has_any |= each["bytes"] != Json(0);
    streams.push_back(std::move(row));
  }
  const std::string file =
      options.file.empty() ? "causeway-trace-" + options.trace.class_name + ".json" : options.file;
  if (!try_write(file, answer.body)) return exit_failed;
  const std::string text =
      options.is_json
          ? Json({{"file", file}, {"streams", streams}}).dump() + "\n"
          : table(streams, {text_column("direction", "direction"), text_column("peer", "peer"),
                            text_column("class", "class"), text_column("bytes", "bytes"),
                            text_column("state", "state"), text_column("why", "why")}) +
                "\n" + file + "\n";
  std::fputs(text.c_str(), stdout);
  return has_any ? exit_done : exit_failed;
}

}  // namespace cw::ctl
