// Plays the traces of a file again, each by its policy, and shows what was decided call by call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "control/sim/scenario.h"

namespace cw {

struct PlayOptions {
  std::string file, policy;
  std::optional<uint64_t> message;
  bool shows_differences_only = false;
};

/// Prints, and returns how the program ends: 0 all was decided as recorded, 1 it was not, 2 a
/// mistake in the file or in what was asked for.
int play(const PlayOptions& options, const Policies& policies, bool as_json);

}  // namespace cw
