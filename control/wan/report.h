// What a run did, for people and for programs.
#pragma once

#include <string>

#include "control/wan/forwarder.h"

namespace cw::wan {

/// Above it at the 99th percentile, a run says more about the machine than about the link.
inline constexpr Duration lateness_max = Duration::from_us(500);

/// Why the run must not be used, or nothing when it may.
std::string void_because(const Progress& progress);

/// One JSON object, one line.
std::string json_report(const Options& options, const Progress& progress);
/// Some lines for a person.
std::string text_report(const Progress& progress);

/// The live counters: one line per call, about the time since the call before.
class LiveLine {
 public:
  std::string next(const Progress& progress);

 private:
  struct Seen {
    uint64_t frames = 0, bytes = 0;
  };
  Duration elapsed_;
  std::array<Seen, 2> seen_;
};

}  // namespace cw::wan
