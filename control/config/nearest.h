// What a person may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cw::config {

/// The known name that `name` most likely is a slip of: the fewest letters inserted, removed,
/// changed or swapped with their neighbour; empty when two would not do, one of a name of three
/// letters, or a third of a long one's.
std::string_view nearest(std::string_view name, std::span<const std::string> known);

}  // namespace cw::config
