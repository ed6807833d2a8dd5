// The answer to a ping, for a port whose address no kernel has.
#pragma once

#include <cstdint>
#include <span>

namespace cw {

/// Makes the answer of an ICMP or ICMPv6 echo request, in place: `packet` is an IP packet of
/// exactly its length, for an address that is ours. Its checksum is carried over, right or wrong,
/// as its sender will see. False, and nothing changed: it is something else, or a fragment, or has
/// options.
bool try_answer_echo(std::span<uint8_t> packet);

}  // namespace cw
