/* DOOR to the bitmap work: which packets of a message have arrived, and which of its chunks are
 * whole. One freestanding kernel, run inline, on pinned cores or on a DPA
 * (offload/executor/executor.h); it sees records and bits, never payload, and knows no library,
 * clock or allocator.
 *
 * A *partition* is one first-in-first-out row of records with one thread that runs it. Arm, length,
 * void and close travel in the same row as the packets they concern, so every partition sees a
 * message's life in one order, and no packet of an old life can set a bit in a new one.
 *
 *   lane     all records of an id go to one partition: one writer, plain operations
 *   shared   packets of one id come by several partitions (one per channel): atomic operations.
 *            Arm, length and close go to every partition; a void to one or to all
 *
 * Life of an id; the letters say who moves it:
 *
 *   free --arm, P--> armed(g) --close, P--> closed(g) --all Closed events, O--> quiet --O--> free
 *
 *   P  each partition, by a record in its row, and for itself alone
 *   O  the owner: when every partition that was armed has told Closed, cw_bits_reset() zeroes the
 *      words that were used. Only then may it arm the id again, and only when the arms are in all
 *      rows may it raise clear-to-send.
 *
 * An id's bits in the arena (words of 64 bits, slot s is bit s % 64 of word s / 64):
 *
 *   placed   | data slots [0, data_slots_max) .. | repair slots [cut, cut + repair_slots_max) .. |
 *   claimed  | the same again, only in arenas with `claimed_apart`                               |
 *   chunks   | one bit per chunk | counts: one uint32_t per chunk, how many of its slots are in  |
 *
 * The wire cuts a message's slots at `cut` (protocol: D) into data below and repair above. The
 * repair part begins at its own word, whatever the cut is, so memory follows from the limits and
 * not from the width of the slot field. Repair slots belong to no chunk. At rest all words are
 * zero, the counts too: they count up, so that an arm writes nothing into the arena. */
#ifndef CW_OFFLOAD_BITMAP_H
#define CW_OFFLOAD_BITMAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  CW_BITS_PACKET = 1, /* a slot whose payload is already in place */
  CW_BITS_ARM = 2,    /* a new life of an id begins */
  CW_BITS_LENGTH = 3, /* the message has `length` data slots: its last chunk may be shorter */
  CW_BITS_VOID = 4,   /* data slots that will never come count as in; within one chunk */
  CW_BITS_CLOSE = 5   /* from here on, packets of this id are late; told back by CW_BITS_CLOSED */
};

/* Void is a record although the owner knows the range: only the partitions may write the bits, and
 * only a claimed bit keeps a packet that comes all the same from being counted twice. */
typedef struct cw_bits_record {
  uint32_t immediate;    /* id | slot | user. Arm: slot = the cut. Void: slot = the first */
  uint32_t length;       /* packet: payload bytes. Arm: data slots. Length, void: slots */
  uint32_t repair_slots; /* arm only */
  union {
    uint16_t channel;     /* packet: which it came by; comes back in events */
    uint16_t chunk_slots; /* arm: slots of one chunk */
  };
  uint8_t generation; /* life of the id, told by the destination QP */
  uint8_t kind;
} cw_bits_record;

enum {
  CW_BITS_NONE = 0,
  CW_BITS_CHUNK = 1,        /* chunk `index` is whole and its bit published */
  CW_BITS_CLOSED = 2,       /* this partition will write nothing more for this life of the id */
  CW_BITS_DUPLICATE = 3,    /* slot `index` was claimed before */
  CW_BITS_LATE = 4,         /* the id is not armed, or armed with another generation */
  CW_BITS_OUT_OF_RANGE = 5, /* no such id, or slot `index` is neither data nor repair */
  CW_BITS_REFUSED = 6       /* a control record that makes no sense: a bug of the owner */
};

typedef struct cw_bits_event {
  uint32_t id;
  uint32_t index;   /* chunk or slot */
  uint16_t channel; /* of the record that caused it */
  uint8_t generation;
  uint8_t kind;
} cw_bits_event;

