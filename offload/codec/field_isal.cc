// ISA-L asks for mutable pointers, but writes to outputs only.
#include <isa-l/erasure_code.h>
#include <isa-l/raid.h>

#include <cstring>

#include "offload/codec/field.h"
#include "offload/wide_registers.h"

namespace cw::code {
namespace {

void tables(uint32_t sources, uint32_t outputs, const uint8_t* coefficients, uint8_t* tables) {
  ec_init_tables(static_cast<int>(sources), static_cast<int>(outputs),
                 const_cast<uint8_t*>(coefficients), tables);
}

void dot(uint32_t bytes, uint32_t source_count, uint32_t output_count, const uint8_t* tables,
         const uint8_t* const* sources, uint8_t* const* outputs) {
  ec_encode_data(static_cast<int>(bytes), static_cast<int>(source_count),
                 static_cast<int>(output_count), const_cast<uint8_t*>(tables),
                 const_cast<uint8_t**>(sources), const_cast<uint8_t**>(outputs));
  cw_leave_wide_registers();
}

void add(uint32_t bytes, uint32_t source_count, uint32_t output_count, uint32_t s,
         const uint8_t* tables, const uint8_t* source, uint8_t* const* outputs) {
  ec_encode_data_update(static_cast<int>(bytes), static_cast<int>(source_count),
                        static_cast<int>(output_count), static_cast<int>(s),
                        const_cast<uint8_t*>(tables), const_cast<uint8_t*>(source),
                        const_cast<uint8_t**>(outputs));
  cw_leave_wide_registers();
}

void sum(uint32_t bytes, uint32_t source_count, const uint8_t* const* sources, uint8_t* output) {
  // xor_gen() wants two sources at least.
  if (source_count == 1) {
    std::memcpy(output, sources[0], bytes);
    return;
  }
  CW_DCHECK(source_count <= shards_max);
  void* shards[shards_max + 1];
  for (uint32_t s = 0; s < source_count; ++s) shards[s] = const_cast<uint8_t*>(sources[s]);
  shards[source_count] = output;
  xor_gen(static_cast<int>(source_count + 1), static_cast<int>(bytes), shards);
  cw_leave_wide_registers();
}

}  // namespace

const FieldKernel& field_kernel() {
  static constexpr FieldKernel kernel = {"isa-l", tables, dot, add, sum};
  return kernel;
}

}  // namespace cw::code
