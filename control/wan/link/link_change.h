// A link that changes while it runs: what a person or a program asks for, as text.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "control/wan/link/link_options.h"
#include "dataplane/base/result.h"
#include "dataplane/port/impair/impairment.h"

namespace cw::wan {

/// What one direction was told.
struct DirectionOptions {
  LinkTexts texts;
  Impairment impairment;
};
using BothDirections = std::array<DirectionOptions, 2>;  ///< A to B, B to A

/// The link after `request`: words OPTION=VALUE as on the command line but without dashes, for both
/// directions, or for one with `a-to-b.` or `b-to-a.` in front, which wins. No value takes an
/// option back. Errors: the first word that cannot be; the link then stays as it was.
Result<BothDirections> changed(const BothDirections& link, std::string_view request);

/// What changed() would take to make the link what it is: one option a line.
std::string settings_of(const BothDirections& link);

}  // namespace cw::wan
