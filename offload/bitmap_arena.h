/* Inside an arena: what bitmap.c (the kernel) and bitmap_arena.c (the owner's side) share. Offsets
 * in bytes from the arena's start, "words" in 64-bit words from an id's first. */
#ifndef CW_OFFLOAD_BITMAP_ARENA_H
#define CW_OFFLOAD_BITMAP_ARENA_H

#include "offload/bitmap.h"

enum { CW_BITS_LINE = 64, CW_BITS_SLOT_BITS_MAX = 24 };

/* Constant after init. */
typedef struct {
  cw_bits_limits limits;
  uint32_t id_shift;     /* immediate >> id_shift is the id */
  uint32_t slot_mask;    /* immediate >> user_bits & slot_mask is the slot */
  uint32_t repair_word;  /* where the repair slots begin */
  uint32_t claimed_word; /* 0: the placed words are the claims */
  uint32_t chunk_word;
  uint32_t count_word;
  uint32_t id_stride;
  uint64_t table_stride;
  uint64_t ids_offset;
} cw_bits_arena;

/* What one partition knows of an id. Written by the partition alone; the owner reads it only after
 * the partition has told Closed, when nothing is written any more until the next arm. */
typedef struct {
  uint32_t tag;        /* CW_BITS_ARMED | generation while armed, else 0 */
  uint32_t data_end;   /* data slots are [0, data_end): as armed, or less after a length */
  uint32_t data_slots; /* as armed */
  uint32_t cut;        /* repair slots are [cut, cut + repair_slots) */
  uint32_t repair_slots;
  uint32_t data_used;   /* one beyond the highest data slot this partition has claimed */
  uint32_t repair_used; /* the same, from the cut */
  uint32_t chunk_slots;
  uint64_t chunk_inverse; /* see cw_bits_chunk_of() */
} cw_bits_entry;

enum { CW_BITS_ARMED = 0x100 };

static inline uint64_t cw_bits_round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}
static inline uint32_t cw_bits_words(uint32_t bits) { return (bits + 63) / 64; }

static inline cw_bits_entry* cw_bits_entry_of(const void* arena, const cw_bits_arena* layout,
                                              uint32_t partition, uint32_t id) {
  char* table = (char*)arena + cw_bits_round_up(sizeof(cw_bits_arena), CW_BITS_LINE) +
                partition * layout->table_stride;
  return (cw_bits_entry*)(void*)table + id;
}
static inline uint64_t* cw_bits_words_of(const void* arena, const cw_bits_arena* layout,
                                         uint32_t id) {
  return (uint64_t*)(void*)((char*)arena + layout->ids_offset + (uint64_t)id * layout->id_stride);
}
#endif
