// Policies replaced while hosts send: what each swap took, and what the hosts saw of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/demo/gateways.h"
#include "tests/demo/options.h"
#include "tests/lab/sites.h"

namespace cw::demo {

struct SwapResult {
  std::string from, to;
  double took_ms = 0;           ///< from the order to the end of the policy before, at site A
  uint64_t sent = 0, lost = 0;  ///< datagrams, from before the order to after its end
  double typical_us = 0, longest_us = 0;  ///< on their way, one way
};

/// To two other policies, and back to that of the options. Throws what the gateways say when one is
/// not done.
std::vector<SwapResult> measure_swaps(const lab::Sites& sites, Gateways& gateways,
                                      const Options& options);

}  // namespace cw::demo
