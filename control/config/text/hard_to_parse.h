// What toml++ 3.3 must not be given, found before it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "control/config/text/tree.h"

namespace cw::config {

/// Letters beyond ASCII outside of quotes and remarks, where the library asks whether they are
/// spaces and for some of them gets where its compiler is told that nobody does; and keys of very
/// many parts, each of which is a table in the one before, so that a walk through them is a call in
/// a call. Nothing: neither is there, before the first mistake at least.
std::optional<Mistake> first_hard_to_parse(std::string_view text);

/// The text with an x for each letter beyond ASCII: what is wrong with it is at the same place.
std::string in_ascii(std::string_view text);

}  // namespace cw::config
