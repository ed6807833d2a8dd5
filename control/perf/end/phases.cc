#include "control/perf/end/phases.h"

#include <algorithm>

#include "control/wan/socket/control_socket.h"

namespace cw::perf {

bool Phases::begins_at(uint64_t index) const {
  if (!options_.has_any()) return false;
  return index == 0 ||
         (index >= options_.warm_up && (index - options_.warm_up) % options_.messages == 0);
}

int Phases::of(uint64_t index) const {
  if (!options_.has_any() || index < options_.warm_up) return -1;
  const uint64_t block = (index - options_.warm_up) / options_.messages;
  return static_cast<int>(block % options_.settings.size());
}

Result<void> Phases::enter(uint64_t index) const {
  // The warm-up meets the first setting.
  const auto setting = static_cast<size_t>(std::max(of(index), 0));
  const auto answer = wan::ask(options_.wan, options_.settings[setting]);
  if (!answer) return failure("--phase: " + answer.error().sentence);
  return {};
}

}  // namespace cw::perf
