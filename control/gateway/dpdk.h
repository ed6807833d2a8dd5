// What a program that was built without DPDK says when a port over it is wanted.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace cw::site {

inline std::unexpected<Error> without_dpdk(const std::string& otherwise) {
  return failure(
      "port: \"dpdk\" is not in this program, which was built without DPDK; build it where "
      "libdpdk-dev is installed, or take \"" +
      otherwise + "\"");
}

}  // namespace cw::site
