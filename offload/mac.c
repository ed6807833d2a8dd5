/* OpenSSL's EVP interface allocates a context per MAC; the deprecated SHA256_* calls beneath it
 * work on a plain struct and use the same SHA instructions. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "offload/mac.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

/* The hash after key ^ ipad and after key ^ opad: where every MAC of this key starts. */
struct prepared {
  SHA256_CTX inner;
  SHA256_CTX outer;
};
_Static_assert(sizeof(struct prepared) <= sizeof(struct cw_mac), "CW_MAC_STATE_WORDS is too small");
_Static_assert(_Alignof(struct prepared) <= _Alignof(struct cw_mac),
               "cw_mac is too weakly aligned");
_Static_assert(SHA256_DIGEST_LENGTH == CW_MAC_BYTES, "a MAC is one SHA-256 digest");

static void start_with(SHA256_CTX* hash, const uint8_t key[SHA256_CBLOCK], uint8_t mask) {
  uint8_t block[SHA256_CBLOCK];
  for (size_t i = 0; i < sizeof block; ++i) block[i] = key[i] ^ mask;
  SHA256_Init(hash);
  SHA256_Update(hash, block, sizeof block);
  OPENSSL_cleanse(block, sizeof block);
}

void cw_mac_init(struct cw_mac* mac, const void* key, size_t key_bytes) {
  uint8_t block[SHA256_CBLOCK] = {0};
  if (key_bytes > sizeof block) {
    SHA256((const unsigned char*)key, key_bytes, block);
  } else if (key_bytes > 0) {
    memcpy(block, key, key_bytes);
  }
  struct prepared* prepared = (struct prepared*)mac->state;
  start_with(&prepared->inner, block, 0x36);
  start_with(&prepared->outer, block, 0x5c);
  OPENSSL_cleanse(block, sizeof block);
}

void cw_mac_compute(const void* mac, const void* bytes, size_t count, uint8_t out[CW_MAC_BYTES]) {
  const struct prepared* prepared = (const struct prepared*)((const struct cw_mac*)mac)->state;
  SHA256_CTX hash = prepared->inner;
  SHA256_Update(&hash, bytes, count);
  SHA256_Final(out, &hash);
  hash = prepared->outer;
  SHA256_Update(&hash, out, CW_MAC_BYTES);
  SHA256_Final(out, &hash);
}
