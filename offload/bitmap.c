/* The kernel. Freestanding: it calls nothing, and its atomics are 32 bits wide, which every target
 * has as instructions. */
#include "offload/bitmap.h"

#include "offload/bitmap_arena.h"

/* A record as one number: the immediate is its lower half. */
typedef uint64_t word_of_record;
static inline word_of_record read_record(const cw_bits_record* record) {
  word_of_record raw;
  __builtin_memcpy(&raw, record, sizeof(raw));
  return raw;
}
static inline uint8_t kind_of(word_of_record raw) { return (uint8_t)(raw >> 56); }
static inline uint16_t stream_of(word_of_record raw) { return (uint16_t)(raw >> 32); }
static inline uint32_t tag_of(word_of_record raw) {
  return CW_BITS_ARMED | ((uint32_t)(raw >> 48) & 0xff);
}
/* Kind in the upper byte, all else as it was. */
static inline word_of_record with_kind(word_of_record raw, uint8_t kind) {
  return (raw & ~((uint64_t)0xff << 56)) | (uint64_t)kind << 56;
}

/* Packets that set bits of the same word come in rows mostly: what the first of them has found out
 * serves for all, and one event tells of them. */
typedef struct {
  word_of_record first; /* of the word, with all that its packets have in common */
  word_of_record same;  /* the bits of a record that make it one of this row; 0: there is no row */
  uint64_t* word;
  uint64_t taken, bits; /* that may not be set: they are already, or no slots; and that are new */
  cw_bits_life* life;
  uint32_t index; /* of the word within its message */
  uint32_t slots; /* of the word, from its first on; more than 64: all */
  uint32_t user_bits;
  uint32_t slot_mask; /* of the immediate, once it is shifted: the slot within the word */
} same_word;

typedef struct {
  cw_bits_row* row;
  uint32_t events; /* the tail, with what is not published yet */
  same_word run;
} serving;

static inline void tell(serving* s, word_of_record about, uint8_t kind, uint64_t bits) {
  cw_bits_event* event = cw_bits_event_at(s->row, s->events++);
  const word_of_record told = with_kind(about, kind);
  __builtin_memcpy(&event->about, &told, sizeof(told));
  event->bits = bits;
}

static void end_run(serving* s) {
  same_word* run = &s->run;
  if (run->same == 0) return;
  run->same = 0;
  if (run->bits == 0) return;
  *run->word |= run->bits;
  if (run->life->words_used <= run->index) run->life->words_used = run->index + 1;
  tell(s, run->first, CW_BITS_PLACED, run->bits);
}

static inline cw_bits_arena* arena_of(cw_bits_row* row, word_of_record raw) {
  const uint16_t stream = stream_of(raw);
  if (stream >= row->streams_max) return 0;
  const int64_t offset = cw_bits_arena_offsets(row)[stream];
  return offset == 0 ? 0 : (cw_bits_arena*)(void*)((char*)row + offset);
}

/* A packet of another word than the last one's. Returns 0, or the kind of event that refuses it. */
__attribute__((noinline)) static uint8_t begin_run(serving* s, word_of_record raw) {
  end_run(s);
  cw_bits_arena* arena = arena_of(s->row, raw);
  if (arena == 0) return CW_BITS_OUT_OF_RANGE;
  const uint32_t immediate = (uint32_t)raw;
  const uint32_t id = immediate >> arena->id_shift;
  const uint32_t slot = immediate >> arena->limits.user_bits & arena->slot_mask;
  if (id >= arena->limits.ids || slot >= arena->limits.slots_max) return CW_BITS_OUT_OF_RANGE;
  cw_bits_life* life = cw_bits_lives(arena) + id;
  if (life->tag != tag_of(raw)) return CW_BITS_LATE;
  same_word* run = &s->run;
  run->user_bits = arena->limits.user_bits;
  run->slot_mask = arena->slot_mask & 63;
  run->same = ~((((uint64_t)run->slot_mask + 1) << run->user_bits) - 1);
  run->first = raw & run->same;
  run->life = life;
  run->index = slot / 64;
  run->word = cw_bits_words(arena, id) + run->index;
  run->slots = arena->limits.slots_max - run->index * 64;
  run->taken = *run->word | (run->slots < 64 ? ~(uint64_t)0 << run->slots : 0);
  run->bits = 0;
  return 0;
}

static void zero_words(uint64_t* words, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) words[i] = 0;
}

/* Returns the kind of event that answers it; 0: none, which an arm that did something has. */
static uint8_t control(cw_bits_row* row, word_of_record raw) {
  cw_bits_arena* arena = arena_of(row, raw);
  if (arena == 0) return CW_BITS_OUT_OF_RANGE;
  const uint32_t id = (uint32_t)raw >> arena->id_shift;
  if (id >= arena->limits.ids) return CW_BITS_OUT_OF_RANGE;
  cw_bits_life* life = cw_bits_lives(arena) + id;
  const int is_known = life->tag == tag_of(raw);
  if (kind_of(raw) == CW_BITS_ARM && (life->tag == 0 || is_known)) {
    life->tag = tag_of(raw);
    return 0;
  }
  if (kind_of(raw) != CW_BITS_CLOSE || !is_known) return CW_BITS_REFUSED;
  zero_words(cw_bits_words(arena, id), life->words_used);
  life->tag = life->words_used = 0;
  return CW_BITS_CLOSED;
}

static void run_control(serving* s, word_of_record raw) {
  end_run(s);
  const uint8_t kind = control(s->row, raw);
  if (kind != 0) tell(s, raw, kind, 0);
}

static inline uint32_t slot_within(const same_word* run, word_of_record raw) {
  return (uint32_t)raw >> run->user_bits & run->slot_mask;
}

static uint8_t why_taken(const same_word* run, word_of_record raw) {
  return slot_within(run, raw) < run->slots ? CW_BITS_DUPLICATE : CW_BITS_OUT_OF_RANGE;
}

static inline void run_packet(serving* s, word_of_record raw) {
  same_word* run = &s->run;
  if (run->same == 0 || ((raw ^ run->first) & run->same) != 0) {
    const uint8_t kind = begin_run(s, raw);
    if (kind != 0) return tell(s, raw, kind, 0);
  }
  const uint64_t bit = (uint64_t)1 << slot_within(run, raw);
  if ((run->taken | run->bits) & bit) return tell(s, raw, why_taken(run, raw), 0);
  run->bits |= bit;
}

static inline uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

uint32_t cw_bits_serve(cw_bits_row* row) {
  const uint32_t head = row->records_head;
  const uint32_t waiting = __atomic_load_n(&row->records_tail, __ATOMIC_ACQUIRE) - head;
  if (waiting == 0) return 0;
  serving s = {row, row->events_tail, {0}};
  const uint32_t untaken = s.events - __atomic_load_n(&row->events_head, __ATOMIC_ACQUIRE);
  /* A record makes one event at most: it is told itself, or it is one bit of a row's. */
  const uint32_t count =
      smaller(smaller(waiting, CW_BITS_BURST), row->events_capacity - untaken);
  for (uint32_t i = 0; i < count; ++i) {
    const word_of_record raw = read_record(cw_bits_record_at(row, head + i));
    if (kind_of(raw) == CW_BITS_PACKET) {
      run_packet(&s, raw);
    } else {
      run_control(&s, raw);
    }
  }
  end_run(&s);
  __atomic_store_n(&row->events_tail, s.events, __ATOMIC_RELEASE);
  __atomic_store_n(&row->records_head, head + count, __ATOMIC_RELEASE);
  return count;
}
