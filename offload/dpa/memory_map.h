/* Where things lie in the memory of an emulated DPA, by offsets from its first byte, which harts
 * see at CW_DPA_RAM. Numbers only: assembly reads it too. The loader's description is program.ld.
 *
 *   0          program: text and constants; it has no data of its own
 *   64 KiB     board
 *   128 KiB    stacks, one for each hart
 *   1 MiB      what the host hands out: rows and arenas */
#ifndef CW_OFFLOAD_DPA_MEMORY_MAP_H
#define CW_OFFLOAD_DPA_MEMORY_MAP_H

#define CW_DPA_RAM 0x80000000
#define CW_DPA_BOARD_OFFSET 0x10000
#define CW_DPA_STACKS_OFFSET 0x20000
#define CW_DPA_ROWS_OFFSET 0x100000

#define CW_DPA_HARTS_MAX 256
#define CW_DPA_STACK_BYTES 2048

#endif
