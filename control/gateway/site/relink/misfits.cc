#include "control/gateway/site/relink/misfits.h"

#include <string>

#include "control/gateway/site/live/peer_places.h"

namespace cw::site {

std::vector<Beyond> misfits(const Plan& running, const Plan& next, const PortFacts& wan) {
  std::vector<Beyond> found = beyond_places(running, next);
  const auto add = [&found](const char* key, const std::string& why) {
    found.push_back({key, why});
  };
  if (wan.places_payload) {
    add("", "the WAN port places payload itself, for one set of links only");
  }
  if (next.links != running.links) {
    add("pair.links", "links are dealt out to cores at a start");
  }
  if (next.wan.paths != running.wan.paths) {
    add("wan.paths", "the WAN port has " + std::to_string(running.wan.paths) +
                         " of them, each with sockets or queues of its own, since its start");
  }
  if (next.wan.payload_bytes_max > wan.payload_max) {
    add("pair.mtu", "the WAN port's packets have room for " + std::to_string(wan.payload_max) +
                        " bytes of payload, and that would be " +
                        std::to_string(next.wan.payload_bytes_max));
  }
  return found;
}

std::vector<Beyond> other_peers(const Plan& running, const Plan& next) {
  std::vector<Beyond> found;
  for (size_t i = 0; i < next.gateway.peers.size(); ++i) {
    const std::string &is = next.gateway.peers[i].name, &was = running.gateway.peers[i].name;
    if (is == was) continue;
    for (const std::string& name : {is, was}) {
      if (name.empty()) continue;
      found.push_back({"peer." + name, "links of before are there still; try again in a while"});
    }
  }
  return found;
}

}  // namespace cw::site
