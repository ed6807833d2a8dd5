// What hosts do across the grid: programs of perftest, by short names.
#pragma once

#include <span>
#include <string>

namespace cw::bench {

struct Operation {
  const char *name, *command, *what;
  bool is_latency = false;
  /// Nobody acknowledges: what arrived is what counts, and host B tells it.
  bool receiver_counts = false;
};

std::span<const Operation> operations();
/// Null when there is none of this name.
const Operation* find_operation(const std::string& name);

}  // namespace cw::bench
