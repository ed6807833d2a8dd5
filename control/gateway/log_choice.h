// What a gateway's file says of its log.
#pragma once

#include <cstdint>

namespace cw::site {

enum class LogLevel : uint8_t { Debug, Info, Warning, Error };
enum class LogFormat : uint8_t { Text, Json };

}  // namespace cw::site
