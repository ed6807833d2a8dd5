// The file of a gateway that is measured.
#pragma once

#include <string>

#include "dataplane/seal/keys.h"

namespace cw::bench {

/// How gateways are made.
struct GatewaySetup {
  std::string policy = "passthrough";
  std::string params;  ///< lines of TOML below the class
  std::string rate = "60 Gbit/s";  ///< more than comes through
  std::string hold = "2.6 ms";     ///< with it 64 messages of 1 MiB
  bool polls = true;  ///< else it sleeps when there is nothing to do
  unsigned coding_threads = 0;
  bool is_sealed = false;
};

/// DPDK's names of what it is between.
struct Devices {
  std::string lan, wan;
  unsigned wan_mtu = 1500;
};

/// Of a memif whose buffers hold an IP packet of `mtu` bytes: ",bsize=...", when it is no default.
std::string memif_room(unsigned mtu);

/// Of the two sites: hosts of A, 10.1.0.0/24, send to hosts of B, 10.2.0.0/24.
enum class Side { A, B };

/// Who they are, always the same.
const seal::Identity& identity_of(Side side);

/// TOML; it names the secret beside the file, "pair.key", or "a.key" or "b.key" if it is sealed,
/// and the status "a.json" or "b.json" in `folder`.
std::string gateway_file(Side side, const GatewaySetup& setup, const Devices& devices,
                         const std::string& folder);

}  // namespace cw::bench
