// A [[group]] as it was written, and what it came to.
#pragma once

#include <string>
#include <vector>

#include "dataplane/gateway/options.h"

namespace cw::site {

struct GroupConfig {
  std::string address, class_name;
  std::vector<std::string> sites;
  gateway::GroupOptions options;  ///< known when the group has been read
};

}  // namespace cw::site
