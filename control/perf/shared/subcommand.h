// What the command lines of `causeway-perf broadcast`, `alltoall` and their like do alike.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/command_line/command_line.h"
#include "dataplane/base/result.h"

namespace cw::perf {

/// A subcommand and what it takes. To be shown, not to be parsed: what its options fill is gone.
using NamedLine = std::pair<std::string, CommandLine>;

/// What stands behind the subcommand; returns the help that is to be shown instead, or nothing.
Result<std::string> parse_rest(CommandLine& app, std::span<char* const> arguments);

/// Fills `target` from a text with a unit; names the option where it cannot.
template <class T>
Result<void> read(const char* option, Result<T> value, T& target) {
  if (!value) return failure(std::string(option) + ": " + value.error().sentence);
  target = *value;
  return {};
}

}  // namespace cw::perf
