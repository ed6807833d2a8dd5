// What the checks of both doors' tables share: words, and the copying of a foreign table.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/check/table_check.h"

namespace cw::plugins {

/// What is wrong, if anything.
using Complaint = std::optional<std::string>;

inline std::string version_text(uint32_t abi) {
  return std::to_string(abi >> 16) + "." + std::to_string(abi & 0xffff);
}

inline bool is_bounded(const char* text, size_t bytes_max) {
  return text != nullptr && ::strnlen(text, bytes_max + 1) <= bytes_max;
}

inline bool is_sentence(const char* text) {
  return is_bounded(text, limits::sentence_bytes_max) && *text != '\0';
}

inline bool is_snake_case(std::string_view name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto may_follow = [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && is_lower(name.front()) && std::ranges::all_of(name, may_follow);
}

inline bool is_name(const char* text) {
  return is_bounded(text, limits::name_bytes_max) && is_snake_case(text);
}

/// What every table begins with.
template <class Ops>
Complaint object_to_beginning(const Ops& table) {
  if (!is_name(table.name)) {
    return "has a name that is not snake_case of at most " +
           std::to_string(limits::name_bytes_max) + " letters";
  }
  if (!is_sentence(table.version)) return "has no version";
  if (!is_sentence(table.summary)) return "has no summary";
  return std::nullopt;
}

/// adopt_table() for any door. `least`: bytes of the smallest table there ever was.
template <class Ops>
Result<Ops> adopt(const Ops& foreign, uint32_t abi, size_t least, const char* header) {
  if (foreign.abi >> 16 != abi >> 16) {
    return failure("speaks ABI " + version_text(foreign.abi) + " and this program " +
                   version_text(abi) + ": build it against this version's " + header);
  }
  if (foreign.size < least) {
    return failure("has a table of " + std::to_string(foreign.size) +
                   " bytes, and even the oldest has " + std::to_string(least));
  }
  Ops table{};
  std::memcpy(&table, &foreign, std::min<size_t>(foreign.size, sizeof table));
  table.size = sizeof table;
  return table;
}

}  // namespace cw::plugins
