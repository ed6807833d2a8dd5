// Attribute structs that begin with their size: the ABI's way of growing.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/sdk/misuse.h"

namespace cw::sdk {

/// A copy of what the program filled in, the fields it does not know being zero; nothing, and the
/// sentence is kept, when the size is none that a version of this struct ever had.
template <class T>
std::optional<T> copy_attributes(const T* given, size_t size_of_first_version, const char* name) {
  if (given == nullptr) {
    misuse("the %s is null", name);
    return std::nullopt;
  }
  uint32_t size;
  std::memcpy(&size, given, sizeof(size));  // the first member, whatever else there is
  if (size < size_of_first_version || size > sizeof(T)) {
    misuse(
        "%s.size is %u, and this library knows %zu to %zu: set it to sizeof(%s), and use the "
        "library that the program was compiled for",
        name, size, size_of_first_version, sizeof(T), name);
    return std::nullopt;
  }
  T copy{};
  std::memcpy(&copy, given, size);
  return copy;
}

/// The parameters of a policy: those given, then the defaults of the rest. Errors: too many, or out
/// of range.
Result<std::vector<double>> params_of(const cw_policy_ops& ops, std::span<const double> given);

}  // namespace cw::sdk
