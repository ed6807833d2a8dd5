// Which ICRC stands behind a RoCEv2 packet (dataplane/wire/SPEC.md section 3). In base because both
// the ports, which state it, and the wire, which computes it, must name it.
#pragma once

#include <cstdint>

namespace cw {

enum class IcrcMode : uint8_t {
  Exact,     ///< as the InfiniBand specification says: what RNICs and dissectors expect
  Pseudo,    ///< the IP and UDP headers count as ones: a socket cannot know them
  None,      ///< four zero bytes, unchecked: the wire below has a checksum of its own
  Hardware,  ///< the RNIC does it
};

}  // namespace cw
