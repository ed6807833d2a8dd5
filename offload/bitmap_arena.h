/* Inside rows and arenas: what bitmap.c (the kernel) and bitmap_arena.c (who makes them) share. */
#ifndef CW_OFFLOAD_BITMAP_ARENA_H
#define CW_OFFLOAD_BITMAP_ARENA_H

#include "offload/bitmap.h"

enum { CW_BITS_IS_ARMED = 0x100 };

/* Constant after init. */
typedef struct {
  cw_bits_limits limits;
  uint32_t id_shift;     /* immediate >> id_shift is the id */
  uint32_t slot_mask;    /* immediate >> user_bits & slot_mask is the slot */
  uint32_t words_per_id; /* each id begins on a line */
  uint32_t words_offset; /* in bytes from the arena's first */
} cw_bits_arena;

/* Of an id. */
typedef struct {
  uint32_t tag;        /* CW_BITS_IS_ARMED | generation while armed, else 0 */
  uint32_t words_used; /* one beyond the highest that has a bit */
} cw_bits_life;

static inline uint64_t cw_bits_round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}
static inline cw_bits_life* cw_bits_lives(cw_bits_arena* arena) {
  return (cw_bits_life*)(void*)(arena + 1);
}
static inline uint64_t* cw_bits_words(cw_bits_arena* arena, uint32_t id) {
  uint64_t* const first = (uint64_t*)(void*)((char*)arena + arena->words_offset);
  return first + (uint64_t)id * arena->words_per_id;
}
/* From the row's first byte; 0: the partition has no such stream. */
static inline int64_t* cw_bits_arena_offsets(cw_bits_row* row) {
  return (int64_t*)(void*)(row + 1);
}

#endif
