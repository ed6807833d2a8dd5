/* ISA-L computes in vector registers of 256 and 512 bits and leaves their upper parts as they are.
 * From then on each SSE instruction of everybody else, of which there are some per packet, keeps
 * those parts, so it waits for what was in the register before: packets that could overlap stand
 * in a row behind their CRCs. */
#ifndef CW_OFFLOAD_WIDE_REGISTERS_H
#define CW_OFFLOAD_WIDE_REGISTERS_H

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx"))) static inline void cw_empty_upper_parts(void) { _mm256_zeroupper(); }
/* After calls of such code. Thread: any. */
static inline void cw_leave_wide_registers(void) {
  if (__builtin_cpu_supports("avx")) cw_empty_upper_parts();
}
#else
static inline void cw_leave_wide_registers(void) {}
#endif

#endif
