#include "control/units/text.h"

#include <unistd.h>

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

std::string utc_text(const char* format, std::time_t at) {
  std::tm parts{};
  gmtime_r(&at, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

std::string host_name() {
  std::array<char, 65> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace cw
