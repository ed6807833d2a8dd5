/* What each hart of an emulated DPA runs: hart h serves row h of the board. No library, no floating
 * point, no data of its own; of the machine it knows a timer, and a counter of instructions. */
#include "offload/bitmap.h"
#include "offload/dpa/board.h"

/* start.S calls both. */
void cw_dpa_run(uint64_t hart);
void cw_dpa_fault(uint64_t hart, uint64_t cause);
/* Compilers ask for it by themselves, also where there is no library. */
void* memset(void* memory, int byte, uint64_t count);

enum {
  looks_before_nap = 4096,            /* some hundred microseconds */
  looks_max = looks_before_nap + 256, /* and some ten milliseconds; then they are rare */
  /* Of 100 ns: what a packet waits at most that finds its hart so. */
  ticks_of_nap = 500,
  ticks_of_sleep = 5000,
};

static cw_dpa_board* const the_board = (cw_dpa_board*)(CW_DPA_RAM + CW_DPA_BOARD_OFFSET);

/* The CLINT of the machine. */
static volatile uint64_t* const timer_due = (volatile uint64_t*)0x2004000;
static const volatile uint64_t* const timer_now = (const volatile uint64_t*)0x200bff8;

static uint32_t load(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
static void store(uint32_t* word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Interrupts are masked: when the timer is due wfi returns, and nothing else happens. */
static void doze(uint64_t hart, uint64_t ticks) {
  timer_due[hart] = *timer_now + ticks;
  __asm__ volatile("wfi" ::: "memory");
}

static uint64_t instructions_so_far(void) {
  uint64_t count;
  __asm__ volatile("csrr %0, minstret" : "=r"(count)::"memory");
  return count;
}

/* The count is right once the hart's beat has gone on: it is written after records_head is. Between
 * two reads that follow each other there is one instruction, the second read. */
static uint32_t serve_and_count(cw_bits_row* row) {
  const uint64_t before = instructions_so_far();
  const uint32_t served = cw_bits_serve(row);
  const uint64_t spent = instructions_so_far() - before - 1;
  if (served > 0) {
    __atomic_store_n(&row->instructions, row->instructions + spent, __ATOMIC_RELAXED);
  }
  return served;
}

static int has_ended(const cw_bits_row* row) {
  return load(&row->is_ended) && load(&row->records_tail) == row->records_head;
}

static void serve_until_stop(cw_dpa_board* board, cw_dpa_line* line, uint64_t hart) {
  cw_bits_row* const row = (cw_bits_row*)(void*)((char*)board + line->row_offset);
  const int counts = board->counts_instructions != 0;
  uint32_t empty_looks = 0;
  while (load(&board->order) != CW_DPA_STOP) {
    if (load(&line->is_halted)) {
      store(&line->state, CW_DPA_HALTED);
      doze(hart, ticks_of_nap);
      continue;
    }
    if (line->state != CW_DPA_RUNNING) store(&line->state, CW_DPA_RUNNING);
    const uint32_t served = counts ? serve_and_count(row) : cw_bits_serve(row);
    store(&line->beats, line->beats + 1);
    empty_looks = served > 0 ? 0 : empty_looks + (empty_looks < looks_max);
    if (empty_looks < looks_before_nap) continue;
    if (has_ended(row)) return;
    doze(hart, empty_looks < looks_max ? ticks_of_nap : ticks_of_sleep);
  }
}

void cw_dpa_run(uint64_t hart) {
  cw_dpa_board* const board = the_board;
  cw_dpa_line* const line = board->lines + hart;
  if (board->magic != CW_DPA_MAGIC || board->version != CW_DPA_VERSION) {
    store(&line->state, CW_DPA_MISMATCH);
    return;
  }
  store(&line->state, CW_DPA_READY);
  while (load(&board->order) == CW_DPA_WAIT) doze(hart, ticks_of_nap);
  if (line->row_offset != 0) serve_until_stop(board, line, hart);
  store(&line->state, CW_DPA_PARKED);
}

void cw_dpa_fault(uint64_t hart, uint64_t cause) {
  cw_dpa_line* const line = the_board->lines + hart;
  line->cause = cause;
  store(&line->state, CW_DPA_FAULTED);
}

void* memset(void* memory, int byte, uint64_t count) {
  uint8_t* at = memory;
  uint8_t* const end = at + count;
  const uint64_t eight = (uint64_t)(uint8_t)byte * 0x0101010101010101;
  for (; at < end && (uintptr_t)at % 8 != 0; ++at) *at = (uint8_t)byte;
  for (; end - at >= 8; at += 8) *(uint64_t*)(void*)at = eight;
  for (; at < end; ++at) *at = (uint8_t)byte;
  return memory;
}
