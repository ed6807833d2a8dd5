#include "offload/aead/aead.h"

#ifdef CW_HAVE_IPSEC_MB

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Of one key. */
struct prepared {
  struct gcm_key_data gcm;
  uint8_t chacha[CW_AEAD_KEY_BYTES_MAX];
  IMB_MGR* manager; /* of all keys */
  aes_gcm_enc_dec_t seal_gcm, open_gcm; /* NULL: it is ChaCha20-Poly1305's */
};
enum { alignment = 64 };

/* Which functions are this processor's, 200 KB of it: none of those used here writes to it, so all
 * threads have one. */
static IMB_MGR* shared;

static void make_shared(void) {
  IMB_ARCH found = IMB_ARCH_NONE;
  shared = alloc_mb_mgr(0);
  if (shared != NULL) init_mb_mgr_auto(shared, &found);
  if (found != IMB_ARCH_NONE && found != IMB_ARCH_NOAESNI) return;
  if (shared != NULL) free_mb_mgr(shared);
  shared = NULL;
}

static IMB_MGR* manager(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_shared);
  return shared;
}

static void drop(void* key) {
  struct prepared* const it = (struct prepared*)key;
  if (it == NULL) return;
  OPENSSL_cleanse(it, sizeof *it);
  free(it);
}

static void* make(enum cw_aead_kind kind, const uint8_t* key) {
  const size_t bytes = (sizeof(struct prepared) + alignment - 1) / alignment * alignment;
  struct prepared* const it = (struct prepared*)aligned_alloc(alignment, bytes);
  if (it == NULL) return NULL;
  memset(it, 0, sizeof *it);
  it->manager = manager();
  if (it->manager == NULL) {
    drop(it);
    return NULL;
  }
  if (kind == CW_AEAD_AES_128_GCM) {
    IMB_AES128_GCM_PRE(it->manager, key, &it->gcm);
    it->seal_gcm = it->manager->gcm128_enc;
    it->open_gcm = it->manager->gcm128_dec;
  } else if (kind == CW_AEAD_AES_256_GCM) {
    IMB_AES256_GCM_PRE(it->manager, key, &it->gcm);
    it->seal_gcm = it->manager->gcm256_enc;
    it->open_gcm = it->manager->gcm256_dec;
  } else {
    memcpy(it->chacha, key, sizeof it->chacha);
  }
  return it;
}

static void start_chacha(struct prepared* it, struct chacha20_poly1305_context_data* context,
                         const struct cw_aead_text* text) {
  IMB_CHACHA20_POLY1305_INIT(it->manager, it->chacha, context, text->nonce, text->associated,
                             text->associated_bytes);
}

static void run_gcm(struct prepared* it, aes_gcm_enc_dec_t run, const struct cw_aead_text* text,
                    uint8_t* tag) {
  struct gcm_context_data context;
  run(&it->gcm, &context, (uint8_t*)text->out, (const uint8_t*)text->in, text->bytes, text->nonce,
      (const uint8_t*)text->associated, text->associated_bytes, tag, CW_AEAD_TAG_BYTES);
}

static void seal(void* key, const struct cw_aead_text* text, uint8_t tag[CW_AEAD_TAG_BYTES]) {
  struct prepared* const it = (struct prepared*)key;
  if (it->seal_gcm != NULL) {
    run_gcm(it, it->seal_gcm, text, tag);
    return;
  }
  struct chacha20_poly1305_context_data context;
  start_chacha(it, &context, text);
  IMB_CHACHA20_POLY1305_ENC_UPDATE(it->manager, it->chacha, &context, text->out, text->in,
                                   text->bytes);
  IMB_CHACHA20_POLY1305_ENC_FINALIZE(it->manager, &context, tag, CW_AEAD_TAG_BYTES);
}

/* The library tells the tag that would be right; who compares is us. */
static int open_text(void* key, const struct cw_aead_text* text,
                     const uint8_t tag[CW_AEAD_TAG_BYTES]) {
  struct prepared* const it = (struct prepared*)key;
  uint8_t right[CW_AEAD_TAG_BYTES];
  if (it->open_gcm != NULL) {
    run_gcm(it, it->open_gcm, text, right);
  } else {
    struct chacha20_poly1305_context_data context;
    start_chacha(it, &context, text);
    IMB_CHACHA20_POLY1305_DEC_UPDATE(it->manager, it->chacha, &context, text->out, text->in,
                                     text->bytes);
    IMB_CHACHA20_POLY1305_DEC_FINALIZE(it->manager, &context, right, sizeof right);
  }
  const int is_right = CRYPTO_memcmp(right, tag, sizeof right) == 0;
  OPENSSL_cleanse(right, sizeof right); /* whoever has it could seal this very text */
  if (!is_right && text->bytes > 0) memset(text->out, 0, text->bytes);
  return is_right;
}

const struct cw_aead* cw_aead_ipsec_mb(void) {
  static const struct cw_aead ipsec_mb = {.library = "intel-ipsec-mb",
                                          .make = make,
                                          .drop = drop,
                                          .seal = seal,
                                          .open = open_text};
  return manager() == NULL ? NULL : &ipsec_mb;
}

#else

const struct cw_aead* cw_aead_ipsec_mb(void) { return NULL; }

#endif
