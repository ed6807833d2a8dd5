// Who a site is and whom it believes: `private_key_file`, `public_key` and the like.
#pragma once

#include "control/gateway/keys/config.h"

namespace cw::site {

/// Their keys in [site], [pair] and [[peer]].
void declare_site_key(config::Section& site, const ConfigPtr& config);
void declare_sealing(config::Section& pair, const ConfigPtr& config);
void declare_peer_keys(config::Section& row, PeerConfig& peer, const ConfigPtr& config);
/// Whether the site seals, or says in so many words that it does not; once all has been read.
void check_sealing(config::Section& file, const ConfigPtr& config);

}  // namespace cw::site
