#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "offload/aead/aead.h"

/* Contexts with the key's schedule; a packet sets a nonce only. */
struct prepared {
  EVP_CIPHER_CTX* sealing;
  EVP_CIPHER_CTX* opening;
};

size_t cw_aead_key_bytes(enum cw_aead_kind kind) { return kind == CW_AEAD_AES_128_GCM ? 16 : 32; }

static const EVP_CIPHER* cipher_of(enum cw_aead_kind kind) {
  switch (kind) {
    case CW_AEAD_AES_128_GCM:
      return EVP_aes_128_gcm();
    case CW_AEAD_AES_256_GCM:
      return EVP_aes_256_gcm();
    default:
      return EVP_chacha20_poly1305();
  }
}

static void drop(void* key) {
  struct prepared* const it = (struct prepared*)key;
  if (it == NULL) return;
  EVP_CIPHER_CTX_free(it->sealing); /* which wipes */
  EVP_CIPHER_CTX_free(it->opening);
  free(it);
}

static void* make(enum cw_aead_kind kind, const uint8_t* key) {
  struct prepared* const it = (struct prepared*)calloc(1, sizeof(struct prepared));
  if (it == NULL) return NULL;
  it->sealing = EVP_CIPHER_CTX_new();
  it->opening = EVP_CIPHER_CTX_new();
  if (it->sealing != NULL && it->opening != NULL &&
      EVP_EncryptInit_ex(it->sealing, cipher_of(kind), NULL, key, NULL) == 1 &&
      EVP_DecryptInit_ex(it->opening, cipher_of(kind), NULL, key, NULL) == 1) {
    return it;
  }
  drop(it);
  return NULL;
}

static void seal(void* key, const struct cw_aead_text* text, uint8_t tag[CW_AEAD_TAG_BYTES]) {
  EVP_CIPHER_CTX* const it = ((struct prepared*)key)->sealing;
  int bytes = 0;
  EVP_EncryptInit_ex(it, NULL, NULL, NULL, text->nonce);
  EVP_EncryptUpdate(it, NULL, &bytes, (const unsigned char*)text->associated,
                    (int)text->associated_bytes);
  EVP_EncryptUpdate(it, (unsigned char*)text->out, &bytes, (const unsigned char*)text->in,
                    (int)text->bytes);
  uint8_t none[CW_AEAD_TAG_BYTES]; /* no kind has a last block of its own */
  EVP_EncryptFinal_ex(it, none, &bytes);
  EVP_CIPHER_CTX_ctrl(it, EVP_CTRL_AEAD_GET_TAG, CW_AEAD_TAG_BYTES, tag);
}

static int open_text(void* key, const struct cw_aead_text* text,
                     const uint8_t tag[CW_AEAD_TAG_BYTES]) {
  EVP_CIPHER_CTX* const it = ((struct prepared*)key)->opening;
  uint8_t expected[CW_AEAD_TAG_BYTES];
  int bytes = 0, rest = 0;
  memcpy(expected, tag, sizeof expected);
  EVP_DecryptInit_ex(it, NULL, NULL, NULL, text->nonce);
  EVP_CIPHER_CTX_ctrl(it, EVP_CTRL_AEAD_SET_TAG, CW_AEAD_TAG_BYTES, expected);
  EVP_DecryptUpdate(it, NULL, &bytes, (const unsigned char*)text->associated,
                    (int)text->associated_bytes);
  const int is_read = EVP_DecryptUpdate(it, (unsigned char*)text->out, &bytes,
                                        (const unsigned char*)text->in, (int)text->bytes) == 1;
  if (is_read && EVP_DecryptFinal_ex(it, expected, &rest) == 1) return 1;
  if (text->bytes > 0) memset(text->out, 0, text->bytes);
  return 0;
}

const struct cw_aead* cw_aead_openssl(void) {
  static const struct cw_aead openssl = {.library = "OpenSSL",
                                         .make = make,
                                         .drop = drop,
                                         .seal = seal,
                                         .open = open_text};
  return &openssl;
}
