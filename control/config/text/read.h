// Reading a file into the variables that its schema binds, and the schema as text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/config/section.h"
#include "control/config/text/tree.h"
#include "dataplane/base/result.h"

namespace cw::config {

using Mistakes = std::vector<Mistake>;

/// Stores every value that is right and returns every mistake, in the order of the file. A syntax
/// error is the only one then, and nothing is stored. Use the variables only if there are none.
/// `file` may only be read once. Never throws.
Mistakes read(Section& file, std::string_view text);
/// The same of a tree, whose places are those of the texts that its parts come from.
Mistakes read(Section& file, const Node& root);

/// "name:line:column: sentence" of each, one per line.
std::string to_text(const Mistakes& mistakes, std::string_view name);

/// Every key: its default, what it accepts and what it does, as a file that could be edited.
std::string help(Section& file);

/// By path, "class.match.kind"; of tables and rows, too.
using Kinds = std::map<std::string, std::optional<KeyKind>, std::less<>>;
Kinds kinds_of(Section& file);

}  // namespace cw::config
