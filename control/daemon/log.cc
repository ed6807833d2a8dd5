#include "control/daemon/log.h"

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

#include "control/json/json.h"

namespace cw::daemon {
namespace {

constexpr const char* text_pattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
constexpr const char* json_pattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
  }
  return spdlog::level::off;
}

std::string text_of(const Fields& value) {
  if (!value.is_string()) return value.dump();
  auto text = value.get<std::string>();
  const auto is_bare = [](unsigned char c) { return c > ' ' && c < 127 && c != '"' && c != '='; };
  if (!text.empty() && std::ranges::all_of(text, is_bare)) return text;
  // Names of interfaces and files may be any bytes.
  return value.dump();
}

/// What the pattern leaves out of the object: its braces.
std::string members_of(std::string_view event, const Fields& fields) {
  Fields all = {{"event", event}};
  all.update(fields);
  const std::string text = all.dump();
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::string line_of(std::string_view event, const Fields& fields) {
  std::string line(event);
  for (const auto& [key, value] : fields.items()) line += " " + key + "=" + text_of(value);
  return line;
}

Log::Log(LogLevel least, LogFormat format) : format_(format) {
  const auto last = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(last_lines_max);
  last_ = [last] { return last->last_formatted(); };
  const spdlog::sink_ptr sinks[] = {std::make_shared<spdlog::sinks::stderr_sink_mt>(), last};
  auto logger = std::make_shared<spdlog::logger>("causewayd", std::begin(sinks), std::end(sinks));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(logger);
  change(least, format);
}

void Log::change(LogLevel least, LogFormat format) const {
  format_ = format;
  spdlog::default_logger()->set_level(level_of(least));
  spdlog::default_logger()->set_pattern(format == LogFormat::Json ? json_pattern : text_pattern,
                                        spdlog::pattern_time_type::utc);
}

void Log::event(LogLevel level, std::string_view event, const Fields& fields) const {
  const auto at = level_of(level);
  if (!spdlog::should_log(at)) return;
  const std::string line =
      format_ == LogFormat::Json ? members_of(event, fields) : line_of(event, fields);
  spdlog::log(at, "{}", line);
}

std::vector<std::string> Log::last() const { return last_(); }

void Log::info(std::string_view name) const { info(name, Fields::object()); }

}  // namespace cw::daemon
