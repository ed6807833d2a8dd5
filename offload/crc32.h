/* CRC-32 as Ethernet, zlib and the InfiniBand ICRC use it (polynomial 0x04c11db7, reflected, start
 * and end inverted). Plain C, so that packet code takes it as a function argument and knows no
 * library by name. */
#ifndef CW_OFFLOAD_CRC32_H
#define CW_OFFLOAD_CRC32_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Continues the CRC `crc` (0 at the start) over `count` bytes. Thread: any. Allocates nothing. */
typedef uint32_t (*cw_crc32_fn)(uint32_t crc, const void* bytes, size_t count);

/* The fastest one built in: ISA-L, or zlib in a build without it. */
uint32_t cw_crc32(uint32_t crc, const void* bytes, size_t count);

/* Its name, for reports: "isa-l" or "zlib". */
const char* cw_crc32_name(void);

#ifdef __cplusplus
}
#endif

#endif
