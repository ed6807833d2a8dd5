#include "bench/e2e/xdp/report.h"

#include <cstdio>
#include <utility>

namespace cw::bench {
namespace {

std::string text_of(const Json& value, int decimals) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return "not counted";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value.get<double>());
  return text;
}

}  // namespace

void Report::begin(const std::string& part, std::vector<Column> columns) {
  part_ = part;
  columns_ = std::move(columns);
  all_[part_] = {{"rows", Json::array()}};
  if (is_json_) return;
  std::string titles = "\n|", line = "|";
  for (const Column& column : columns_) {
    titles += std::string(" ") + column.title + " |";
    line += "---|";
  }
  std::printf("%s\n%s\n", titles.c_str(), line.c_str());
}

void Report::add(const Json& row) {
  all_[part_]["rows"].push_back(row);
  if (is_json_) return;
  std::string line = "|";
  for (const Column& column : columns_) {
    line += " " + text_of(row.at(column.key), column.decimals) + " |";
  }
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void Report::conclude(const std::string& key, double value) {
  all_[part_][key] = value;
  if (!is_json_) std::printf("\n%s: %.2f\n", key.c_str(), value);
}

void Report::end() const {
  if (is_json_) std::printf("%s\n", all_.dump().c_str());
}

}  // namespace cw::bench
