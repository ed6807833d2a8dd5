// Text for people: by formats, of times, of the machine.
#pragma once

#include <ctime>
#include <string>

namespace cw {

/// What printf would print; cut at 511 characters.
[[gnu::format(printf, 1, 2)]] std::string text_of(const char* format, ...);

/// A time in UTC, by a format of strftime; cut at 63 characters.
std::string utc_text(const char* format, std::time_t at);

/// What this machine is called.
std::string host_name();

}  // namespace cw
