/* DOOR to the work on a group's datagrams (SPEC.md 18.1 to 18.3), stripe by stripe: check, claim,
 * and a copy, or who is to make it. A third way to use the rows of offload/bitmap.h: whoever runs
 * rows (offload/stage/row_runner.h) runs these as well, by cw_bits_serve(), and one that has
 * landings takes datagrams for records.
 *
 *   subgroup = (slot / 64) mod G    an address, a QP, a row and a thread of its own: a *stripe*
 *
 *   owner  -- open, datagrams, close -->  row of a stripe  -- one event for each -->  owner
 *                                               |
 *                        a landing: claimed slots, each word written by one stripe alone;
 *                        whole chunks, whose words are of all stripes and atomic
 *
 * Source: striping over subgroups, and datagrams that are staged and copied by somebody else, are
 * of arXiv 2408.13356; the landing's words by stripe are ours. What is fetched is placed by the
 * owner, by way of the same rows: it puts such a datagram into the row of its slot's stripe. */
#ifndef CW_OFFLOAD_DATAGRAMS_H
#define CW_OFFLOAD_DATAGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "offload/bitmap.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CW_DATAGRAMS_STRIPES_MAX = 64, CW_DATAGRAMS_LANDINGS_MAX = 8 };

/* Control records, by `kind`; `stream` is the landing. Answered in order by an event of the same
 * kind. Of a datagram's record `stream` is its buffer, and kind x 256 + generation its bytes,
 * header included, below 0x8000. */
enum { CW_DATAGRAMS_OPEN = 0x81, CW_DATAGRAMS_CLOSE = 0x82 };

/* Events, of which each record gets one; `about` is the record but for its kind. */
enum {
  CW_DATAGRAMS_PLACED = 1, /* it lies in its place, `bits` bytes; the buffer is the owner's again */
  CW_DATAGRAMS_COPY = 2,   /* the owner is to copy it, to where `bits` says, from the landing on */
  CW_DATAGRAMS_DUPLICATE = 3,
  /* Why it is dropped, in the order of SPEC.md 18.2. */
  CW_DATAGRAMS_SHORT = 16,
  CW_DATAGRAMS_VERSION,
  CW_DATAGRAMS_KIND,
  CW_DATAGRAMS_KEY,
  CW_DATAGRAMS_OWN,
  CW_DATAGRAMS_SOURCE,
  CW_DATAGRAMS_STEP,
  CW_DATAGRAMS_CLOSED,
  CW_DATAGRAMS_SLOT, /* or it came by another stripe than its slot's */
  CW_DATAGRAMS_LENGTH
};

/* Who receives, in one epoch. Numbers are the host's. */
typedef struct cw_datagrams_member {
  uint32_t group_key, own_key;
  uint16_t members, rank;
} cw_datagrams_member;

/* What it takes of a step. */
typedef struct cw_datagrams_shape {
  uint32_t step;
  uint16_t sources, first_source;
  uint32_t payload_bytes;       /* of a full slot */
  uint32_t part_slots;          /* of each source, at most 2^24 of all */
  uint32_t last_bytes;          /* of the last slot of a part */
  uint32_t is_copied_by_others; /* events tell of copies, which the owner has others make */
  uint64_t part_bytes;
} cw_datagrams_shape;

typedef struct cw_landing cw_landing;

/* Bytes of a landing for steps of up to `slots_max` slots; chunks of `chunk_slots`, a power of two
 * up to 64. 0: they make no sense. Begins on a line. */
size_t cw_landing_size(uint32_t slots_max, uint32_t stripes, uint32_t chunk_slots);
/* Zeroed memory of that size becomes one. */
void cw_landing_init(cw_landing* landing, const cw_datagrams_member* member, uint32_t slots_max,
                     uint32_t stripes, uint32_t chunk_slots);
/* Thread: the owner's, before its open records, and once the closes of the step before have been
 * answered by all stripes. `memory`, of all parts, lies within 2^47 bytes of the landing in every
 * mapping of both. Returns 0, or -1: the shape makes no sense or is larger than the landing. */
int cw_landing_shape(cw_landing* landing, const cw_datagrams_shape* shape, const void* memory);

/* Whether the slots of a chunk are claimed, all of them, and told of by events that whoever asks
 * can see. Thread: any. */
int cw_landing_has_chunk(const cw_landing* landing, uint32_t chunk);
/* Thread: the owner's, once all that its stripe was given is answered. */
int cw_landing_has_slot(const cw_landing* landing, uint32_t slot);

/* Makes the row of a stripe of an initialised one, before it is run. Landings, a power of two of
 * them, are those that cw_bits_row_add() has made known as streams 0 on; a step's is its number
 * modulo theirs. `buffers`, each `stride` bytes, a multiple of 8, and beginning on 8, are those of
 * the records. What such a row costs is bounded by a burst, and by what it copies; an open also
 * clears the stripe's words. */
void cw_datagrams_row(cw_bits_row* row, uint32_t stripe, uint32_t landings, const void* buffers,
                      uint32_t stride);

#ifdef __cplusplus
}
#endif

#endif
