#include "control/chart/svg_map.h"

#include <array>
#include <cstdio>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr double margin = 14, left = 96, top = 52, cell_width = 44, cell_height = 26, below = 66;
constexpr double legend_line = 20;

/// Neighbours are told apart by lightness as well as by hue.
constexpr std::array colours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
                                "#f0e442", "#7f7f7f", "#332288", "#aadd88", "#882255", "#bbccee"};
constexpr const char* nothing = "#f4f4f4";

std::string place(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string rectangle(double x, double y, double width, double height, const std::string& fill) {
  return "<rect x='" + place(x) + "' y='" + place(y) + "' width='" + place(width) + "' height='" +
         place(height) + "' fill='" + fill + "' stroke='#ffffff'/>\n";
}

std::string words(double x, double y, const char* anchor, const std::string& text,
                  const std::string& more = {}) {
  return "<text x='" + place(x) + "' y='" + place(y) + "' text-anchor='" + anchor + "'" + more +
         ">" + text + "</text>\n";
}

const char* colour_of(int cell) { return cell < 0 ? nothing : colours[size_t(cell)]; }

std::string cells_of(const ChartMap& map) {
  std::string svg;
  const double foot = top + cell_height * double(map.y_values.size());
  for (size_t row = 0; row < map.y_values.size(); ++row) {
    const double y = foot - cell_height * double(row + 1);
    for (size_t column = 0; column < map.x_values.size(); ++column) {
      const double x = left + cell_width * double(column);
      svg += rectangle(x, y, cell_width, cell_height, colour_of(map.cells[row][column]));
    }
    svg += words(left - 8, y + cell_height / 2 + 4, "end", map.y_values[row]);
  }
  for (size_t column = 0; column < map.x_values.size(); ++column) {
    const double x = left + cell_width * (double(column) + 0.5);
    // Every second one: they are wider than cells.
    if (column % 2 == 0) svg += words(x, foot + 18, "middle", map.x_values[column]);
  }
  const double middle = left + cell_width * double(map.x_values.size()) / 2;
  return svg + words(middle, foot + 42, "middle", map.x_label) +
         words(margin, top - 12, "start", map.y_label);
}

}  // namespace

std::string svg_of(const ChartMap& map) {
  CW_ASSERT(map.names.size() <= colours.size() && map.cells.size() == map.y_values.size());
  const double foot = top + cell_height * double(map.y_values.size()) + below;
  const double width = left + cell_width * double(map.x_values.size()) + margin;
  const double height = foot + legend_line * double(map.names.size()) + margin;
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " + place(width) + " " +
                    place(height) + "' width='" + place(width) + "' height='" + place(height) +
                    "' font-family='sans-serif' font-size='13' fill='#222222'>\n"
                    "<rect width='100%' height='100%' fill='#ffffff'/>\n";
  svg += words(margin, 22, "start", map.title, " font-size='16' font-weight='bold'");
  svg += cells_of(map);
  for (size_t i = 0; i < map.names.size(); ++i) {
    const double y = foot + legend_line * double(i);
    svg += rectangle(left, y - 11, 22, 14, colours[i]) + words(left + 30, y, "start", map.names[i]);
  }
  return svg + "</svg>\n";
}

}  // namespace cw
