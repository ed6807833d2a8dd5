// The two gateways with a line and hosts that go on sending, for whoever looks at them in a
// browser.
#pragma once

#include <string>

#include "tests/demo/options.h"
#include "tests/demo/wander/wander.h"

namespace cw::demo {

/// Until SIGINT or SIGTERM, or for as long as the options say; prints where the page is. Throws
/// what is in the way.
void show_page(const Options& options, const WanderPrograms& programs);

}  // namespace cw::demo
