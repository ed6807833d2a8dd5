// Draws which of several things holds where, over two logarithmic axes, as coloured cells in SVG.
#pragma once

#include <string>
#include <vector>

namespace cw {

struct ChartMap {
  std::string title, x_label, y_label;
  std::vector<std::string> x_values, y_values;  ///< of the columns and of the rows, from below
  std::vector<std::string> names;               ///< of what cells hold; twelve at most
  /// [row][column]: an index of `names`, or -1 where there is nothing.
  std::vector<std::vector<int>> cells;
};

/// Texts are taken as they are: no markup in them.
std::string svg_of(const ChartMap& map);

}  // namespace cw
