// Rows for people: columns as wide as what stands in them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "control/json/json.h"

namespace cw::ctl {

struct Column {
  std::string title;
  std::function<std::string(const Json& row)> text;
  bool is_number = false;  ///< to the right
};

/// A member of the row as it is written; "-" where it has none.
Column text_column(const std::string& title, const std::string& member);
Column number_column(const std::string& title, const std::string& member, int digits = 0);
/// A share as per cent.
Column percent_column(const std::string& title, const std::string& member);

/// With a line of titles; `rows` is an array. Empty: "none\n".
std::string table(const Json& rows, const std::vector<Column>& columns);

/// "12,345", "24.8".
std::string number_text(const Json& value, int digits = 0);

}  // namespace cw::ctl
