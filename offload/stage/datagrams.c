/* Freestanding, as bitmap.c is. What comes off the wire is compared with what is expected in the
 * wire's order of bytes, since to turn words round costs more here than all else does. */
#include "offload/stage/datagrams.h"

#include "offload/bitmap_arena.h"

enum {
  HEADER_BYTES = 32,
  VERSION_1 = 1,
  WORD_SLOTS = 64,
  LAST_SLOT = 1,
  KIND_MULTICAST = 1,
  KIND_LAST = 3
};

/* What each stripe writes alone, on a line of its own. */
typedef struct {
  uint32_t is_open __attribute__((aligned(64)));
} stripe_line;

struct cw_landing {
  /* Constant. */
  cw_datagrams_member member __attribute__((aligned(64)));
  uint32_t slots_max, stripes, chunk_slots;
  uint32_t words_per_stripe; /* whole lines, so that no two stripes share one */
  uint32_t chunks_offset, words_offset;
  uint32_t wire_group_key, wire_own_key; /* as they come in headers */
  /* The owner's while no stripe has it open, and then constant. */
  cw_datagrams_shape shape __attribute__((aligned(64)));
  uint32_t slots, wire_step, wire_part_slots;
  uint64_t expected[3]; /* a multicast header's first words, but for flags and source */
  int64_t memory_offset;
  stripe_line lines[CW_DATAGRAMS_STRIPES_MAX];
};

static inline uint32_t* chunk_words(cw_landing* landing) {
  return (uint32_t*)(void*)((char*)landing + landing->chunks_offset);
}
static inline uint64_t* words_of(cw_landing* landing, uint32_t stripe) {
  uint64_t* const first = (uint64_t*)(void*)((char*)landing + landing->words_offset);
  return first + (uint64_t)stripe * landing->words_per_stripe;
}

static uint32_t words_per_stripe(uint32_t slots_max, uint32_t stripes) {
  const uint32_t words = (slots_max + WORD_SLOTS - 1) / WORD_SLOTS;
  return (uint32_t)cw_bits_round_up((words + stripes - 1) / stripes, CW_BITS_LINE / 8);
}

size_t cw_landing_size(uint32_t slots_max, uint32_t stripes, uint32_t chunk_slots) {
  if (slots_max == 0 || slots_max > (uint32_t)1 << CW_BITS_SLOT_BITS_MAX) return 0;
  if (stripes == 0 || stripes > CW_DATAGRAMS_STRIPES_MAX) return 0;
  if (chunk_slots == 0 || chunk_slots > WORD_SLOTS || (chunk_slots & (chunk_slots - 1)) != 0) {
    return 0;
  }
  const size_t chunk_bytes = (slots_max / chunk_slots / 32 + 1) * sizeof(uint32_t);
  return sizeof(cw_landing) + cw_bits_round_up(chunk_bytes, CW_BITS_LINE) +
         (size_t)stripes * words_per_stripe(slots_max, stripes) * sizeof(uint64_t);
}

/* Without an instruction for it the compiler's own is a call. */
static inline uint32_t turned(uint32_t v) {
  return v << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24;
}

void cw_landing_init(cw_landing* landing, const cw_datagrams_member* member, uint32_t slots_max,
                     uint32_t stripes, uint32_t chunk_slots) {
  const size_t bytes = cw_landing_size(slots_max, stripes, chunk_slots);
  landing->member = *member;
  landing->wire_group_key = turned(member->group_key);
  landing->wire_own_key = turned(member->own_key);
  landing->slots_max = slots_max;
  landing->stripes = stripes;
  landing->chunk_slots = chunk_slots;
  landing->words_per_stripe = words_per_stripe(slots_max, stripes);
  landing->chunks_offset = sizeof(cw_landing);
  landing->words_offset =
      (uint32_t)(bytes - (size_t)stripes * landing->words_per_stripe * sizeof(uint64_t));
}

