/* The kernel. Freestanding: it calls nothing, and its atomics are 32 bits wide, which every target
 * has as instructions. */
#include "offload/bitmap.h"

#include "offload/bitmap_arena.h"

/* A record as one number: kind, generation, stream from above, and the immediate. */
typedef uint64_t __attribute__((may_alias)) raw_record;

static inline uint8_t kind_of(raw_record raw) { return (uint8_t)(raw >> 56); }
static inline uint16_t stream_of(raw_record raw) { return (uint16_t)(raw >> 32); }
static inline uint32_t tag_of(raw_record raw) {
  return CW_BITS_IS_ARMED | ((uint32_t)(raw >> 48) & 0xff);
}
static inline raw_record with_kind(raw_record raw, uint8_t kind) {
  return (raw & ~((uint64_t)0xff << 56)) | (uint64_t)kind << 56;
}

static inline uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* A word that packets of this burst set bits of: what the first of them has found out serves for
 * all, and one event tells of them. */
typedef struct {
  uint64_t key; /* what its packets have in common: the record without its lowest bits; 0: none */
  uint64_t taken, bits; /* that may not be set: they are already, or no slots; and that are new */
  uint64_t* word;
  cw_bits_life* life;
  uint32_t index; /* of the word within its message */
  uint32_t slots; /* of the word, from its first on; more than 64: all */
} open_word;

/* Packets come in order mostly, and out of it within a few words; powers of two. */
enum { OPEN_WORDS = 4 };

/* No record has such an upper half: of packets, or of anything. */
#define NONE ((uint64_t)1 << 32)

typedef struct {
  cw_bits_row* row;
  const raw_record* records;
  cw_bits_event* events;
  uint32_t records_mask, events_mask;
  uint32_t tail; /* of the events, with what is not published yet */
  /* Of the stream whose packets come. */
  uint64_t upper; /* a record's upper half, or NONE */
  uint32_t tag;   /* of the generation in it */
  uint32_t user_bits, key_shift, id_shift;
  uint32_t slot_mask; /* of the immediate, once it is shifted: the slot within its word */
  cw_bits_arena* arena;
  open_word open[OPEN_WORDS];
} serving;

static inline void tell(serving* s, raw_record about, uint8_t kind, uint64_t bits) {
  cw_bits_event* event = s->events + (s->tail++ & s->events_mask);
  *(raw_record*)(void*)&event->about = with_kind(about, kind);
  event->bits = bits;
}

static void end_word(serving* s, open_word* open) {
  if (open->key == 0) return;
  const raw_record first = open->key << s->key_shift;
  open->key = 0;
  if (open->bits == 0) return;
  *open->word |= open->bits;
  if (open->life->words_used <= open->index) open->life->words_used = open->index + 1;
  tell(s, first, CW_BITS_PLACED, open->bits);
}

static void end_words(serving* s) {
  for (uint32_t i = 0; i < OPEN_WORDS; ++i) end_word(s, s->open + i);
}

static inline cw_bits_arena* arena_of(cw_bits_row* row, raw_record raw) {
  const uint16_t stream = stream_of(raw);
  if (stream >= row->streams_max) return 0;
  const int64_t offset = cw_bits_arena_offsets(row)[stream];
  return offset == 0 ? 0 : (cw_bits_arena*)(void*)((char*)row + offset);
}

/* The first packet of a word. Returns 0, or the kind of event that refuses it. */
static uint8_t begin_word(serving* s, open_word* open, raw_record raw) {
  cw_bits_arena* arena = s->arena;
  const uint32_t immediate = (uint32_t)raw;
  const uint32_t id = immediate >> arena->id_shift;
  const uint32_t slot = immediate >> s->user_bits & arena->slot_mask;
  if (id >= arena->limits.ids || slot >= arena->limits.slots_max) return CW_BITS_OUT_OF_RANGE;
  cw_bits_life* life = cw_bits_lives(arena) + id;
  if (life->tag != s->tag) return CW_BITS_LATE;
  end_word(s, open);
  open->key = raw >> s->key_shift;
  open->life = life;
  open->index = slot / 64;
  open->word = cw_bits_words(arena, id) + open->index;
  open->slots = arena->limits.slots_max - open->index * 64;
  open->taken = *open->word | (open->slots < 64 ? ~(uint64_t)0 << open->slots : 0);
  open->bits = 0;
  return 0;
}

static void zero_words(uint64_t* words, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) words[i] = 0;
}

