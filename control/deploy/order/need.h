// What separates the files that sites run by from those that were made for them.
#pragma once

#include <string>
#include <vector>

#include "control/deploy/file/check.h"
#include "control/deploy/order/order.h"
#include "control/gateway/changes.h"

namespace cw::deploy {

struct OldFile {
  std::string site, text;
  uint32_t payload_max = 0;  ///< that its WAN port has room for; 0: as the text says
};

struct SiteChange {
  Need need;
  std::vector<site::Change> changes;  ///< by key; none of a site that is new or goes
  std::vector<std::string>
      notes;  ///< why it must start again although the keys' kinds do not say so
};

/// Of all sites that were or will be: those of `files` in their order, then those that go. Pure.
std::vector<SiteChange> changes_of(const std::vector<OldFile>& before,
                                   const std::vector<SiteFile>& files);
std::vector<Need> needs_of(const std::vector<SiteChange>& changes);

}  // namespace cw::deploy
