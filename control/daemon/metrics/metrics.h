// What a gateway is like, for machines that look each few seconds: names, labels and bounds.
//
// Labels are peer, link, path, class, reason, by, kind, way: no address, no flow. However many
// peers there are, fewer than `series_max` values are told: beyond `lanes_max` a class's are told
// of all peers together, beyond `paths_max` a peer's of all its paths, and beyond that many peers
// theirs of all.
#pragma once

#include <cstddef>
#include <string>

#include "control/daemon/status.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"

namespace cw::daemon {

inline constexpr size_t series_max = 20'000, lanes_max = 256, paths_max = 512;

/// In the text format that Prometheus reads; `state` is of the site that runs by `plan`.
std::string metrics_of(const site::Plan& plan, const site::SiteState& state,
                       const ProcessView& process);

}  // namespace cw::daemon
