#include "control/preflight/preflight.h"

#include <algorithm>

#include "control/json/json.h"
#include "control/preflight/checks/checks.h"

namespace cw::preflight {
namespace {

const char* word_of(Status status) {
  switch (status) {
    case Status::Ok:
      return "ok";
    case Status::Note:
      return "note";
    default:
      return "problem";
  }
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

}  // namespace

std::vector<Finding> look_over(const Machine& machine, const site::Plan* plan) {
  const Needs needs = needs_of(machine, plan);
  std::vector<Finding> findings;
  for (const auto& checks : {kernel_checks(), rnic_checks(), nic_checks(), xdp_checks(),
                             memory_checks(), core_checks()}) {
    for (const Check check : checks) check(machine, needs, findings);
  }
  return findings;
}

bool has_problem(const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings,
                             [](const Finding& it) { return it.status == Status::Problem; });
}

std::string text_of(const std::vector<Finding>& findings) {
  constexpr size_t status_width = 8;
  size_t name_width = 0;
  for (const Finding& it : findings) name_width = std::max(name_width, it.name.size());
  std::string text;
  for (const Finding& it : findings) {
    text += padded(word_of(it.status), status_width) + padded(it.name, name_width) + "  " +
            it.found + "\n";
    if (it.advice.empty()) continue;
    text += std::string(status_width + name_width, ' ') + "  > " + it.advice + "\n";
  }
  return text;
}

Json json_of(const std::vector<Finding>& findings) {
  auto all = Json::array();
  for (const Finding& it : findings) {
    all.push_back({{"name", it.name},
                   {"status", word_of(it.status)},
                   {"found", it.found},
                   {"advice", it.advice}});
  }
  return all;
}

}  // namespace cw::preflight
