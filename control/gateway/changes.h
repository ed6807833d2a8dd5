// What two texts of a gateway's file say differently, and which of that a running gateway takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"

namespace cw::site {

/// What a change of a key needs.
enum class KeyKind : uint8_t {
  Swap,     ///< policies of the class are replaced while traffic flows
  Restart,  ///< of the gateway
};

struct Change {
  std::string key;  ///< `wan.rate`, `class.bulk.policy`: of a list, by the name of its entry
  KeyKind kind = KeyKind::Restart;
  bool operator==(const Change&) const = default;
};

/// In the order of their keys. Both texts are TOML. What is written otherwise and means the same
/// (a key that has its default) is told as different.
std::vector<Change> changes_between(std::string_view before, std::string_view after);

}  // namespace cw::site
