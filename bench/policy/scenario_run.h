// Runs the text of a scenario file (control/sim/README.md) from its start to its end.
#pragma once

#include <string>

#include "control/sim/report.h"

namespace cw {

/// Aborts on a mistake in the text: it is the caller's own.
Report run_scenario(const std::string& text);

}  // namespace cw
