// What runs at a site, as far as its API tells.
#pragma once

#include <optional>
#include <string>

#include "control/ctl/ask/client.h"
#include "control/deploy/file/tree.h"
#include "control/json/json.h"

namespace cw::deploy {

/// Files of PEM for those that are asked over TLS.
struct Papers {
  std::string certificate, key, ca;
};

/// By `ask`, or api.listen where there are papers for it, or its sockets; a relative api.folder
/// begins at `folder`, where the site's file is.
ctl::Place place_of(const Node& tree, const std::string& ask, const std::string& folder,
                    const Papers& papers);

struct Running {
  bool is_reached = false;
  std::string why;  ///< it was not
  std::string site, state;
  Json peers = Json::array();     ///< {"name", "link", "why"}
  Json policies = Json::array();  ///< {"class", "peer", "out"}
  uint32_t payload_max = 0;       ///< of its WAN port's packets; 0: an older version tells none
  /// What the file that it reads says and is not in force; null: not asked, or not allowed.
  Json open;
  /// The tree of a file that would say by what it runs; none: `why_no_file`. Asked in the same way.
  std::optional<Node> in_force;
  std::string why_no_file;
};
/// Cost: three answers, or until nobody has answered for some seconds.
Running ask(ctl::Client& client);

/// What of this differs from the tree of a file: a sentence each. Only what a status tells: names,
/// peers, links, the policies that classes send by.
std::vector<std::string> differences(const Running& running, const Node& tree);

}  // namespace cw::deploy