int cw_landing_shape(cw_landing* landing, const cw_datagrams_shape* shape, const void* memory) {
  const uint64_t slots = (uint64_t)shape->part_slots * shape->sources;
  const int is_whole = shape->payload_bytes != 0 && shape->last_bytes != 0 &&
                       shape->last_bytes <= shape->payload_bytes;
  if (slots == 0 || slots > landing->slots_max || !is_whole) return -1;
  landing->shape = *shape;
  landing->slots = (uint32_t)slots;
  landing->memory_offset = (const char*)memory - (const char*)landing;
  landing->wire_step = turned(shape->step);
  landing->wire_part_slots = turned(shape->part_slots);
  landing->expected[0] = (uint64_t)landing->wire_group_key << 32 | VERSION_1 << 4 | KIND_MULTICAST;
  landing->expected[1] = landing->wire_step;
  landing->expected[2] = landing->wire_part_slots;
  uint32_t* const chunks = chunk_words(landing);
  for (uint32_t i = 0; i <= landing->slots_max / landing->chunk_slots / 32; ++i) chunks[i] = 0;
  return 0;
}

int cw_landing_has_chunk(const cw_landing* landing, uint32_t chunk) {
  const uint32_t* const words =
      (const uint32_t*)(const void*)((const char*)landing + landing->chunks_offset);
  return __atomic_load_n(words + chunk / 32, __ATOMIC_ACQUIRE) >> chunk % 32 & 1;
}

int cw_landing_has_slot(const cw_landing* landing, uint32_t slot) {
  const uint32_t word = slot / WORD_SLOTS;
  const uint64_t* const first =
      (const uint64_t*)(const void*)((const char*)landing + landing->words_offset);
  return first[(uint64_t)(word % landing->stripes) * landing->words_per_stripe +
               word / landing->stripes] >>
             slot % WORD_SLOTS &
         1;
}

void cw_datagrams_row(cw_bits_row* row, uint32_t stripe, uint32_t landings, const void* buffers,
                      uint32_t stride) {
  row->stripe = stripe;
  row->landings = landings;
  row->buffers_stride = stride;
  row->buffers_offset = (const char*)buffers - (const char*)row;
}

/* ---- a burst ---- */

/* Bytes of the wire, on 8 of them, as buffers lie. */
typedef uint64_t __attribute__((may_alias)) wire64;
typedef uint32_t __attribute__((may_alias)) wire32;

/* Chunks that were made whole, in words of theirs: told once their events are. */
enum { HELD_MAX = 8 };

typedef struct {
  cw_bits_row* row;
  const uint8_t* buffers;
  cw_bits_event* events;
  uint32_t events_mask, tail;
  uint32_t held_count;
  uint32_t* held_words[HELD_MAX];
  uint32_t held_bits[HELD_MAX];
} burst;

static void publish(burst* b) {
  __atomic_store_n(&b->row->events_tail, b->tail, __ATOMIC_RELEASE);
  for (uint32_t i = 0; i < b->held_count; ++i) {
    __atomic_fetch_or(b->held_words[i], b->held_bits[i], __ATOMIC_RELEASE);
  }
  b->held_count = 0;
}

/* A record as one number: kind, generation, stream from above, and the immediate. */
typedef uint64_t __attribute__((may_alias)) raw_record;

static inline void tell(burst* b, raw_record about, uint8_t kind, uint64_t bits) {
  cw_bits_event* const event = b->events + (b->tail++ & b->events_mask);
  *(raw_record*)(void*)&event->about = (about & ~((uint64_t)0xff << 56)) | (uint64_t)kind << 56;
  event->bits = bits;
}

static inline cw_landing* landing_of(cw_bits_row* row, uint32_t number) {
  return (cw_landing*)(void*)((char*)row + cw_bits_arena_offsets(row)[number]);
}

