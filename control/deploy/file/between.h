// What can only be wrong between sites.
#pragma once

#include "control/deploy/file/deployment.h"

namespace cw::deploy {

/// Names, addresses, prefixes, links; in no order.
config::Mistakes mistakes_between(const Deployment& deployment);
/// What works, and perhaps not as was meant.
std::vector<std::string> warnings_between(const Deployment& deployment);

}  // namespace cw::deploy
