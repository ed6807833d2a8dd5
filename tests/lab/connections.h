// Many TCP connections at once from host A to host B: each sends its own bytes, gets them back, and
// looks at every one of them.
#pragma once

#include <chrono>
#include <cstdint>

#include "tests/lab/sites.h"

namespace cw::lab {

struct ConnectionsOptions {
  const char* target = site_b.host;
  uint32_t connections = 200;
  size_t bytes = 20'000;  ///< each way
};

struct ConnectionCounts {
  uint32_t whole = 0;   ///< all came back
  uint32_t failed = 0;  ///< not connected, reset, or not done in time
  uint32_t wrong = 0;   ///< something else came back
};

/// Throws when there are no sockets.
ConnectionCounts run_connections(const Sites& sites, const ConnectionsOptions& options,
                                 std::chrono::milliseconds most);

}  // namespace cw::lab
