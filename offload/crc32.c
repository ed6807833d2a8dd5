#include "offload/crc32.h"

#ifdef CW_HAVE_ISAL

#include <isa-l/crc.h>

#include "offload/wide_registers.h"

uint32_t cw_crc32(uint32_t crc, const void* bytes, size_t count) {
  const uint32_t all = crc32_gzip_refl(crc, (const unsigned char*)bytes, count);
  cw_leave_wide_registers();
  return all;
}
const char* cw_crc32_name(void) { return "isa-l"; }

#else

#include <zlib.h>

uint32_t cw_crc32(uint32_t crc, const void* bytes, size_t count) {
  return (uint32_t)crc32_z(crc, (const unsigned char*)bytes, count);
}
const char* cw_crc32_name(void) { return "zlib"; }

#endif
