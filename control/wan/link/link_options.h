// The options that describe one direction of a link, in one table: the command line, its help and
// the echo in the report are made from it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"
#include "dataplane/port/impair/impairment.h"

namespace cw::wan {

struct LinkOption {
  const char* name;      ///< without dashes
  const char* value;     ///< what the value looks like
  const char* sentence;  ///< for the help
  Result<void> (*apply)(Impairment& impairment, std::string_view text);
};

std::span<const LinkOption> link_options();

/// What was written on the command line: option name to value.
using LinkTexts = std::map<std::string, std::string>;

/// The impairment that the texts describe, or the first sentence against it. A rate without a queue
/// gets the default one.
Result<Impairment> make_impairment(const LinkTexts& texts);

}  // namespace cw::wan
