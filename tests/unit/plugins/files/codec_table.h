/* The same for codecs: one that cannot code anything, and the table around it. */
#pragma once

#include "dataplane/codec.h"

static inline int sizes(const struct cw_shape* shape, struct cw_codec_sizes* sizes, char* why,
                        size_t capacity) {
  (void)shape, (void)sizes, (void)why, (void)capacity;
  return -1;
}
static inline void generate(const struct cw_shape* shape, void* table) { (void)shape, (void)table; }
static inline void encode(const void* table, const struct cw_shard* data,
                          const struct cw_shard* repair, uint32_t repair_count, void* scratch) {
  (void)table, (void)data, (void)repair, (void)repair_count, (void)scratch;
}
static inline uint32_t decode(const void* table, const struct cw_shard* present,
                              uint32_t present_count, const struct cw_shard* wanted,
                              uint32_t wanted_count, void* scratch, uint32_t* need) {
  (void)table, (void)present, (void)present_count, (void)wanted, (void)wanted_count, (void)scratch;
  *need = 1;
  return CW_DECODE_NEED;
}

#pragma GCC diagnostic ignored "-Woverride-init"

#define TABLE_FIELDS                                                                         \
  .abi = CW_CODEC_ABI, .size = sizeof(struct cw_codec_ops), .name = "tried", .version = "1", \
  .summary = "Codes nothing.", .k_max = CW_NO_BOUND, .m_max = CW_NO_BOUND, .sizes = sizes,   \
  .generate = generate, .encode = encode, .decode = decode

#define EXPORT_TABLE(table)                                                                \
  __attribute__((visibility("default"))) const struct cw_codec_ops* cw_codec_table(void) { \
    return (table);                                                                        \
  }
