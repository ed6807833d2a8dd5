// Address prefixes as keys that compare like numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "dataplane/base/endian.h"
#include "dataplane/base/result.h"
#include "dataplane/gateway/options.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw::gateway {

using Key32 = uint32_t;
using Key128 = unsigned __int128;

/// The first sizeof(Key) bytes of an address, the first of them highest. Cost: hot.
template <class Key>
Key key_of(const std::array<uint8_t, 16>& address) {
  if constexpr (sizeof(Key) == sizeof(Key32)) {
    return ip_layout::load<be32>(address.data());
  } else {
    return Key{ip_layout::load<be64>(address.data())} << 64 | ip_layout::load<be64>(&address[8]);
  }
}

/// Ones where a prefix of `bits` decides.
template <class Key>
Key mask_of(unsigned bits) {
  return bits == 0 ? Key{0} : static_cast<Key>(~Key{0} << (sizeof(Key) * 8 - bits));
}

/// "10.1.0.0/16" or "fd00:1:0:0:0:0:0:0/32".
std::string text_of(const Prefix& prefix);

/// Refuses more bits than the address has, and an address with bits behind the prefix.
Result<void> check(const Prefix& prefix);

}  // namespace cw::gateway
