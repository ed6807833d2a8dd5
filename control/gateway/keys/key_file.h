// The secret that both sites share: any bytes, in a file that only its owner can read.
#pragma once

#include <cstddef>
#include <string>

#include "dataplane/base/result.h"
#include "offload/mac.h"

namespace cw::site {

inline constexpr size_t key_bytes_min = 32;

struct PairKey {
  cw_mac mac;
  std::string warning;  ///< others can read the file; empty: they cannot
};

/// Errors: not there (with the command that makes one), not readable, too short. Spaces and line
/// ends around the key do not count, so that copying a file by hand does not change it.
Result<PairKey> read_key_file(const std::string& path);

}  // namespace cw::site
