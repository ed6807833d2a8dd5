// Two whole ends of a link over real ports, worker to worker, in this thread and in real time.
#pragma once

#include "tests/sim/sdr/site.h"

namespace cw::test {

/// A thousand messages from a to b, every byte, completion and handle checked; 100 seconds at most.
/// Each port's first peer is the other.
void expect_whole_transfer(Port& a_port, Port& b_port, const sim::SiteOptions& options);

}  // namespace cw::test