/* As check() in dataplane/wire/group/check.h, in its order. Returns 0, or the reason. */
__attribute__((noinline)) static uint8_t why_not(const cw_landing* landing, uint32_t stripe,
                                                 uint32_t immediate, const uint8_t* header,
                                                 uint32_t bytes) {
  const wire32* const words = (const wire32*)(const void*)header;
  const uint32_t slot = immediate & 0xffffff, kind = header[0] & 15;
  if (header[0] >> 4 != 1) return CW_DATAGRAMS_VERSION;
  if (kind < KIND_MULTICAST || kind > KIND_LAST) return CW_DATAGRAMS_KIND;
  if (kind == KIND_MULTICAST && words[3] != 0) return CW_DATAGRAMS_KIND;
  const uint32_t key = kind == KIND_MULTICAST ? landing->wire_group_key : landing->wire_own_key;
  if (words[1] != key) return CW_DATAGRAMS_KEY;
  const uint32_t source = (uint32_t)header[2] << 8 | header[3];
  if (source == landing->member.rank) return CW_DATAGRAMS_OWN;
  if (source >= landing->member.members) return CW_DATAGRAMS_SOURCE;
  if (immediate >> 24 != header[11]) return CW_DATAGRAMS_STEP;
  /* Else what it expects is not to be looked at: the owner may write it. */
  if (!landing->lines[stripe].is_open) return CW_DATAGRAMS_CLOSED;
  if (words[2] != landing->wire_step || words[3] != 0) return CW_DATAGRAMS_CLOSED;
  if (slot >= landing->slots || words[4] != landing->wire_part_slots) return CW_DATAGRAMS_SLOT;
  if (slot / WORD_SLOTS % landing->stripes != stripe) return CW_DATAGRAMS_SLOT;
  const uint32_t part = slot / landing->shape.part_slots;
  const int is_last = slot - part * landing->shape.part_slots == landing->shape.part_slots - 1;
  if (is_last != (header[1] & LAST_SLOT)) return CW_DATAGRAMS_SLOT;
  if (words[5] != 0 && turned(words[5]) < landing->shape.part_slots) return CW_DATAGRAMS_SLOT;
  if (kind == KIND_MULTICAST && header[29] == 0 && source != landing->shape.first_source + part) {
    return CW_DATAGRAMS_SLOT;
  }
  const uint32_t whole = is_last ? landing->shape.last_bytes : landing->shape.payload_bytes;
  return bytes - HEADER_BYTES == whole ? 0 : CW_DATAGRAMS_LENGTH;
}

/* The event of a chunk's last slot is not told yet. */
static inline void hold(burst* b, uint32_t* word, uint32_t bit) {
  const uint32_t last = b->held_count - 1;
  if (b->held_count != 0 && b->held_words[last] == word) {
    b->held_bits[last] |= bit;
    return;
  }
  b->held_words[b->held_count] = word;
  b->held_bits[b->held_count++] = bit;
}

/* Numbers are as wide as registers here and below: to cut them to 32 bits takes instructions.
 * Whether it is what nearly all are: multicast by its source, and right. All else is asked one by
 * one. `part` and `nth` are the slot's. */
static inline int is_plain(const cw_landing* landing, uint64_t stripe, uint64_t immediate,
                           const wire64* words, uint64_t bytes, uint64_t part, uint64_t nth) {
  const uint64_t slot = immediate & 0xffffff;
  const uint64_t first = words[0];
  const uint64_t source = ((uint64_t)(first >> 16) & 0xff) << 8 | ((uint64_t)(first >> 24) & 0xff);
  const uint64_t is_last = nth == landing->shape.part_slots - 1;
  const uint64_t whole = is_last ? landing->shape.last_bytes : landing->shape.payload_bytes;
  return (first & 0xffffffff000000ff) == landing->expected[0] && words[1] == landing->expected[1] &&
         words[2] == landing->expected[2] && slot < landing->slots &&
         slot / WORD_SLOTS % landing->stripes == stripe &&
         immediate >> 24 == (landing->shape.step & 0xff) &&
         ((uint64_t)(first >> 8) & LAST_SLOT) == (uint64_t)is_last &&
         source == landing->shape.first_source + part && source != landing->member.rank &&
         source < landing->member.members && bytes - HEADER_BYTES == whole;
}

/* False: it was claimed before. */
static inline int try_claim(burst* b, cw_landing* landing, uint64_t slot) {
  const uint64_t number = slot / WORD_SLOTS, bit = slot % WORD_SLOTS;
  uint64_t* const word = words_of(landing, b->row->stripe) + number / landing->stripes;
  const uint64_t before = *word, now = before | (uint64_t)1 << bit;
  if (now == before) return 0;
  *word = now;
  const uint64_t first = slot & ~((uint64_t)landing->chunk_slots - 1);
  const uint64_t end = first + landing->chunk_slots;
  const uint64_t used = (end < landing->slots ? end : landing->slots) - first;
  const uint64_t mask = ~(uint64_t)0 >> (WORD_SLOTS - used) << first % WORD_SLOTS;
  if ((now & mask) != mask) return 1;
  const uint64_t chunk = first / landing->chunk_slots;
  hold(b, chunk_words(landing) + chunk / 32, (uint32_t)1 << chunk % 32);
  return 1;
}

