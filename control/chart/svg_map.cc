#include "control/chart/svg_map.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr double margin = 14, top = 62, below = 58, between = 16, legend_line = 20;
constexpr double letter_width = 7.3, letter_width_small = 6.6, letter_width_title = 9.5,
                 legend_mark = 46;
constexpr const char* small = " font-size='11'";

/// Neighbours are told apart by lightness as well as by hue.
constexpr std::array colours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
                                "#f0e442", "#7f7f7f", "#332288", "#aadd88", "#882255", "#bbccee"};
constexpr const char* nothing = "#d9d9d9";

std::string place(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string rectangle(double x, double y, double width, double height, const std::string& fill) {
  return "<rect x='" + place(x) + "' y='" + place(y) + "' width='" + place(width) + "' height='" +
         place(height) + "' fill='" + fill + "' stroke='#ffffff' stroke-width='0.7'/>\n";
}

std::string words(double x, double y, const char* anchor, const std::string& text,
                  const std::string& more = {}) {
  return "<text x='" + place(x) + "' y='" + place(y) + "' text-anchor='" + anchor + "'" + more +
         ">" + text + "</text>\n";
}

std::string dashes(double x, double y, double x_end, double y_end) {
  return "<line x1='" + place(x) + "' y1='" + place(y) + "' x2='" + place(x_end) + "' y2='" +
         place(y_end) + "' stroke='#000000' stroke-width='1.4' stroke-dasharray='4 3'/>\n";
}

double width_of(const std::vector<std::string>& texts, double letter) {
  size_t longest = 0;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  return double(longest) * letter;
}

std::string colour_of(const ChartMap& map, int cell) {
  if (cell < 0) return nothing;
  const MapName& name = map.names[size_t(cell)];
  return name.colour.empty() ? colours[size_t(cell)] : name.colour;
}

bool has_nothing(const ChartMap& map) {
  return std::ranges::any_of(map.panels, [](const MapPanel& panel) {
    return std::ranges::any_of(panel.cells, [](const std::vector<int>& row) {
      return std::ranges::any_of(row, [](int cell) { return cell < 0; });
    });
  });
}

/// Names, then nothing, then the dashed lines.
std::vector<std::string> legend_texts(const ChartMap& map) {
  std::vector<std::string> texts;
  texts.reserve(map.names.size() + 2);
  for (const MapName& name : map.names) texts.push_back(name.text);
  if (!map.nothing.empty() && has_nothing(map)) texts.push_back(map.nothing);
  if (!map.mark.empty()) texts.push_back(map.mark);
  return texts;
}

/// Where things are on the page. Several maps share the width that one may have.
struct Layout {
  double cell_width, cell_height, left, panel_width, width, foot;
  size_t label_every;  ///< columns

  static Layout of(const ChartMap& map) {
    const MapPanel& first = map.panels.front();
    const bool is_alone = map.panels.size() == 1;
    Layout it{.cell_width = is_alone ? 44.0 : 12.0, .cell_height = is_alone ? 26.0 : 16.0};
    it.left = margin + width_of(first.y_values, letter_width_small) + 10;
    it.panel_width = it.cell_width * double(first.x_values.size());
    const double maps =
        it.panel_width * double(map.panels.size()) + between * double(map.panels.size() - 1);
    const double title = double(map.title.size()) * letter_width_title;
    const double legend = width_of(legend_texts(map), letter_width) + legend_mark;
    it.width = std::max(it.left + std::max(maps, legend), margin + title) + margin;
    it.foot = top + it.cell_height * double(first.y_values.size());
    const double label = width_of(first.x_values, letter_width_small);
    it.label_every = 1 + static_cast<size_t>(label / it.cell_width);
    return it;
  }
};

std::string axis_of_columns(const MapPanel& panel, const Layout& at, double left) {
  std::string svg;
  for (size_t column = 0; column < panel.x_values.size(); column += at.label_every) {
    const double x = left + at.cell_width * (double(column) + 0.5);
    svg += dashes(x, at.foot, x, at.foot + 3);
    svg += words(x, at.foot + 16, "middle", panel.x_values[column], small);
  }
  return svg;
}

std::string panel_at(const ChartMap& map, const MapPanel& panel, const Layout& at, double left) {
  std::string svg = words(left, top - 8, "start", panel.title, " font-weight='bold'");
  for (size_t row = 0; row < panel.y_values.size(); ++row) {
    const double y = at.foot - at.cell_height * double(row + 1);
    for (size_t column = 0; column < panel.x_values.size(); ++column) {
      const double x = left + at.cell_width * double(column);
      svg +=
          rectangle(x, y, at.cell_width, at.cell_height, colour_of(map, panel.cells[row][column]));
    }
    const bool is_first = &panel == &map.panels.front();
    if (is_first)
      svg += words(left - 6, y + at.cell_height / 2 + 4, "end", panel.y_values[row], small);
  }
  const double mark = left + at.cell_width * panel.mark;
  if (panel.mark > 0) svg += dashes(mark, top, mark, at.foot);
  return svg + axis_of_columns(panel, at, left) +
         words(left + at.panel_width / 2, at.foot + 34, "middle", map.x_label);
}

/// In as many columns as fit; ends at `end`.
std::string legend_of(const ChartMap& map, const Layout& at, double& end) {
  const std::vector<std::string> texts = legend_texts(map);
  const double wide = width_of(texts, letter_width) + legend_mark;
  const auto columns = std::max<size_t>(1, static_cast<size_t>((at.width - at.left) / wide));
  const size_t rows = (texts.size() + columns - 1) / columns;
  const size_t coloured = texts.size() - (map.mark.empty() ? 0 : 1);
  const double begin = at.foot + below;
  std::string svg;
  for (size_t i = 0; i < texts.size(); ++i) {
    const size_t column = i / rows, row = i % rows;
    const double x = at.left + wide * double(column), y = begin + legend_line * double(row);
    const int cell = i < map.names.size() ? int(i) : -1;
    svg += i < coloured ? rectangle(x, y - 11, 22, 14, colour_of(map, cell))
                        : dashes(x + 11, y - 12, x + 11, y + 4);
    svg += words(x + 30, y, "start", texts[i]);
  }
  end = begin + legend_line * double(rows);
  return svg;
}

bool is_sound(const ChartMap& map) {
  return !map.panels.empty() && map.names.size() <= colours.size() &&
         std::ranges::all_of(map.panels, [&](const MapPanel& each) {
           return each.cells.size() == each.y_values.size() &&
                  each.y_values.size() == map.panels.front().y_values.size() &&
                  each.x_values.size() == map.panels.front().x_values.size();
         });
}

}  // namespace

std::string svg_of(const ChartMap& map) {
  CW_ASSERT(is_sound(map));
  const Layout at = Layout::of(map);
  double end = 0;
  const std::string legend = legend_of(map, at, end);
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " + place(at.width) +
                    " " + place(end) + "' width='" + place(at.width) + "' height='" + place(end) +
                    "' font-family='sans-serif' font-size='13' fill='#222222'>\n"
                    "<rect width='100%' height='100%' fill='#ffffff'/>\n";
  svg += words(margin, 22, "start", map.title, " font-size='16' font-weight='bold'");
  svg += words(margin, top - 22, "start", map.y_label);
  for (size_t i = 0; i < map.panels.size(); ++i) {
    svg += panel_at(map, map.panels[i], at, at.left + (at.panel_width + between) * double(i));
  }
  return svg + legend + "</svg>\n";
}

}  // namespace cw
