// A TOML file as a tree of values that remember where they stand. The one place that knows the TOML
// library; what the values mean is section.h's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"

namespace cw::config {

/// Counted from one, as editors do; zero: nowhere.
struct Place {
  uint32_t line = 0, column = 0;
  auto operator<=>(const Place&) const = default;
};

struct Entry;

struct Node {
  enum class Kind : uint8_t { Table, List, Text, Integer, Real, Bool, Time };

  Kind kind = Kind::Table;
  Place place;
  std::string text;  ///< Text: the value; Time: unused
  int64_t integer = 0;
  double real = 0;
  bool flag = false;
  std::vector<Entry> entries;  ///< Table: in the order of the file
  std::vector<Node> items;     ///< List

  const Entry* find(std::string_view name) const;
  /// As a person would call it: `"25 ms"`, `7`, `a table`.
  std::string shown() const;
};

struct Entry {
  std::string name;
  Place place;  ///< of the name
  Node value;
};

/// A sentence and where it applies.
struct Mistake {
  Place place;
  std::string sentence;
};

/// The tree of a file's text, or the first syntax error (the parser sees no further).
std::expected<Node, Mistake> parse_toml(std::string_view text);

}  // namespace cw::config
