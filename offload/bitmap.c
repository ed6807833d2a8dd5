/* The kernel, compiled twice: CW_BITS_SHARED 0 (one writer per id, plain operations) and 1
 * (several, atomic operations). Freestanding: it calls nothing, and its atomics are 32 and 64 bits
 * wide, which every target has as instructions. */
#include "offload/bitmap_arena.h"

#if CW_BITS_SHARED
#define VARIANT(name) name##_shared
#else
#define VARIANT(name) name##_lane
#endif

/* ---- the operations in which the two variants differ ---- */

/* Sets bits, releasing what was written before; returns the word as it was. */
static inline uint64_t set_bits(uint64_t* word, uint64_t bits) {
#if CW_BITS_SHARED
  return __atomic_fetch_or(word, bits, __ATOMIC_ACQ_REL);
#else
  /* Readers are elsewhere even when the writer is one: the store releases. */
  const uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
  if ((old & bits) != bits) __atomic_store_n(word, old | bits, __ATOMIC_RELEASE);
  return old;
#endif
}

/* Adds slots to a chunk's count and returns the sum. Acquire and release: the partition that brings
 * the last slot publishes for the others, so it must have seen all they placed. */
static inline uint32_t count_slots(uint32_t* count, uint32_t slots) {
#if CW_BITS_SHARED
  return __atomic_add_fetch(count, slots, __ATOMIC_ACQ_REL);
#else
  return *count += slots;
#endif
}

/* The only place that tells the host of a chunk; false when it has been told. Where the chunk bits
 * lie beyond a bus, as on a DPA, this becomes a window write, a fence and a doorbell. */
static inline int publish(uint64_t* chunk_word, uint64_t bit) {
  return (set_bits(chunk_word, bit) & bit) == 0;
}

/* Between a bit of one's own and a look at all: of two partitions that bring the last two slots,
 * one sees both. */
