// A program's manual page: what it says of itself, in mdoc, among the sections that people write.
#pragma once

#include <string>

#include "control/command_line/told.h"
#include "dataplane/base/result.h"

namespace cw {

/// `written` begins with .Dd, .Dt and .Os, and has sections that the program cannot tell. Those of
/// the same name follow what the program says there. Errors: a sentence.
Result<std::string> manual_of(const ToldCommand& program, const std::string& written);

}  // namespace cw
