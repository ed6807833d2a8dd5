// Draws which of several things holds where, over two logarithmic axes, as coloured cells in SVG:
// one map, or several side by side under one legend.
#pragma once

#include <string>
#include <vector>

namespace cw {

struct MapPanel {
  std::string title;                            ///< of this one; empty: none
  std::vector<std::string> x_values, y_values;  ///< of columns and rows, from below; empty: unsaid
  /// [row][column]: an index of the names, or -1 where there is nothing.
  std::vector<std::vector<int>> cells;
  double mark = 0;  ///< a dashed line up, so many columns from the left; 0: none
};

struct MapName {
  std::string text;
  std::string colour;  ///< as SVG has it; empty: one that is told apart from the others
};

struct ChartMap {
  std::string title, x_label, y_label;
  std::vector<MapName> names;  ///< of what cells hold; twelve at most
  std::string nothing;         ///< what a cell without a name means, for the legend; empty: unsaid
  std::string mark;            ///< what the dashed lines mean
  std::vector<MapPanel> panels;  ///< with as many columns and rows each, whose values are the same
};

/// Texts are taken as they are: no markup in them.
std::string svg_of(const ChartMap& map);

}  // namespace cw
