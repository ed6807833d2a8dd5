// Copies a capture (pcapng, draft-ietf-opsawg-pcapng) and opens its packets on the way. All that is
// not a packet which opens is copied byte by byte.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "control/dissector/opener.h"
#include "dataplane/base/result.h"

namespace cw::dissector {

struct CopyCounts {
  uint64_t packets = 0;
  uint64_t cut = 0;  ///< of which the capture has not all, so that they cannot be opened
};

/// Errors: it is no pcapng, or ends within a block, which says what would make one of it.
Result<CopyCounts> copy_capture(std::istream& from, std::ostream& to, Opener& opener);

}  // namespace cw::dissector
