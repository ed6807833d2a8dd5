// The policies that causeway-perf knows.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "plugins/registry.h"

namespace cw::perf {

/// Adds those that are built in and the plugin, where its file is named. Returns whose turn it is
/// when nobody is asked for: the plugin's, else `usual`.
Result<std::string> gather(plugins::Registry& policies, const std::string& plugin,
                           const char* usual);

}  // namespace cw::perf
