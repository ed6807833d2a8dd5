// The daemon's log: a line per event on standard error, never one per packet. An event has a name
// and fields:
//
//   2026-11-21T12:00:00.000Z info up peer=north rtt_ms=24.8
//   {"time":"2026-11-21T12:00:00.000Z","level":"info","event":"up","peer":"north","rtt_ms":24.8}
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "control/gateway/log_choice.h"
#include "control/json/json.h"

namespace cw::daemon {

using Fields = Json;
using site::LogFormat;
using site::LogLevel;

/// "up peer=north rtt_ms=24.8"; texts with spaces are quoted as in JSON.
std::string line_of(std::string_view event, const Fields& fields);

/// Thread: any.
class Log {
 public:
  Log(LogLevel least, LogFormat format);

  /// From the next event on.
  void change(LogLevel least, LogFormat format) const;
  LogFormat format() const { return format_; }

  void event(LogLevel level, std::string_view event, const Fields& fields) const;
  void info(std::string_view name, const Fields& fields) const {
    event(LogLevel::Info, name, fields);
  }
  void info(std::string_view name) const;  ///< without fields
  /// The last of all lines, as they were written; the oldest first.
  std::vector<std::string> last() const;
  void warning(std::string_view name, const Fields& fields) const {
    event(LogLevel::Warning, name, fields);
  }
  void error(std::string_view name, const Fields& fields) const {
    event(LogLevel::Error, name, fields);
  }

 private:
  static constexpr size_t last_lines_max = 1000;

  mutable std::atomic<LogFormat> format_;
  std::function<std::vector<std::string>()> last_;
};

}  // namespace cw::daemon
