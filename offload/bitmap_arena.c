#include "offload/bitmap_arena.h"

static int are_sound(const cw_bits_limits* l) {
  if (l->ids == 0 || l->slots_max == 0) return 0;
  if (l->slot_bits == 0 || l->slot_bits > CW_BITS_SLOT_BITS_MAX) return 0;
  const uint32_t low_bits = (uint32_t)l->slot_bits + l->user_bits;
  if (low_bits >= 32 || l->ids > (uint64_t)1 << (32 - low_bits)) return 0;
  return l->slots_max <= (uint64_t)1 << l->slot_bits;
}

static cw_bits_arena lay_out(const cw_bits_limits* limits) {
  enum { words_of_line = CW_BITS_LINE / sizeof(uint64_t) };
  cw_bits_arena a;
  a.limits = *limits;
  a.id_shift = (uint32_t)limits->slot_bits + limits->user_bits;
  a.slot_mask = ((uint32_t)1 << limits->slot_bits) - 1;
  a.words_per_id = (uint32_t)cw_bits_round_up((limits->slots_max + 63) / 64, words_of_line);
  a.words_offset = (uint32_t)cw_bits_round_up(
      sizeof(cw_bits_arena) + limits->ids * sizeof(cw_bits_life), CW_BITS_LINE);
  return a;
}

size_t cw_bits_arena_size(const cw_bits_limits* limits) {
  if (!are_sound(limits)) return 0;
  const cw_bits_arena a = lay_out(limits);
  return a.words_offset + (size_t)limits->ids * a.words_per_id * sizeof(uint64_t);
}

static void zero(void* memory, size_t bytes) {
  uint64_t* const words = memory;
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) words[i] = 0;
}

int cw_bits_arena_init(void* arena, const cw_bits_limits* limits) {
  const size_t bytes = cw_bits_arena_size(limits);
  if (bytes == 0 || (uintptr_t)arena % CW_BITS_LINE != 0) return -1;
  zero(arena, bytes);
  *(cw_bits_arena*)arena = lay_out(limits);
  return 0;
}

static uint64_t records_offset(uint32_t streams_max) {
  return cw_bits_round_up(sizeof(cw_bits_row) + streams_max * sizeof(int64_t), CW_BITS_LINE);
}
static uint64_t events_offset(uint32_t streams_max, uint32_t records) {
  return cw_bits_round_up(records_offset(streams_max) + records * sizeof(cw_bits_record),
                          CW_BITS_LINE);
}

size_t cw_bits_row_size(uint32_t streams_max, uint32_t records, uint32_t events) {
  return cw_bits_round_up(events_offset(streams_max, records) + events * sizeof(cw_bits_event),
                          CW_BITS_LINE);
}

void cw_bits_row_init(cw_bits_row* row, uint32_t streams_max, uint32_t records, uint32_t events) {
  zero(row, cw_bits_row_size(streams_max, records, events));
  row->records_capacity = records;
  row->events_capacity = events;
  row->streams_max = streams_max;
  row->records_offset = (uint32_t)records_offset(streams_max);
  row->events_offset = (uint32_t)events_offset(streams_max, records);
}

void cw_bits_row_add(cw_bits_row* row, uint16_t stream, const void* arena) {
  cw_bits_arena_offsets(row)[stream] = (const char*)arena - (const char*)row;
}

cw_bits_record* cw_bits_records(cw_bits_row* row) {
  return (cw_bits_record*)(void*)((char*)row + row->records_offset);
}
cw_bits_event* cw_bits_events(cw_bits_row* row) {
  return (cw_bits_event*)(void*)((char*)row + row->events_offset);
}
