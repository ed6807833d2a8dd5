/* DOOR to the bitmap work: which packets have come. One freestanding kernel turns "a packet with
 * this immediate has been placed" into bits, and bits into events of up to 64 packets each. It runs
 * wherever there is a processor: in the turn, on a pinned host core, on a thread of a DPA
 * (offload/stage.h). It sees records and bits, never payload, and knows no library, clock or
 * allocator; what a message's bits add up to (chunks, lengths) is its owner's: offload/slot_map.h.
 *
 *   owner  --- records --->  partition  --- events --->  owner        a row: both rings, one
 * partition
 *
 * A *partition* has bits of its own and one thread that runs it, so nothing here is atomic but the
 * ends of the rings. Packets go to a partition by their channel; a slot always comes by the same
 * one, so no bit is in two. Arm and close travel in the same ring as the packets they concern:
 * a partition sees a message's life in one order, and no packet of an old life can set a bit in a
 * new one.
 *
 *   free --Arm--> armed(g) --Close--> free, its words zero; told by Closed
 *
 * The owner arms an id again only when every partition has told Closed, and gives no partition a
 * packet before the arm of its life.
 *
 * Everything lies in memory that owner and partition may map at different addresses: offsets, no
 * pointers. The owner believes nothing that the other side of a row has written. */
#ifndef CW_OFFLOAD_BITMAP_H
#define CW_OFFLOAD_BITMAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CW_BITS_LINE = 64, CW_BITS_SLOT_BITS_MAX = 24 };

/* Records, and below events, by kind. */
enum {
  CW_BITS_PACKET = 1, /* a data slot whose payload is in place */
  CW_BITS_ARM = 2,    /* a new life of an id begins; once more for the same life: nothing */
  CW_BITS_CLOSE = 3   /* from here on, packets of this id are late */
};

/* Read and written as one number. */
typedef struct cw_bits_record {
  uint32_t immediate __attribute__((
      aligned(8)));   /* id | slot | user, as the packet brought it; a control record: the id */
  uint16_t stream;    /* whose id that is */
  uint8_t generation; /* life of the id, told by the destination QP */
  uint8_t kind;
} cw_bits_record;

enum {
  CW_BITS_PLACED = 1,       /* `bits` of the 64 slots that begin at the immediate's have come */
  CW_BITS_CLOSED = 2,       /* the partition will say nothing more of this life */
  CW_BITS_DUPLICATE = 3,    /* this slot had come before */
  CW_BITS_LATE = 4,         /* the id is not armed, or armed with another generation */
  CW_BITS_OUT_OF_RANGE = 5, /* no such stream, id or slot */
  CW_BITS_REFUSED = 6,      /* a control record that makes no sense: a bug of the owner */
  CW_BITS_ARMED = 7         /* packets of this life are taken */
};

/* Every record is answered by one event, or by one bit of one: what a partition was given and what
 * it has told can be added up. */
typedef struct cw_bits_event {
  cw_bits_record about; /* the record that it answers, with the event's kind. Placed: the first */
  uint64_t bits;        /* Placed only */
} cw_bits_event;

/* What a partition must know of a stream. */
typedef struct cw_bits_limits {
  uint32_t ids;       /* ids in use are [0, ids) */
  uint32_t slots_max; /* of one message */
  uint8_t slot_bits;  /* split of the immediate; what slot and user leave is the id's */
  uint8_t user_bits;
} cw_bits_limits;

/* ---- an arena: the bits of one stream's messages in one partition ---- */

/* Bytes of an arena; 0 when the limits contradict each other or the split. */
size_t cw_bits_arena_size(const cw_bits_limits* limits);
/* Makes one of cw_bits_arena_size() bytes, aligned to CW_BITS_LINE. All ids are free. Returns 0, or
 * -1 when the limits are refused. */
int cw_bits_arena_init(void* arena, const cw_bits_limits* limits);

/* ---- a row: two rings and the arenas of one partition ---- */

/* Begins on a line. Behind it lie the offsets of the arenas, the records and the events. Heads and
 * tails count on for ever; an index is one of them modulo its capacity, a power of two. */
typedef struct cw_bits_row {
  /* The owner's line. */
  uint32_t records_tail __attribute__((aligned(64)));
  uint32_t events_head;
  uint32_t is_ended; /* no more records will come */
  /* The partition's. What answers a record is before events_tail when records_head has passed. */
  uint32_t records_head __attribute__((aligned(64)));
  uint32_t events_tail;
  uint32_t is_asleep;    /* who runs it waits to be woken */
  uint64_t instructions; /* spent on what is behind records_head, where they can be counted */
  /* Constant. */
  uint32_t records_capacity __attribute__((aligned(64)));
  uint32_t events_capacity;
  uint32_t streams_max;
  uint32_t records_offset, events_offset; /* from the row's first byte */
  /* Of a stripe's row of datagrams (offload/stage/datagrams.h); no landings: of packets. */
  uint32_t landings, stripe;
  uint32_t buffers_stride;
  int64_t buffers_offset;
} cw_bits_row;

/* Bytes of a row: streams [0, streams_max), capacities that are powers of two. */
size_t cw_bits_row_size(uint32_t streams_max, uint32_t records, uint32_t events);
void cw_bits_row_init(cw_bits_row* row, uint32_t streams_max, uint32_t records, uint32_t events);
/* Thread: the owner's, before the first record that names the stream. `arena` lies within 2^63
 * bytes of the row in every mapping of them. */
void cw_bits_row_add(cw_bits_row* row, uint16_t stream, const void* arena);

/* The rings' first entries. */
cw_bits_record* cw_bits_records(cw_bits_row* row);
cw_bits_event* cw_bits_events(cw_bits_row* row);

enum { CW_BITS_BURST = 64 };

/* Runs up to CW_BITS_BURST records, as many as there are and as there is room to tell of; returns
 * how many. Thread: the partition's. Hot: bounded by the burst, a close also by its message's
 * words. */
uint32_t cw_bits_serve(cw_bits_row* row);
/* What it does of a row of datagrams. */
uint32_t cw_datagrams_serve(cw_bits_row* row);

#ifdef __cplusplus
}
#endif

#endif
