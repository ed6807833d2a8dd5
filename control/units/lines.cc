#include "control/units/lines.h"

namespace cw {

std::optional<std::string> Lines::next() {
  const size_t end = held_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = held_.substr(0, end);
  held_.erase(0, end + 1);
  return line;
}

}  // namespace cw
