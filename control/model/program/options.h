// The command line of causeway-model.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/model/choose.h"
#include "control/model/program/inputs.h"
#include "control/model/ring.h"

namespace cw::model {

struct Options {
  Inputs inputs;
  std::vector<Plan> plans;
  FallbackLaw fallback = FallbackLaw::Keeping;
  Wish wish;
  std::vector<Sweep> sweeps;  ///< two at most
  std::string plot;           ///< a file; empty: none
  std::optional<Ring> ring;
  bool is_json = false;
  std::string help;  ///< what --help or --version asks for: nothing else is to be done
};

/// Errors: every mistake, one sentence a line.
Result<Options> parse_options(std::span<const char* const> arguments);

}  // namespace cw::model
