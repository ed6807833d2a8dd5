#include "control/daemon/log.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cw::daemon {
namespace {

std::string logged(LogLevel least, LogFormat format, LogLevel level) {
  testing::internal::CaptureStderr();
  Log(least, format).event(level, "up", {{"peer", "north"}, {"rtt_ms", 24.5}});
  return testing::internal::GetCapturedStderr();
}

TEST(Log, quotes_what_would_be_taken_apart) {
  EXPECT_EQ(line_of("down", {{"peer", "north"}, {"why", "no answer"}, {"count", 3}}),
            "down peer=north why=\"no answer\" count=3");
  EXPECT_EQ(line_of("x", {{"a", ""}, {"b", "c=d"}, {"e", "say \"f\""}, {"g", true}}),
            "x a=\"\" b=\"c=d\" e=\"say \\\"f\\\"\" g=true");
  EXPECT_EQ(line_of("ready", Fields::object()), "ready");
}

// A kernel lets an interface be called nearly anything.
TEST(Log, takes_any_bytes_and_gives_a_terminal_none_to_obey) {
  EXPECT_EQ(line_of("x", {{"a", "\xff b"}, {"c", "d\x1b[2J"}}),
            "x a=\"\xef\xbf\xbd b\" c=\"d\\u001b[2J\"");
}

TEST(Log, writes_a_line_with_its_time_and_level) {
  const char* const line =
      "20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9].[0-9][0-9][0-9]Z"
      " info up peer=north rtt_ms=24.5\n";
  const std::string text = logged(LogLevel::Info, LogFormat::Text, LogLevel::Info);
  EXPECT_EQ(fnmatch(line, text.c_str(), 0), 0) << text;
}

TEST(Log, writes_an_object_a_line) {
  const auto json = Fields::parse(logged(LogLevel::Info, LogFormat::Json, LogLevel::Warning));
  EXPECT_EQ(json["level"], "warning");
  EXPECT_EQ(json["event"], "up");
  EXPECT_EQ(json["peer"], "north");
  EXPECT_EQ(json["rtt_ms"], 24.5);
}

TEST(Log, writes_nothing_below_its_level) {
  EXPECT_EQ(logged(LogLevel::Warning, LogFormat::Text, LogLevel::Info), "");
  EXPECT_NE(logged(LogLevel::Warning, LogFormat::Text, LogLevel::Warning), "");
  EXPECT_EQ(logged(LogLevel::Error, LogFormat::Text, LogLevel::Warning), "");
}

}  // namespace
}  // namespace cw::daemon
