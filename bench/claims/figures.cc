#include "bench/claims/figures.h"

#include <algorithm>
#include <cstdio>

#include "control/json/json.h"

namespace cw::claims {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
  return text;
}

}  // namespace

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto place = static_cast<size_t>(share * static_cast<double>(values.size()));
  return values[std::min(place, values.size() - 1)];
}

std::string table_of(const Figures& figures) {
  std::string text = "| what | measured | ratio | beside, in the same run |\n|---|---|---|---|\n";
  for (const Figure& it : figures) {
    text += "| " + it.what + " | " + number(it.value) + " " + it.unit + " | " +
            (it.ratio ? number(*it.ratio) : "") + " | " + it.beside + " |\n";
  }
  return text;
}

Json json_of(const Figures& figures) {
  Json rows = Json::array();
  for (const Figure& it : figures) {
    Json row = {{"what", it.what}, {"value", it.value}, {"unit", it.unit}};
    if (it.ratio) row.update({{"ratio", *it.ratio}, {"beside", it.beside}});
    rows.push_back(row);
  }
  return rows;
}

}  // namespace cw::claims
