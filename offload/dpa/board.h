/* What the host and the harts of an emulated DPA tell each other beside rows: which hart runs which
 * row, when to begin and to stop, and what each hart does. Freestanding: the host's compiler and
 * the program's (program.c) lay it out alike.
 *
 * A word has one writer. Words that the other side waits for are stored with release and loaded
 * with acquire, all 32 bits wide. */
#ifndef CW_OFFLOAD_DPA_BOARD_H
#define CW_OFFLOAD_DPA_BOARD_H

#include <stdint.h>

#include "offload/dpa/memory_map.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CW_DPA_MAGIC = 0x43574450, CW_DPA_VERSION = 1 };

/* What the host wants of all harts. */
enum { CW_DPA_WAIT = 0, CW_DPA_GO = 1, CW_DPA_STOP = 2 };

/* What a hart does. */
enum {
  CW_DPA_ABSENT = 0, /* it has not begun */
  CW_DPA_READY = 1,  /* it waits for CW_DPA_GO */
  CW_DPA_RUNNING = 2,
  CW_DPA_HALTED = 3,   /* it was told to, between two bursts */
  CW_DPA_PARKED = 4,   /* it has no row, its row has ended, or CW_DPA_STOP: for good */
  CW_DPA_MISMATCH = 5, /* the board is of another version than the program: for good */
  CW_DPA_FAULTED = 6   /* it met an exception, see `cause`: for good */
};

/* Of a hart. */
typedef struct cw_dpa_line {
  /* The host's. */
  int64_t row_offset __attribute__((aligned(64))); /* from the board; 0: none */
  uint32_t is_halted;                              /* for tests: serve no burst while it is set */
  /* The hart's. */
  uint32_t state __attribute__((aligned(64)));
  uint32_t beats; /* counts on with each look at the row, after its instructions are counted */
  uint64_t cause; /* of the exception, as in mcause */
} cw_dpa_line;

/* The host writes all but the harts' part of lines, before the machine starts save for `order`. */
typedef struct cw_dpa_board {
  uint32_t magic __attribute__((aligned(64)));
  uint32_t version;
  uint32_t harts;
  uint32_t counts_instructions; /* harts add what a burst has cost to their row */
  uint32_t order __attribute__((aligned(64)));
  cw_dpa_line lines[CW_DPA_HARTS_MAX];
} cw_dpa_board;

#ifdef __cplusplus
}
#endif

#endif
