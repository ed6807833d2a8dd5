/* DOOR to erasure codes: the codec ABI. Plain C; the static and the loaded form are the same thing.
 *
 * A codec computes; policies decide when, `offload` runs it where. It knows no message, block or
 * packet: it sees *shards*, equal pieces of memory, and their ids. Data shards are sent as they
 * are; repair shards are computed from them. A block is coded row by row: row r is one call over
 * the r-th slot of every chunk, so a shard is one slot.
 *
 * Ids. 32 bits: data ids count from 0 upward, repair ids carry CW_REPAIR_ID. A block code with k +
 * m shards uses data 0..k-1 and repair 0..m-1. A rateless code takes any repair id, and never runs
 * out. In a sliding code data ids run on, and each repair shard names the window that it covers.
 *
 * Memory is the caller's, all of it, of the sizes that sizes() states, aligned to 64 bytes. Shards
 * are aligned to 64 bytes and readable for `shard_bytes`, a multiple of 64; behind the bytes in use
 * they are zero. No call allocates, waits, locks, or keeps a pointer to a shard.
 *
 * Two ways to code. At once: encode() and decode() see all shards of a row in one call. In steps
 * (CW_CODEC_IN_STEPS): take() works one shard at a time into a state while data leaves or arrives,
 * give() writes the shards that the state can make. The source takes data and gives repair; the
 * sink takes both and gives data.
 *
 * Thread: any; calls that share no state and no scratch may run at the same time. Hostile input:
 * the core passes ids that were checked against the shape, each at most once; what shards contain
 * may be anything, and may only give wrong bytes of the same length.
 *
 * Growing the ABI: as in policy.h. cw_shard travels in arrays and never changes within a major. */
#ifndef CW_CODEC_H
#define CW_CODEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CW_ABI_BYTES(type, bytes) static_assert(sizeof(type) == (bytes), "the ABI fixes this size")
extern "C" {
#else
#define CW_ABI_BYTES(type, bytes) _Static_assert(sizeof(type) == (bytes), "the ABI fixes this size")
#endif

#define CW_CODEC_ABI_MAJOR 1u
#define CW_CODEC_ABI_MINOR 0u
#define CW_CODEC_ABI (CW_CODEC_ABI_MAJOR << 16 | CW_CODEC_ABI_MINOR)

#define CW_REPAIR_ID 0x80000000u /* set in the ids of repair shards */
#define CW_NO_BOUND 0xffffffffu  /* k_max, m_max: as many as there are ids */

enum cw_codec_traits {
  CW_CODEC_MDS = 1,      /* any k shards rebuild: never singular */
  CW_CODEC_IN_STEPS = 2, /* start, take, give are there */
  CW_CODEC_SLIDING = 4   /* repair shards name windows; forget is there, encode and decode not */
};

/* What is coded. All rows of a block share one shape, and so one table. */
struct cw_shape {
  uint32_t size;        /* of this struct, as the core knows it */
  uint32_t k, m;        /* sliding: the widest window, and repair shards open at once */
  uint32_t shard_bytes; /* a multiple of 64 */
};

struct cw_codec_sizes {
  uint64_t table_bytes;   /* coefficients: made once per shape, then only read */
  uint64_t scratch_bytes; /* of one encode or decode at a time; zeroed before its first use */
  uint64_t state_bytes;   /* of one row coded in steps; 0 without CW_CODEC_IN_STEPS */
};

struct cw_shard {
  uint32_t id;
  uint32_t window_first, window_count; /* sliding, repair: the data ids it is made of; else 0, k */
  uint32_t reserved;
  uint8_t* bytes; /* inputs are not written to */
};

/* Only DONE writes anything. */
enum cw_decode_result {
  CW_DECODE_DONE = 0,     /* every wanted shard is written */
  CW_DECODE_SINGULAR = 1, /* enough shards, but not independent ones: one more may help */
  CW_DECODE_NEED = 2      /* at least `need` more shards */
};

struct cw_codec_ops {
  uint32_t abi;     /* CW_CODEC_ABI the codec was compiled with */
  uint32_t size;    /* sizeof this table as the codec knows it */
  const char* name; /* snake_case, unique */
  const char* version;
  const char* summary;   /* one sentence for a person */
  uint32_t wire_version; /* of its coefficients: both ends must have the same */
  uint32_t traits;       /* enum cw_codec_traits */
  uint32_t k_max, m_max; /* CW_NO_BOUND: none */

  /* Pure. Returns 0, or a negative errno and a sentence in why when the shape cannot be coded. */
  int (*sizes)(const struct cw_shape* shape, struct cw_codec_sizes* sizes, char* why,
               size_t why_capacity);

  /* Fills a table of sizes->table_bytes. The same shape gives the same code at every end. Slow. */
  void (*generate)(const struct cw_shape* shape, void* table);

  /* Writes the bytes of `repair` from data shards 0..k-1, in order. Each repair shard is its own:
   * in any order, and in as many calls as wanted. Hot. */
  void (*encode)(const void* table, const struct cw_shard* data, const struct cw_shard* repair,
                 uint32_t repair_count, void* scratch);

  /* Writes the bytes of `wanted` (data ids that are not present) from what is present, in any
   * order. Returns enum cw_decode_result. `scratch` keeps the solution of the last ids: the next
   * row with the same ids, in the same order, costs no new inversion. Hot. */
  uint32_t (*decode)(const void* table, const struct cw_shard* present, uint32_t present_count,
                     const struct cw_shard* wanted, uint32_t wanted_count, void* scratch,
                     uint32_t* need);

  /* In steps. start() makes a state empty, whatever it held. take() adds one shard; one that tells
   * nothing new is ignored. give() writes the wanted shards as decode() does, and may be asked
   * again after more was taken. */
  void (*start)(const void* table, void* state);
  void (*take)(const void* table, void* state, const struct cw_shard* shard);
  uint32_t (*give)(const void* table, void* state, const struct cw_shard* wanted,
                   uint32_t wanted_count, uint32_t* need);

  /* Sliding: data ids before `data_id` will never be asked for again, in serial arithmetic of 31
   * bits. Repair shards whose windows reach below lose what they still owed to it. */
  void (*forget)(const void* table, void* state, uint32_t data_id);
};

CW_ABI_BYTES(struct cw_shape, 16);
CW_ABI_BYTES(struct cw_codec_sizes, 24);
CW_ABI_BYTES(struct cw_shard, 24);
CW_ABI_BYTES(struct cw_codec_ops, 112);
#undef CW_ABI_BYTES

/* The only symbol a codec exports. */
const struct cw_codec_ops* cw_codec_table(void);

#ifdef __cplusplus
}
#endif

#endif
