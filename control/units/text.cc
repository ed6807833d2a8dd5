#include "control/units/text.h"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace cw {

std::string text_of(const char* format, ...) {
  std::array<char, 512> text;
  va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  return text.data();
}

}  // namespace cw