typedef struct cw_bits_limits {
  uint32_t ids;              /* ids in use are [0, ids) */
  uint32_t data_slots_max;   /* of one message */
  uint32_t repair_slots_max; /* of one message; 0: none */
  uint32_t chunk_slots_min;  /* no arm may ask for smaller chunks */
  uint32_t partitions;
  uint8_t slot_bits; /* split of the immediate; what slot and user leave is the id's */
  uint8_t user_bits;
  uint8_t claimed_apart; /* 1: payload is copied between claim and place, and another thread reads.
                            0: one bit means both */
} cw_bits_limits;

/* ---- the owner's side. Thread: the owner's only. ---- */

/* Bytes of an arena with these limits; 0 when they contradict each other or the split. */
size_t cw_bits_size(const cw_bits_limits* limits);

/* Makes an arena of cw_bits_size() bytes, aligned to 64; the arena holds no pointers and may be
 * mapped anywhere. All ids are free. Returns 0, or -1 when the limits are refused. */
int cw_bits_init(void* arena, const cw_bits_limits* limits);

/* Zeroes what the last life of `id` used; to be called when every Closed event has been taken.
 * Returns 0, or -1 when a partition still has the id armed or there is no such id. */
int cw_bits_reset(void* arena, uint32_t id);

/* The words of an id, for reading with cw_bits_load(); valid as long as the arena. A void slot
 * reads as placed. Repair slot s is bit s - cut from cw_bits_repair_words() on. `id` < ids. */
const uint64_t* cw_bits_data_words(const void* arena, uint32_t id);
const uint64_t* cw_bits_repair_words(const void* arena, uint32_t id);
const uint64_t* cw_bits_chunk_words(const void* arena, uint32_t id);

/* A word whose set bits promise that the payload behind them is visible. Thread: any. */
static inline uint64_t cw_bits_load(const uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* ---- the partition's side. Thread: the partition's only. Hot; bounded by n and, for length and
 *      void, by the words of one chunk. ---- */

typedef struct cw_bits_progress {
  uint32_t records; /* taken, from the first on; the rest stay the caller's */
  uint32_t events;  /* written */
} cw_bits_progress;

/* Runs records in order. A record makes at most one event, and a plain arrival none; it stops
 * before a record whose event might not fit, so `capacity` >= n always takes them all. */
cw_bits_progress cw_bits_run_lane(void* arena, uint32_t partition, const cw_bits_record* records,
                                  uint32_t n, cw_bits_event* events, uint32_t capacity);
cw_bits_progress cw_bits_run_shared(void* arena, uint32_t partition, const cw_bits_record* records,
                                    uint32_t n, cw_bits_event* events, uint32_t capacity);

/* Where a claimed slot lies. */
typedef struct cw_bits_spot {
  uint32_t id;
  uint32_t bit;   /* in the id's placed words */
  uint32_t chunk; /* UINT32_MAX: a repair slot */
} cw_bits_spot;

/* Placement by software, in two steps with the copy between them. Claim: CW_BITS_NONE makes the
 * caller the only one to copy this slot, and it must call place after the copy, before it runs
 * further records; any other kind says why it must not touch the payload. Place: 1 when a chunk
 * became whole and `event` was written, else 0. */
uint8_t cw_bits_claim_lane(void* arena, uint32_t partition, const cw_bits_record* packet,
                           cw_bits_spot* spot);
int cw_bits_place_lane(void* arena, uint32_t partition, const cw_bits_record* packet,
                       const cw_bits_spot* spot, cw_bits_event* event);
uint8_t cw_bits_claim_shared(void* arena, uint32_t partition, const cw_bits_record* packet,
                             cw_bits_spot* spot);
int cw_bits_place_shared(void* arena, uint32_t partition, const cw_bits_record* packet,
                         const cw_bits_spot* spot, cw_bits_event* event);

#ifdef __cplusplus
}
#endif

#endif