/* Returns the kind of event that answers it. */
static uint8_t control(cw_bits_row* row, raw_record raw) {
  cw_bits_arena* arena = arena_of(row, raw);
  if (arena == 0) return CW_BITS_OUT_OF_RANGE;
  const uint32_t id = (uint32_t)raw >> arena->id_shift;
  if (id >= arena->limits.ids) return CW_BITS_OUT_OF_RANGE;
  cw_bits_life* life = cw_bits_lives(arena) + id;
  const int is_known = life->tag == tag_of(raw);
  if (kind_of(raw) == CW_BITS_ARM && (life->tag == 0 || is_known)) {
    life->tag = tag_of(raw);
    return CW_BITS_ARMED;
  }
  if (kind_of(raw) != CW_BITS_CLOSE || !is_known) return CW_BITS_REFUSED;
  zero_words(cw_bits_words(arena, id), life->words_used);
  life->tag = life->words_used = 0;
  return CW_BITS_CLOSED;
}

/* Words are open under one stream's split of the immediate. */
static int enter_stream(serving* s, raw_record raw) {
  if (stream_of(raw) != (uint16_t)s->upper || s->upper == NONE) {
    end_words(s);
    s->upper = NONE;
    s->arena = arena_of(s->row, raw);
    if (s->arena == 0) return 0;
    s->user_bits = s->arena->limits.user_bits;
    s->id_shift = s->arena->id_shift;
    s->slot_mask = s->arena->slot_mask & 63;
    s->key_shift = s->user_bits + smaller(s->arena->limits.slot_bits, 6);
  }
  s->upper = raw >> 32;
  s->tag = tag_of(raw);
  return 1;
}

/* Not a packet, or not one of the stream and the generation of the one before. Returns whether it
 * is a packet of a stream. */
__attribute__((noinline)) static int turn_to(serving* s, raw_record raw) {
  if (kind_of(raw) != CW_BITS_PACKET) {
    end_words(s);
    tell(s, raw, control(s->row, raw), 0);
    return 0;
  }
  if (enter_stream(s, raw)) return 1;
  tell(s, raw, CW_BITS_OUT_OF_RANGE, 0);
  return 0;
}

static inline void run(serving* s, raw_record raw) {
  if (raw >> 32 != s->upper && !turn_to(s, raw)) return;
  const uint64_t key = raw >> s->key_shift;
  const uint32_t id = (uint32_t)raw >> s->id_shift;
  open_word* open = s->open + (((uint32_t)key ^ id) & (OPEN_WORDS - 1));
  if (open->key != key) {
    const uint8_t kind = begin_word(s, open, raw);
    if (kind != 0) return tell(s, raw, kind, 0);
  }
  const uint32_t slot = (uint32_t)raw >> s->user_bits & s->slot_mask;
  const uint64_t bit = (uint64_t)1 << slot;
  if (open->taken & bit) {
    return tell(s, raw, slot < open->slots ? CW_BITS_DUPLICATE : CW_BITS_OUT_OF_RANGE, 0);
  }
  open->taken |= bit;
  open->bits |= bit;
}

static inline serving serving_of(cw_bits_row* row) {
  serving s;
  s.row = row;
  s.records = (const raw_record*)(const void*)((const char*)row + row->records_offset);
  s.events = (cw_bits_event*)(void*)((char*)row + row->events_offset);
  s.records_mask = row->records_capacity - 1;
  s.events_mask = row->events_capacity - 1;
  s.tail = row->events_tail;
  s.upper = NONE;
  s.tag = 0;
  for (uint32_t i = 0; i < OPEN_WORDS; ++i) s.open[i].key = 0;
  return s;
}

uint32_t cw_bits_serve(cw_bits_row* row) {
  if (row->landings != 0) return cw_datagrams_serve(row);
  const uint32_t head = row->records_head;
  const uint32_t waiting = __atomic_load_n(&row->records_tail, __ATOMIC_ACQUIRE) - head;
  if (waiting == 0) return 0;
  serving s = serving_of(row);
  const uint32_t untaken = s.tail - __atomic_load_n(&row->events_head, __ATOMIC_ACQUIRE);
  /* A record makes one event at most: it is told itself, or it is one bit of a word's. */
  const uint32_t count = smaller(smaller(waiting, CW_BITS_BURST), row->events_capacity - untaken);
  for (uint32_t i = 0; i < count; ++i) run(&s, s.records[(head + i) & s.records_mask]);
  end_words(&s);
  __atomic_store_n(&row->events_tail, s.tail, __ATOMIC_RELEASE);
  __atomic_store_n(&row->records_head, head + count, __ATOMIC_RELEASE);
  return count;
}
