// The demo's line as a browser sees and changes it: /demo/line, behind the same rules by which a
// gateway takes orders.
//
//   GET  -> {"loss": 0.01, "burst": 1, "rtt_ms": 25, "rtt_ms_max": 100}
//   POST <- {"loss": 0.02, "burst": 3, "rtt_ms": 40}
#pragma once

#include <string>

#include "control/api/server.h"
#include "control/json/json.h"
#include "tests/demo/wander/phases.h"

namespace cw::demo {

class LineDoor {
 public:
  /// Answers at the socket `file`, and changes the line behind `line`, causeway-wan's control
  /// socket, to `first` at once. Throws what is in the way.
  LineDoor(const std::string& file, std::string line, const Phase& first, Duration rtt_max);

 private:
  api::Response show() const;
  api::Response change(const std::string& body);

  const std::string line_;
  const Duration rtt_max_;
  Phase now_;  // the server's thread's, once that has started
  api::Server server_;
};

/// What a POST asks for. Errors: a sentence.
Result<Phase> parse_line(const Json& order, Duration rtt_max);

}  // namespace cw::demo
