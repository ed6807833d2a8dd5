#include "offload/bitmap_arena.h"

static int are_sound(const cw_bits_limits* l) {
  if (l->ids == 0 || l->partitions == 0 || l->data_slots_max == 0 || l->chunk_slots_min == 0) {
    return 0;
  }
  if (l->slot_bits == 0 || l->slot_bits > CW_BITS_SLOT_BITS_MAX) return 0;
  const uint32_t low_bits = (uint32_t)l->slot_bits + l->user_bits;
  if (low_bits >= 32 || l->ids > (uint64_t)1 << (32 - low_bits)) return 0;
  return (uint64_t)l->data_slots_max + l->repair_slots_max <= (uint64_t)1 << l->slot_bits;
}

/* Every id begins on a line of its own, so that plain writers of neighbouring ids do not meet. */
static cw_bits_arena lay_out(const cw_bits_limits* limits) {
  const uint32_t chunks = (limits->data_slots_max - 1) / limits->chunk_slots_min + 1;
  cw_bits_arena a;
  a.limits = *limits;
  a.id_shift = (uint32_t)limits->slot_bits + limits->user_bits;
  a.slot_mask = ((uint32_t)1 << limits->slot_bits) - 1;
  a.repair_word = cw_bits_words(limits->data_slots_max);
  const uint32_t placed_words = a.repair_word + cw_bits_words(limits->repair_slots_max);
  a.claimed_word = limits->claimed_apart ? placed_words : 0;
  a.chunk_word = a.claimed_word + placed_words;
  a.count_word = a.chunk_word + cw_bits_words(chunks);
  a.id_stride = (uint32_t)cw_bits_round_up(
      a.count_word * (uint64_t)sizeof(uint64_t) + chunks * (uint64_t)sizeof(uint32_t),
      CW_BITS_LINE);
  a.table_stride = cw_bits_round_up((uint64_t)limits->ids * sizeof(cw_bits_entry), CW_BITS_LINE);
  a.ids_offset =
      cw_bits_round_up(sizeof(cw_bits_arena), CW_BITS_LINE) + limits->partitions * a.table_stride;
  return a;
}

size_t cw_bits_size(const cw_bits_limits* limits) {
  if (!are_sound(limits)) return 0;
  const cw_bits_arena a = lay_out(limits);
  return a.ids_offset + (size_t)limits->ids * a.id_stride;
}

/* Atomic stores, because a poller may still look at the bits of a message that is gone. */
static void zero_words(uint64_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i) __atomic_store_n(words + i, 0, __ATOMIC_RELAXED);
}

int cw_bits_init(void* arena, const cw_bits_limits* limits) {
  const size_t bytes = cw_bits_size(limits);
  if (bytes == 0 || (uintptr_t)arena % CW_BITS_LINE != 0) return -1;
  uint64_t* words = arena;
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) {
    if (words[i] != 0) words[i] = 0; /* what is zero and untouched stays so */
  }
  *(cw_bits_arena*)arena = lay_out(limits);
  return 0;
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

int cw_bits_reset(void* arena, uint32_t id) {
  const cw_bits_arena* a = arena;
  if (id >= a->limits.ids) return -1;
  uint32_t data_used = 0, repair_used = 0, chunks_used = 0;
  for (uint32_t p = 0; p < a->limits.partitions; ++p) {
    const cw_bits_entry* entry = cw_bits_entry_of(arena, a, p, id);
    if (entry->tag != 0) return -1;
    data_used = larger(data_used, entry->data_used);
    repair_used = larger(repair_used, entry->repair_used);
    if (entry->data_used > 0) {
      chunks_used = larger(chunks_used, (entry->data_used - 1) / entry->chunk_slots + 1);
    }
  }
  uint64_t* words = cw_bits_words_of(arena, a, id);
  zero_words(words, cw_bits_words(data_used));
  zero_words(words + a->repair_word, cw_bits_words(repair_used));
  zero_words(words + a->claimed_word, cw_bits_words(data_used));
  zero_words(words + a->claimed_word + a->repair_word, cw_bits_words(repair_used));
  zero_words(words + a->chunk_word, cw_bits_words(chunks_used));
  zero_words(words + a->count_word, (chunks_used + 1) / 2); /* two counts to a word */
  return 0;
}

const uint64_t* cw_bits_data_words(const void* arena, uint32_t id) {
  return cw_bits_words_of(arena, arena, id);
}
const uint64_t* cw_bits_repair_words(const void* arena, uint32_t id) {
  const cw_bits_arena* a = arena;
  return cw_bits_words_of(arena, a, id) + a->repair_word;
}
const uint64_t* cw_bits_chunk_words(const void* arena, uint32_t id) {
  const cw_bits_arena* a = arena;
  return cw_bits_words_of(arena, a, id) + a->chunk_word;
}
