// What a deployment comes to at each site: the tree of a gateway's file. Each value has the place
// in the deployment's file that it comes from, so that what is wrong with it is told there.
#pragma once

#include <string>
#include <vector>

#include "control/deploy/file/deployment.h"

namespace cw::deploy {

/// What [pair] is at all sites. There is one in a gateway's file, for all of its peers, and sites
/// whose [pair] differs carry nothing: so it is that of the longest and of the narrowest link of
/// all, and of the fastest site.
struct CommonPair {
  Node tree;
  Remarks remarks;                    ///< which link it was
  std::vector<std::string> warnings;  ///< links that get less than their own
};
CommonPair common_pair(const Deployment& deployment);

struct SiteTree {
  std::string name;
  Node tree;
};

/// In the order of the file; of rows that are wrong as much as there is.
std::vector<SiteTree> site_trees(const Deployment& deployment, const CommonPair& pair);

/// wan.udp_port of a site.
uint16_t udp_port_of(const Deployment& deployment, const SiteRow& site);
/// wan.rate of a site; zero: it is missing or wrong.
Rate rate_of(const Deployment& deployment, const SiteRow& site);
/// A table of a site's, "lan", with what [defaults] say.
Node table_of(const Deployment& deployment, const SiteRow& site, const std::string& name);

}  // namespace cw::deploy
