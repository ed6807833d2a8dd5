// Address prefixes as people write them: "10.2.0.0/16", "2001:db8:2::/48", "192.0.2.7".
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/gateway/options.h"

namespace cw::site {

/// Errors: no address, too many bits, bits set behind the prefix; the sentence has the prefix that
/// was meant.
Result<gateway::Prefix> parse_prefix(const std::string& text);
/// An interface's own address: bits behind the prefix are what it is about.
Result<gateway::Prefix> parse_interface_address(const std::string& text);
/// That it lies in.
gateway::Prefix network_of(const gateway::Prefix& address);
std::string prefix_text(const gateway::Prefix& prefix);
/// Whether some address is in both.
bool is_overlapping(const gateway::Prefix& a, const gateway::Prefix& b);

/// "5201" or "5000-5999".
Result<gateway::PortRange> parse_ports(const std::string& text);

}  // namespace cw::site
