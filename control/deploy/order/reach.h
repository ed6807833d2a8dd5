// How far a site gets by a reload of its file: what its gateway would find, asked of the same
// functions.
#pragma once

#include <string>
#include <vector>

#include "control/deploy/file/check.h"
#include "control/gateway/changes.h"
#include "dataplane/port.h"

namespace cw::deploy {

struct Reach {
  bool is_by_links = false;  ///< other links take the place of those that carry
  /// What needs a start although no key's kind says so, a sentence each.
  std::vector<std::string> beyond;
};

/// By what a gateway runs.
struct InForce {
  const site::Plan& plan;
  const Node& tree;
  PortFacts wan;  ///< as far as they are known
};

/// No kind of `changes`, from there to `file`, needs a start. Pure.
Reach reach_of(const InForce& in_force, const SiteFile& file,
               const std::vector<site::Change>& changes);

/// What two ends of a link must have alike, or it carries nothing.
sdr::PairKeys shape_of(const site::Plan& plan);

}  // namespace cw::deploy
