/* HMAC-SHA-256 (RFC 2104, FIPS 180-4) with a prepared key. Plain C, so that packet code takes it as
 * a function argument and knows no library by name. */
#ifndef CW_OFFLOAD_MAC_H
#define CW_OFFLOAD_MAC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CW_MAC_BYTES = 32, CW_MAC_STATE_WORDS = 32 };

/* A key after its two fixed blocks have been hashed. Holds no pointer: it may be copied, and it is
 * as secret as the key. Read-only once made, so threads may share it. */
struct cw_mac {
  uint64_t state[CW_MAC_STATE_WORDS];
};

/* Prepares `mac` for a key of any length; leaves no other copy of the key behind. Thread: any. */
void cw_mac_init(struct cw_mac* mac, const void* key, size_t key_bytes);

/* Writes the MAC of `count` bytes. `mac` is a struct cw_mac, untyped so that the function fits the
 * pointer packet code asks for. Thread: any. Cost: allocates nothing; two SHA-256 blocks more than
 * hashing the bytes. */
void cw_mac_compute(const void* mac, const void* bytes, size_t count, uint8_t out[CW_MAC_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
