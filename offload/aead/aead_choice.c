#include "offload/aead/aead.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

const struct cw_aead* cw_aead_fastest(void) {
  const struct cw_aead* const ipsec_mb = cw_aead_ipsec_mb();
  return ipsec_mb != NULL ? ipsec_mb : cw_aead_openssl();
}

const char* cw_aead_name(enum cw_aead_kind kind) {
  switch (kind) {
    case CW_AEAD_AES_128_GCM:
      return "aes-128-gcm";
    case CW_AEAD_AES_256_GCM:
      return "aes-256-gcm";
    default:
      return "chacha20-poly1305";
  }
}

int cw_aead_has_fast_aes(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
#elif defined(__aarch64__)
  enum { of_aes = 1 << 3, of_pmull = 1 << 4 };
  return (getauxval(AT_HWCAP) & (of_aes | of_pmull)) == (of_aes | of_pmull);
#else
  return 0;
#endif
}
