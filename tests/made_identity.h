// Who a site of a test or a bench is: always the same, so that two processes know each other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/seal/keys.h"

namespace cw::test {

/// Its private key is 32 times `byte`.
inline seal::Identity made_identity(uint8_t byte) {
  seal::Secret secret;
  std::ranges::fill(secret.bytes(), byte);
  return seal::Identity::of(secret);
}

}  // namespace cw::test
