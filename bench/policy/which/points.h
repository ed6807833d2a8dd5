// What the maps come to at points that are met often, and how far the model is off where no law is
// known to hold: Markdown, on standard output.
#pragma once

#include <cstdint>

namespace cw::which {

/// A table per rate: the best, the next and selective repeat by timeout.
void print_points();
/// Messages that take many round trips to leave, by the simulator and by the model.
void print_long_messages(uint64_t messages, uint64_t seed);

}  // namespace cw::which
