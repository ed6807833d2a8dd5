/* Authenticated encryption of packets: what is sealed can be read and changed by nobody without the
 * key, and what is only associated can be read. AES-GCM (NIST SP 800-38D) and ChaCha20-Poly1305
 * (RFC 8439), by libraries behind one door: plain C, so that packet code takes it as a function
 * argument and knows no library by name.
 *
 * No two packets under a key may have the same nonce: who breaks that gives the key away. */
#ifndef CW_OFFLOAD_AEAD_H
#define CW_OFFLOAD_AEAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cw_aead_kind {
  CW_AEAD_AES_128_GCM,
  CW_AEAD_AES_256_GCM,
  CW_AEAD_CHACHA20_POLY1305,
  CW_AEAD_KINDS,
};

enum { CW_AEAD_KEY_BYTES_MAX = 32, CW_AEAD_NONCE_BYTES = 12, CW_AEAD_TAG_BYTES = 16 };

/* Bytes of its key. */
size_t cw_aead_key_bytes(enum cw_aead_kind kind);
/* "aes-128-gcm": as files and people have it. */
const char* cw_aead_name(enum cw_aead_kind kind);

/* A packet, or what of one is sealed. `out` may be `in`; else they do not overlap. */
struct cw_aead_text {
  const uint8_t* nonce;      /* CW_AEAD_NONCE_BYTES */
  const void* associated;    /* read, not written */
  size_t associated_bytes;
  const void* in;
  void* out;                 /* as many bytes as there are in `in` */
  size_t bytes;
};

/* One library's. Thread: functions any; a prepared key one at a time. */
struct cw_aead {
  const char* library;
  /* Prepares a key of cw_aead_key_bytes(); allocates. NULL: there is no memory. */
  void* (*make)(enum cw_aead_kind kind, const uint8_t* key);
  /* Wipes it. */
  void (*drop)(void* key);
  /* Neither allocates. */
  void (*seal)(void* key, const struct cw_aead_text* text, uint8_t tag[CW_AEAD_TAG_BYTES]);
  /* Zero: it is not what was sealed under this key, nonce and associated bytes; `out` is zeros
   * then. The tag is compared in a time that does not depend on where it differs. */
  int (*open)(void* key, const struct cw_aead_text* text, const uint8_t tag[CW_AEAD_TAG_BYTES]);
};

/* OpenSSL's. */
const struct cw_aead* cw_aead_openssl(void);
/* Of intel-ipsec-mb. NULL: not built in, or not for this processor. */
const struct cw_aead* cw_aead_ipsec_mb(void);
/* The faster one of those that there are. */
const struct cw_aead* cw_aead_fastest(void);
/* Whether the processor has instructions for AES-GCM; else ChaCha20-Poly1305 is faster, and takes a
 * time that does not depend on keys. */
int cw_aead_has_fast_aes(void);

#ifdef __cplusplus
}
#endif

#endif
