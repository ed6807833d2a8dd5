// GF(256), polynomial 0x11d: numbers for the few coefficients of a code, kernels for its shards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/assert.h"

namespace cw::code {

/// Logarithms to base 2 and powers of 2; `power` runs twice around, so that a sum of two
/// logarithms needs no remainder.
struct FieldNumbers {
  std::array<uint8_t, 256> log{};
  std::array<uint8_t, 510> power{};
};

consteval FieldNumbers make_field_numbers() {
  FieldNumbers numbers;
  unsigned x = 1;
  for (size_t i = 0; i < 255; ++i) {
    numbers.power[i] = numbers.power[i + 255] = static_cast<uint8_t>(x);
    numbers.log[x] = static_cast<uint8_t>(i);
    x = x << 1 ^ (x >= 128 ? 0x11du : 0u);
  }
  return numbers;
}

inline constexpr FieldNumbers field_numbers = make_field_numbers();

/// Logarithm of `a`, which is not 0.
inline uint32_t log_of(unsigned a) {
  CW_DCHECK(a != 0 && a < 256);
  return field_numbers.log[a];
}
/// 2 to the power of `log`, below 510.
inline uint8_t power_of(uint32_t log) { return field_numbers.power[log]; }

/// Bytes of the table that a kernel makes of one coefficient.
inline constexpr size_t coefficient_bytes = 32;
inline constexpr size_t shards_max = 255;

/// Sums over whole shards. `bytes` is a multiple of 64, every shard is aligned to 64. Tables lie by
/// output, then by source, `coefficient_bytes` each; each kernel reads only its own.
/// Thread: any. Allocates nothing.
struct FieldKernel {
  const char* name;
  void (*tables)(uint32_t sources, uint32_t outputs, const uint8_t* coefficients, uint8_t* tables);
  /// outputs[o] = sum over s of coefficient[o][s] * sources[s]
  void (*dot)(uint32_t bytes, uint32_t source_count, uint32_t output_count, const uint8_t* tables,
              const uint8_t* const* sources, uint8_t* const* outputs);
  /// outputs[o] += coefficient[o][s] * source, where source is the s-th of `source_count`
  void (*add)(uint32_t bytes, uint32_t source_count, uint32_t output_count, uint32_t s,
              const uint8_t* tables, const uint8_t* source, uint8_t* const* outputs);
  /// output = sum of the sources, of which there is at least one
  void (*sum)(uint32_t bytes, uint32_t source_count, const uint8_t* const* sources,
              uint8_t* output);
};

/// Plain code, for any machine.
const FieldKernel& portable_kernel();
/// The fastest that is built in.
const FieldKernel& field_kernel();

/// into += from
void add_shard(uint32_t bytes, const uint8_t* from, uint8_t* into);

}  // namespace cw::code
