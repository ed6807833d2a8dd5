#include <cstring>

#include "offload/codec/field.h"

namespace cw::code {
namespace {

// Sixteen elements of the field; the compiler has instructions for this everywhere.
using Lanes [[gnu::vector_size(16)]] = uint8_t;

Lanes load(const uint8_t* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

Lanes doubled(Lanes a) {
  const Lanes overflow = reinterpret_cast<Lanes>(a > 127);
  return (a + a) ^ (overflow & 0x1d);
}

/// into += coefficient * from, by Horner's rule over the coefficient's bits.
void multiply_add(uint32_t bytes, unsigned coefficient, const uint8_t* from, uint8_t* into) {
  if (coefficient == 0) return;
  const int top = 31 - __builtin_clz(coefficient);
  for (uint32_t at = 0; at < bytes; at += sizeof(Lanes)) {
    const Lanes x = load(from + at);
    Lanes product = x;
    for (int bit = top - 1; bit >= 0; --bit) {
      product = doubled(product);
      if ((coefficient >> bit & 1) != 0) product ^= x;
    }
    product ^= load(into + at);
    std::memcpy(into + at, &product, sizeof product);
  }
}

void tables(uint32_t sources, uint32_t outputs, const uint8_t* coefficients, uint8_t* tables) {
  for (size_t i = 0; i < size_t{sources} * outputs; ++i) {
    tables[i * coefficient_bytes] = coefficients[i];
  }
}

void add(uint32_t bytes, uint32_t source_count, uint32_t output_count, uint32_t s,
         const uint8_t* tables, const uint8_t* source, uint8_t* const* outputs) {
  for (uint32_t o = 0; o < output_count; ++o) {
    const size_t index = size_t{o} * source_count + s;
    multiply_add(bytes, tables[index * coefficient_bytes], source, outputs[o]);
  }
}

void dot(uint32_t bytes, uint32_t source_count, uint32_t output_count, const uint8_t* tables,
         const uint8_t* const* sources, uint8_t* const* outputs) {
  for (uint32_t o = 0; o < output_count; ++o) std::memset(outputs[o], 0, bytes);
  for (uint32_t s = 0; s < source_count; ++s) {
    add(bytes, source_count, output_count, s, tables, sources[s], outputs);
  }
}

void sum(uint32_t bytes, uint32_t source_count, const uint8_t* const* sources, uint8_t* output) {
  std::memcpy(output, sources[0], bytes);
  for (uint32_t s = 1; s < source_count; ++s) add_shard(bytes, sources[s], output);
}

}  // namespace

void add_shard(uint32_t bytes, const uint8_t* from, uint8_t* into) {
  for (uint32_t at = 0; at < bytes; at += sizeof(Lanes)) {
    const Lanes both = load(from + at) ^ load(into + at);
    std::memcpy(into + at, &both, sizeof both);
  }
}

const FieldKernel& portable_kernel() {
  static constexpr FieldKernel kernel = {"portable", tables, dot, add, sum};
  return kernel;
}

#ifndef CW_HAVE_ISAL
const FieldKernel& field_kernel() { return portable_kernel(); }
#endif

}  // namespace cw::code
