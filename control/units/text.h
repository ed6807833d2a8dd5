// Text for people, by the formats of printf.
#pragma once

#include <string>

namespace cw {

/// What printf would print; cut at 511 characters.
[[gnu::format(printf, 1, 2)]] std::string text_of(const char* format, ...);

}  // namespace cw
