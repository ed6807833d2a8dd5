// Sweeps as pictures.
#pragma once

#include <span>
#include <string>

#include "control/model/program/answer.h"

namespace cw::model {

/// SVG. Of one sweep the curves of p99.9 and mean (or goodput), of two the map of who wins. Errors:
/// a sentence where there is nothing to draw.
Result<std::string> draw(std::span<const SweepPoint> points, const Options& options);

}  // namespace cw::model
