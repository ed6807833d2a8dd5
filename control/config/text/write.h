// A tree written as TOML.
#pragma once

#include <map>
#include <string>

#include "control/config/text/tree.h"

namespace cw::config {

/// Remarks, by the path of the key behind which they stand: "pair.rtt".
using Remarks = std::map<std::string, std::string>;
/// As a file: what was read back from it is this tree.
std::string toml_of(const Node& root, const Remarks& remarks = {});

}  // namespace cw::config
