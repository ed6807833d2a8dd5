// Random numbers of a fuzz target: the same ones for the same input, in the place of OpenSSL's. For
// one source of a program.
#pragma once

#include <cstdint>

#include "dataplane/base/prng.h"

namespace cw {

inline Prng& fixed_random() {
  static Prng prng(1);
  return prng;
}

}  // namespace cw

extern "C" int RAND_priv_bytes(unsigned char* out, int count) {
  for (int i = 0; i < count; ++i) {
    out[i] = static_cast<unsigned char>(cw::fixed_random().below(256));
  }
  return 1;
}