/* Both begin on 8 mostly; a part of odd length moves those behind it. */
static void copy(char* to, const char* from, uint32_t bytes) {
  typedef uint64_t __attribute__((may_alias, aligned(1))) any64;
  uint32_t at = 0;
  if ((uintptr_t)to % 8 == 0) {
    for (; at + 8 <= bytes; at += 8) {
      *(wire64*)(void*)(to + at) = *(const wire64*)(const void*)(from + at);
    }
  } else {
    for (; at + 8 <= bytes; at += 8) *(any64*)(void*)(to + at) = *(const any64*)(from + at);
  }
  for (; at < bytes; ++at) to[at] = from[at];
}

static inline void take(burst* b, raw_record record) {
  cw_bits_row* const row = b->row;
  const uint64_t bytes = record >> 48, immediate = record & 0xffffffff;
  const uint64_t slot = immediate & 0xffffff;
  const uint8_t* const header = b->buffers + (record >> 32 & 0xffff) * row->buffers_stride;
  if (bytes < HEADER_BYTES) return tell(b, record, CW_DATAGRAMS_SHORT, 0);
  cw_landing* const landing = landing_of(row, header[11] & (row->landings - 1));
  const cw_datagrams_shape* const shape = &landing->shape;
  uint64_t part = 0, nth = 0;
  int is_right = 0;
  if (landing->lines[row->stripe].is_open) {
    part = slot / shape->part_slots;
    nth = slot - part * shape->part_slots;
    is_right = is_plain(landing, row->stripe, immediate, (const wire64*)(const void*)header, bytes,
                        part, nth);
  }
  if (!is_right) {
    const uint8_t why = why_not(landing, row->stripe, (uint32_t)immediate, header, (uint32_t)bytes);
    if (why != 0) return tell(b, record, why, 0);
  }
  if (!try_claim(b, landing, slot)) return tell(b, record, CW_DATAGRAMS_DUPLICATE, 0);
  const int64_t offset = landing->memory_offset + (int64_t)(part * shape->part_bytes) +
                         (int64_t)(nth * shape->payload_bytes);
  if (shape->is_copied_by_others) return tell(b, record, CW_DATAGRAMS_COPY, (uint64_t)offset);
  copy((char*)landing + offset, (const char*)header + HEADER_BYTES, (uint32_t)bytes - HEADER_BYTES);
  tell(b, record, CW_DATAGRAMS_PLACED, bytes - HEADER_BYTES);
}

static void control(burst* b, raw_record record) {
  const uint32_t number = record >> 32 & 0xffff;
  const uint8_t kind = (uint8_t)(record >> 56);
  if (number < b->row->landings) {
    cw_landing* const landing = landing_of(b->row, number);
    const int is_open = kind == CW_DATAGRAMS_OPEN;
    uint64_t* const words = words_of(landing, b->row->stripe);
    for (uint32_t i = 0; is_open && i < landing->words_per_stripe; ++i) words[i] = 0;
    landing->lines[b->row->stripe].is_open = (uint32_t)is_open;
  }
  tell(b, record, kind, 0);
}

uint32_t cw_datagrams_serve(cw_bits_row* row) {
  const uint32_t head = row->records_head, mask = row->records_capacity - 1;
  const uint32_t waiting = __atomic_load_n(&row->records_tail, __ATOMIC_ACQUIRE) - head;
  burst b;
  b.row = row;
  b.buffers = (const uint8_t*)row + row->buffers_offset;
  b.events = (cw_bits_event*)(void*)((char*)row + row->events_offset);
  b.events_mask = row->events_capacity - 1;
  b.tail = row->events_tail;
  b.held_count = 0;
  const uint32_t untaken = b.tail - __atomic_load_n(&row->events_head, __ATOMIC_ACQUIRE);
  const uint32_t room = row->events_capacity - untaken;
  uint32_t count = waiting < CW_BITS_BURST ? waiting : CW_BITS_BURST;
  if (count > room) count = room;
  const raw_record* const records =
      (const raw_record*)(const void*)((const char*)row + row->records_offset);
  for (uint32_t i = 0; i < count; ++i) {
    const raw_record record = records[(head + i) & mask];
    if (record >> 63 == 0) {
      take(&b, record);
    } else {
      control(&b, record);
    }
    if (b.held_count == HELD_MAX) publish(&b);
  }
  publish(&b);
  __atomic_store_n(&row->records_head, head + count, __ATOMIC_RELEASE);
  return count;
}
