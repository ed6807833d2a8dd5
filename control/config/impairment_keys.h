// What one direction of one path does to packets, as keys of a file: every field of Impairment.
#pragma once

#include "control/config/section.h"
#include "dataplane/port/impair/impairment.h"

namespace cw::config {

/// Declares the keys into `section`. The values that `impairment` has now are the defaults; it
/// outlives the section. Complains where values that are fine alone contradict each other.
void declare_impairment(Section& section, Impairment& impairment);

}  // namespace cw::config
