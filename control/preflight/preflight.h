// What stands between a gateway and this machine: each thing that is looked at, what was found, and
// what to do about it.
#pragma once

#include <string>
#include <vector>

#include "control/json/json.h"
#include "control/preflight/machine.h"

namespace cw::site {
struct Plan;
}

namespace cw::preflight {

enum class Status : uint8_t {
  Ok,
  Note,     ///< a gateway runs, and something costs it time or packets
  Problem,  ///< a gateway does not start, or carries nothing
};

struct Finding {
  std::string name;
  Status status = Status::Ok;
  std::string found;   ///< one sentence
  std::string advice;  ///< one with the command; empty: nothing to do
};

/// Looks at what `plan` needs, or, without one, at what the machine has to offer: then only what no
/// gateway can do without is a problem. Opens, changes and starts nothing.
std::vector<Finding> look_over(const Machine& machine, const site::Plan* plan);

bool has_problem(const std::vector<Finding>& findings);

/// An aligned list, for people.
std::string text_of(const std::vector<Finding>& findings);
/// An array of objects with name, status ("ok", "note" or "problem"), found and advice.
Json json_of(const std::vector<Finding>& findings);

}  // namespace cw::preflight
