// The field's numbers and kernels against multiplication by shifting.
#include "offload/codec/field.h"

#include <gtest/gtest.h>

#include "tests/unit/codec/rows.h"

namespace cw::code {
namespace {
using namespace codec_test;

TEST(Field, has_logarithms_that_add_as_numbers_multiply) {
  for (unsigned a = 1; a < 256; ++a) {
    for (unsigned b = 1; b < 256; ++b) {
      ASSERT_EQ(power_of(log_of(a) + log_of(b)), naive_product(a, b)) << a << " * " << b;
    }
  }
}

class Kernel : public testing::TestWithParam<const FieldKernel*> {};
INSTANTIATE_TEST_SUITE_P(Both, Kernel, testing::Values(&portable_kernel(), &field_kernel()));

// Sizes around the widths that kernels unroll to.
TEST_P(Kernel, sums_as_the_naive_field_does) {
  const FieldKernel& kernel = *GetParam();
  Prng prng(5);
  for (const uint32_t bytes : {64u, 128u, 192u, 320u, 1024u, 4096u}) {
    for (const auto& [sources, outputs] : {std::pair{1u, 1u}, {2u, 3u}, {5u, 7u}, {17u, 13u}}) {
      const Row in({sources, 1, bytes}, bytes), out({outputs, outputs, bytes}, 1);
      std::vector<uint8_t> coefficients(sources * outputs);
      for (uint8_t& c : coefficients) c = static_cast<uint8_t>(prng.next());
      coefficients[0] = 0;
      const Memory tables(coefficients.size() * coefficient_bytes);
      kernel.tables(sources, outputs, coefficients.data(), tables.get());
      std::vector<const uint8_t*> from;
      std::vector<uint8_t*> at_once, in_steps;
      for (uint32_t s = 0; s < sources; ++s) from.push_back(in.data(s).bytes);
      for (uint32_t o = 0; o < outputs; ++o) {
        at_once.push_back(out.repair(o).bytes);
        in_steps.push_back(out.rebuilt(o).bytes);
        std::memset(in_steps[o], 0, bytes);
      }
      kernel.dot(bytes, sources, outputs, tables.get(), from.data(), at_once.data());
      for (uint32_t s = 0; s < sources; ++s) {
        kernel.add(bytes, sources, outputs, s, tables.get(), from[s], in_steps.data());
      }
      for (uint32_t o = 0; o < outputs; ++o) {
        for (uint32_t b = 0; b < bytes; ++b) {
          uint8_t sum = 0;
          for (uint32_t s = 0; s < sources; ++s) {
            sum ^= naive_product(coefficients[o * sources + s], from[s][b]);
          }
          ASSERT_EQ(at_once[o][b], sum) << kernel.name << " " << bytes << " " << o << " " << b;
          ASSERT_EQ(in_steps[o][b], sum) << kernel.name << " " << bytes << " " << o << " " << b;
        }
      }
      kernel.sum(bytes, sources, from.data(), at_once[0]);
      for (uint32_t b = 0; b < bytes; ++b) {
        uint8_t sum = 0;
        for (const uint8_t* source : from) sum ^= source[b];
        ASSERT_EQ(at_once[0][b], sum) << kernel.name;
      }
    }
  }
}

}  // namespace
}  // namespace cw::code
