/* Where each hart begins, in machine mode: on a stack of its own, with interrupts masked. The timer
 * is enabled all the same, so that wfi returns when it is due; nothing is ever interrupted. */
#include "offload/dpa/memory_map.h"

  .section .text.start, "ax"
  .globl cw_dpa_start
cw_dpa_start:
  csrr a0, mhartid
  li t0, CW_DPA_HARTS_MAX
  bgeu a0, t0, park
  la t1, fault
  csrw mtvec, t1
  csrw mstatus, zero
  li t1, 1 << 7  /* MTIE */
  csrw mie, t1
  li sp, CW_DPA_RAM + CW_DPA_STACKS_OFFSET
  addi t1, a0, 1
  li t2, CW_DPA_STACK_BYTES
  mul t1, t1, t2
  add sp, sp, t1
  call cw_dpa_run
park:
  csrw mie, zero
  wfi
  j park

  .balign 4
fault:
  csrr a0, mhartid
  csrr a1, mcause
  call cw_dpa_fault
  j park