static inline void settle_bits(void) {
#if CW_BITS_SHARED
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* ---- where things are ---- */

/* slot / chunk_slots as a multiplication: the inverse is 2^40 / chunk_slots rounded up, and with
 * slot < 2^24 and chunk_slots < 2^16 the error, slot x (chunk_slots - 1), stays below 2^40. */
static inline uint64_t inverse_of(uint32_t chunk_slots) {
  return (((uint64_t)1 << 40) + chunk_slots - 1) / chunk_slots;
}
static inline uint32_t chunk_of(const cw_bits_entry* entry, uint32_t slot) {
  return (uint32_t)((uint64_t)slot * entry->chunk_inverse >> 40);
}
/* One beyond a chunk's last slot; the last chunk of a message may have fewer than the others. */
static inline uint32_t chunk_end(const cw_bits_entry* entry, uint32_t chunk) {
  const uint64_t end = ((uint64_t)chunk + 1) * entry->chunk_slots;
  return end < entry->data_slots ? (uint32_t)end : entry->data_slots;
}

static inline int is_first_of_chunk(const cw_bits_entry* entry, uint32_t slot) {
  return slot == chunk_of(entry, slot) * entry->chunk_slots;
}

/* One partition's sight of an arena. Whoever runs many records hands in a copy of the layout, so
 * that the compiler keeps it in registers although every store into the arena might be one into its
 * header; for a single packet the arena's own is cheaper. */
typedef struct {
  const cw_bits_arena* layout;
  char* ids;
  cw_bits_entry* entries;
} sight;

static inline sight sight_of(void* arena, const cw_bits_arena* layout, uint32_t partition) {
  const sight s = {layout, (char*)arena + layout->ids_offset,
                   cw_bits_entry_of(arena, layout, partition, 0)};
  return s;
}
static inline uint64_t* words_of(const sight* s, uint32_t id) {
  return (uint64_t*)(void*)(s->ids + (uint64_t)id * s->layout->id_stride);
}
static inline uint32_t id_of(const sight* s, const cw_bits_record* r) {
  return r->immediate >> s->layout->id_shift;
}
static inline uint32_t slot_of(const sight* s, const cw_bits_record* r) {
  return r->immediate >> s->layout->limits.user_bits & s->layout->slot_mask;
}
static inline int is_armed(const cw_bits_entry* entry, const cw_bits_record* r) {
  return entry->tag == (CW_BITS_ARMED | (uint32_t)r->generation);
}

/* Not inlined: most packets tell nothing, and their way should be short. */
__attribute__((noinline)) static uint32_t tell(cw_bits_event* event, uint8_t kind,
                                               const cw_bits_record* r, uint32_t id,
                                               uint32_t index) {
  event->id = id;
  event->index = index;
  event->channel = r->kind == CW_BITS_ARM ? 0 : r->channel;
  event->generation = r->generation;
  event->kind = kind;
  return 1;
}

/* ---- claim and place ---- */

static inline uint8_t claim(const sight* s, const cw_bits_record* r, cw_bits_spot* spot) {
  const uint32_t id = id_of(s, r), slot = slot_of(s, r);
  if (id >= s->layout->limits.ids) return CW_BITS_OUT_OF_RANGE;
  cw_bits_entry* entry = s->entries + id;
  if (!is_armed(entry, r)) return CW_BITS_LATE;
  uint32_t* used = &entry->data_used;
  uint32_t index = slot, bit = slot;
  spot->chunk = chunk_of(entry, slot);
  if (slot >= entry->data_end) {
    index = slot - entry->cut; /* below the cut this wraps to a number no limit reaches */
    if (index >= entry->repair_slots) return CW_BITS_OUT_OF_RANGE;
    used = &entry->repair_used;
    bit = s->layout->repair_word * 64 + index;
    spot->chunk = UINT32_MAX;
  }
  const uint64_t mask = (uint64_t)1 << bit % 64;
  if (set_bits(words_of(s, id) + s->layout->claimed_word + bit / 64, mask) & mask) {
    return CW_BITS_DUPLICATE;
  }
  *used = *used > index ? *used : index + 1;
  spot->id = id;
  spot->bit = bit;
  return CW_BITS_NONE;
}

/* Whether all of [first, end) is in. */
static int is_in(const uint64_t* words, uint32_t first, uint32_t end) {
  for (uint32_t slot = first; slot < end; slot = slot / 64 * 64 + 64) {
    const uint32_t left = end - slot / 64 * 64;
    uint64_t bits = ~(uint64_t)0 << slot % 64;
    if (left < 64) bits &= ((uint64_t)1 << left) - 1;
    if (bits & ~cw_bits_load(words + slot / 64)) return 0;
  }
  return 1;
}

/* The length ends a message within a chunk: that is whole without the slots behind, whether one of
 * these has come or not. So it is asked by its bits. */
static inline int is_cut(const cw_bits_entry* entry, uint32_t chunk) {
  return entry->data_end < entry->data_slots && chunk == chunk_of(entry, entry->data_end) &&
         !is_first_of_chunk(entry, entry->data_end);
}
static int is_cut_whole(const sight* s, uint32_t id, uint32_t chunk) {
  const cw_bits_entry* entry = s->entries + id;
  settle_bits();
  return is_in(words_of(s, id), chunk * entry->chunk_slots, entry->data_end);
}
static int publish_chunk(const sight* s, uint32_t id, uint32_t chunk) {
  return publish(words_of(s, id) + s->layout->chunk_word + chunk / 64, (uint64_t)1 << chunk % 64);
}

/* Counts slots that are now in; true when they made the chunk whole, which is then published. */
static inline int fill_chunk(const sight* s, uint32_t id, uint32_t chunk, uint32_t slots) {
  const cw_bits_entry* entry = s->entries + id;
  uint32_t* counts = (uint32_t*)(void*)(words_of(s, id) + s->layout->count_word);
  const uint32_t whole = chunk_end(entry, chunk) - chunk * entry->chunk_slots;
  const int is_full = count_slots(counts + chunk, slots) == whole;
  if (!is_full && !(is_cut(entry, chunk) && is_cut_whole(s, id, chunk))) return 0;
  return publish_chunk(s, id, chunk);
}

static inline int place(const sight* s, const cw_bits_spot* spot) {
  if (s->layout->claimed_word != 0) {
    set_bits(words_of(s, spot->id) + spot->bit / 64, (uint64_t)1 << spot->bit % 64);
  }
  return spot->chunk != UINT32_MAX && fill_chunk(s, spot->id, spot->chunk, 1);
}

/* ---- records; each returns how many events it wrote, none or one ---- */

static inline uint32_t run_packet(const sight* s, const cw_bits_record* r, cw_bits_event* event) {
  cw_bits_spot spot;
  const uint8_t kind = claim(s, r, &spot);
  if (kind != CW_BITS_NONE) return tell(event, kind, r, id_of(s, r), slot_of(s, r));
  if (!place(s, &spot)) return 0;
  return tell(event, CW_BITS_CHUNK, r, spot.id, spot.chunk);
}

static int can_be_armed(const cw_bits_limits* l, const cw_bits_record* r, uint32_t cut) {
  if (r->length > l->data_slots_max || r->chunk_slots < l->chunk_slots_min) return 0;
  if (r->repair_slots == 0) return 1;
  return r->repair_slots <= l->repair_slots_max && cut >= r->length &&
         cut + (uint64_t)r->repair_slots <= (uint64_t)1 << l->slot_bits;
}

static int arm(const sight* s, cw_bits_entry* entry, const cw_bits_record* r) {
  const uint32_t cut = slot_of(s, r);
  if (entry->tag != 0 || !can_be_armed(&s->layout->limits, r, cut)) return 0;
  entry->data_end = entry->data_slots = r->length;
  entry->cut = cut;
  entry->repair_slots = r->repair_slots;
  entry->data_used = entry->repair_used = 0;
  entry->chunk_slots = r->chunk_slots;
  entry->chunk_inverse = inverse_of(r->chunk_slots);
  entry->tag = CW_BITS_ARMED | (uint32_t)r->generation;
  return 1;
}

/* Closing an id that this partition never saw is fine: the owner may tell every partition. */
static int close_id(cw_bits_entry* entry, const cw_bits_record* r) {
  if (entry->tag != 0 && !is_armed(entry, r)) return 0;
  entry->tag = 0;
  return 1;
}

static uint32_t ones(uint64_t word) {
  uint32_t count = 0;
  for (; word != 0; word &= word - 1) ++count;
  return count;
}

/* Claims and counts [first, end), which lies in one chunk; true when the chunk became whole. */
static int void_slots(const sight* s, uint32_t id, uint32_t first, uint32_t end) {
  cw_bits_entry* entry = s->entries + id;
  uint64_t* words = words_of(s, id);
  uint32_t won = 0;
  for (uint32_t slot = first; slot < end; slot = slot / 64 * 64 + 64) {
    const uint32_t left = end - slot / 64 * 64;
    uint64_t bits = ~(uint64_t)0 << slot % 64;
    if (left < 64) bits &= ((uint64_t)1 << left) - 1;
    const uint64_t fresh = bits & ~set_bits(words + s->layout->claimed_word + slot / 64, bits);
    if (s->layout->claimed_word != 0) set_bits(words + slot / 64, fresh);
    won += ones(fresh);
  }
  if (entry->data_used < end) entry->data_used = end;
  return won != 0 && fill_chunk(s, id, chunk_of(entry, first), won);
}

/* Length and void; either may make a chunk whole. -1: refused. */
static int run_range(const sight* s, cw_bits_entry* entry, const cw_bits_record* r) {
  if (!is_armed(entry, r)) return -1;
  const uint32_t id = id_of(s, r);
  if (r->kind == CW_BITS_VOID) {
    const uint32_t first = slot_of(s, r);
    if (r->length == 0 || first >= entry->data_slots) return -1;
    if (r->length > chunk_end(entry, chunk_of(entry, first)) - first) return -1;
    return void_slots(s, id, first, first + r->length);
  }
  if (r->length > entry->data_end) return -1;
  entry->data_end = r->length;
  const uint32_t chunk = chunk_of(entry, r->length);
  return is_cut(entry, chunk) && is_cut_whole(s, id, chunk) && publish_chunk(s, id, chunk);
}

static uint32_t run_control(const sight* s, const cw_bits_record* r, cw_bits_event* event) {
  const uint32_t id = id_of(s, r);
  if (id >= s->layout->limits.ids) return tell(event, CW_BITS_OUT_OF_RANGE, r, id, r->kind);
  cw_bits_entry* entry = s->entries + id;
  if (r->kind == CW_BITS_ARM && arm(s, entry, r)) return 0;
  if (r->kind == CW_BITS_CLOSE && close_id(entry, r)) return tell(event, CW_BITS_CLOSED, r, id, 0);
  if (r->kind == CW_BITS_LENGTH || r->kind == CW_BITS_VOID) {
    const int has_filled = run_range(s, entry, r);
    const uint32_t first = r->kind == CW_BITS_VOID ? slot_of(s, r) : r->length;
    if (has_filled == 0) return 0;
    if (has_filled == 1) return tell(event, CW_BITS_CHUNK, r, id, chunk_of(entry, first));
  }
  return tell(event, CW_BITS_REFUSED, r, id, r->kind);
}

/* ---- the door ---- */

/* Apart from the loop below, which must not share its sight's registers with rare work. */
__attribute__((noinline)) static uint32_t run_control_of(void* arena, uint32_t partition,
                                                         const cw_bits_record* r,
                                                         cw_bits_event* event) {
  const sight s = sight_of(arena, arena, partition);
  return run_control(&s, r, event);
}

cw_bits_progress VARIANT(cw_bits_run)(void* arena, uint32_t partition,
                                      const cw_bits_record* records, uint32_t n,
                                      cw_bits_event* events, uint32_t capacity) {
  const cw_bits_arena layout = *(const cw_bits_arena*)arena;
  const sight s = sight_of(arena, &layout, partition);
  cw_bits_progress done = {0, 0};
  for (; done.records < n && done.events < capacity; ++done.records) {
    const cw_bits_record* r = records + done.records;
    cw_bits_event* event = events + done.events;
    done.events += r->kind == CW_BITS_PACKET ? run_packet(&s, r, event)
                                             : run_control_of(arena, partition, r, event);
  }
  return done;
}

uint8_t VARIANT(cw_bits_claim)(void* arena, uint32_t partition, const cw_bits_record* packet,
                               cw_bits_spot* spot) {
  const sight s = sight_of(arena, arena, partition);
  return claim(&s, packet, spot);
}

int VARIANT(cw_bits_place)(void* arena, uint32_t partition, const cw_bits_record* packet,
                           const cw_bits_spot* spot, cw_bits_event* event) {
  const sight s = sight_of(arena, arena, partition);
  return place(&s, spot) && tell(event, CW_BITS_CHUNK, packet, spot->id, spot->chunk);
}
