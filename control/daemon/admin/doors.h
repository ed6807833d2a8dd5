// What an answer may need, of the daemon.
#pragma once

#include <functional>
#include <string>

#include "control/json/json.h"
#include "dataplane/base/units.h"

namespace cw::site {
class Site;
}

namespace cw::daemon {

class Adapting;
class Drain;
class Log;
class Reload;

/// What a worker's turn never takes, unless nobody gets a processor.
inline constexpr Duration answer_patience = Duration::from_ms(200);

struct Doors {
  site::Site& site;
  Reload& reload;
  Drain& drain;
  Adapting& adapting;
  const Log& log;
  /// As the status file has it, at the daemon's last look.
  std::function<Json()> status;
  /// As scrapers have it, at the same look.
  std::function<std::string()> metrics;
  /// Another look: what has been ordered is seen in the next status().
  std::function<void()> look;
};

}  // namespace cw::daemon
