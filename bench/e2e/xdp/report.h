// What the parts of the program measure: rows of Markdown as they come, or one JSON object in the
// end.
#pragma once

#include <string>
#include <vector>

#include "control/json/json.h"

namespace cw::bench {

struct Column {
  const char *key, *title;
  int decimals = 0;
};

class Report {
 public:
  explicit Report(bool is_json) : is_json_(is_json) {}

  /// The rows that follow are of this part.
  void begin(const std::string& part, std::vector<Column> columns);
  /// By the columns' keys; null: there is none.
  void add(const Json& row);
  /// Beside the rows: what they come to.
  void conclude(const std::string& key, double value);
  void end() const;

 private:
  bool is_json_;
  std::string part_;
  std::vector<Column> columns_;
  Json all_ = Json::object();
};

}  // namespace cw::bench
