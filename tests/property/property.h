// RapidCheck's properties as GoogleTest cases. Include this and not RapidCheck itself: what most
// properties are made of is compiled once, in property.cc, and no longer in each source anew.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

// For each property with such arguments: PROPERTY(arguments).
#define CW_EVERY_PROPERTY(PROPERTY)      \
  PROPERTY()                             \
  PROPERTY(uint32_t)                     \
  PROPERTY(uint64_t)                     \
  PROPERTY(uint32_t, uint32_t)           \
  PROPERTY(int32_t, int32_t)             \
  PROPERTY(uint64_t, bool)               \
  PROPERTY(uint64_t, uint64_t)           \
  PROPERTY(uint64_t, uint64_t, uint64_t) \
  PROPERTY(std::vector<uint8_t>)         \
  PROPERTY(const std::vector<uint8_t>&)  \
  PROPERTY(const std::vector<uint8_t>&, const std::vector<uint8_t>&)

// For each kind of number that is drawn: NUMBER(type).
#define CW_EVERY_NUMBER(NUMBER) \
  NUMBER(uint8_t)               \
  NUMBER(uint16_t)              \
  NUMBER(uint32_t)              \
  NUMBER(uint64_t)              \
  NUMBER(int32_t)               \
  NUMBER(int64_t)

#define CW_PROPERTY(...) extern template void detail::checkGTest(void (*&&)(__VA_ARGS__));
#define CW_NUMBER(T)                                                       \
  extern template class Gen<T>;                                            \
  extern template decltype(Arbitrary<T>::arbitrary()) gen::arbitrary<T>(); \
  extern template Gen<T> gen::inRange<T>(T, T);

namespace rc {
CW_EVERY_PROPERTY(CW_PROPERTY)
CW_EVERY_NUMBER(CW_NUMBER)
extern template class Gen<bool>;
extern template bool check(const std::string&, void (*&&)());
extern template decltype(Arbitrary<bool>::arbitrary()) gen::arbitrary<bool>();
extern template class Gen<std::vector<int>>;
extern template Gen<std::vector<int>> gen::container<std::vector<int>>(Gen<int>);
}  // namespace rc

#undef CW_PROPERTY
#undef CW_NUMBER
