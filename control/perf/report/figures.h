// What a measurement came to: JSON for programs, a table for people. The client puts its own and
// the server's figures together.
#pragma once

#include <string>

#include "control/json/json.h"
#include "control/perf/end/end.h"
#include "control/perf/end/receiver.h"
#include "control/perf/end/sender.h"
#include "control/perf/wire.h"

namespace cw::perf {

/// What one end's machinery did: packets, resends, drops by reason and by the port, what the port
/// asked of the machine. `wire` is what the port counts besides.
Json figures_of(End& end, const WireCounts& wire);
/// The same, and what became of the messages.
Json figures_of(const Receiver& receiver, End& end, const WireCounts& wire);

/// How a measurement ended; printed as it is.
inline constexpr const char *ended_done = "done", *ended_interrupted = "interrupted",
                            *ended_lost = "the other end was lost";

/// One object. `client` and `server` are the figures of both ends; the server's are null when it
/// reported nothing.
Json report_of(const Parameters& parameters, const Sender& sender, const Json& client,
               const Json& server, const char* ended);

std::string table_of(const Json& report);
/// The server's own view.
std::string receiver_table_of(const Json& figures);

/// "3 s: 412 of 1000 messages, 480.3 Mbit/s, 12 resent", rewritten each second on a terminal.
class Progress {
 public:
  void show(const Sender& sender, const Parameters& parameters, const End& end, Instant now);
  void say(const std::string& text);
  void clear();

 private:
  bool is_due(Instant now);

  Instant next_;
  bool is_shown_ = false;
};

}  // namespace cw::perf
