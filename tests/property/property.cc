#include "tests/property/property.h"

#define CW_PROPERTY(...) template void detail::checkGTest(void (*&&)(__VA_ARGS__));
#define CW_NUMBER(T)                                                \
  template class Gen<T>;                                            \
  template decltype(Arbitrary<T>::arbitrary()) gen::arbitrary<T>(); \
  template Gen<T> gen::inRange<T>(T, T);

namespace rc {

CW_EVERY_PROPERTY(CW_PROPERTY)
CW_EVERY_NUMBER(CW_NUMBER)
template class Gen<bool>;
template bool check(const std::string&, void (*&&)());
template decltype(Arbitrary<bool>::arbitrary()) gen::arbitrary<bool>();
template class Gen<std::vector<int>>;
template Gen<std::vector<int>> gen::container<std::vector<int>>(Gen<int>);

}  // namespace rc
