#include "control/chart/svg_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr double panel_width = 470, panel_height = 330, margin = 14;
constexpr double left = 66, top = 52, right = 16, below = 56, legend_height = 34;

// Told apart by eyes that see fewer colours (Okabe and Ito), and by dashes on paper.
struct Look {
  const char* colour;
  const char* dashes;
};
constexpr std::array looks = {Look{"#0072b2", "none"},    Look{"#d55e00", "none"},
                              Look{"#009e73", "7 3"},     Look{"#aa4499", "2 3"},
                              Look{"#555555", "9 3 2 3"}, Look{"#c59100", "none"}};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string place(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// A range of values, and where on the page its ends are.
struct Axis {
  double low, high;
  double from, to;

  double at(double value) const {
    return from + (to - from) * std::log(value / low) / std::log(high / low);
  }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more = {}) {
  return "<text x='" + place(x) + "' y='" + place(y) + "' text-anchor='" + anchor + "'" + more +
         ">" + text + "</text>\n";
}

std::string line(ChartPoint from, ChartPoint to, const std::string& style) {
  return "<line x1='" + place(from.x) + "' y1='" + place(from.y) + "' x2='" + place(to.x) +
         "' y2='" + place(to.y) + "' " + style + "/>\n";
}

std::string stroke_of(size_t curve) {
  return std::string("stroke='") + looks[curve].colour + "' stroke-width='2.2' stroke-dasharray='" +
         looks[curve].dashes + "'";
}

std::string axes(const ChartPanel& panel, const Axis& x, const Axis& y) {
  const std::string grid = "stroke='#dddddd'";
  std::string svg;
  for (const double tick : log_ticks(x.low, x.high)) {
    svg += line({x.at(tick), y.from}, {x.at(tick), y.to}, grid);
    svg += text_at(x.at(tick), y.from + 18, "middle", number(tick));
  }
  for (const double tick : log_ticks(y.low, y.high)) {
    svg += line({x.from, y.at(tick)}, {x.to, y.at(tick)}, grid);
    svg += text_at(x.from - 8, y.at(tick) + 4, "end", number(tick));
  }
  svg += "<rect x='" + place(x.from) + "' y='" + place(y.to) + "' width='" + place(x.to - x.from) +
         "' height='" + place(y.from - y.to) + "' fill='none' stroke='#555555'/>\n";
  svg += text_at((x.from + x.to) / 2, y.from + 40, "middle", panel.x_label);
  svg += text_at(x.from - left + margin, y.to - 10, "start", panel.y_label);
  return svg;
}

std::string curve_of(const Curve& curve, size_t index, const Axis& x, const Axis& y) {
  std::string points, marks;
  for (const ChartPoint& point : curve.points) {
    const double down = y.at(std::max(point.y, y.low));
    points += place(x.at(point.x)) + "," + place(down) + " ";
    marks += "<circle cx='" + place(x.at(point.x)) + "' cy='" + place(down) + "' r='3' fill='" +
             looks[index].colour + "'/>\n";
  }
  return "<polyline points='" + points + "' fill='none' " + stroke_of(index) + "/>\n" + marks;
}

std::string panel_at(const ChartPanel& panel, double offset) {
  Axis x{1e300, 0, offset + left, offset + panel_width - right};
  Axis y{1e300, panel.rule, top + panel_height - below, top};
  for (const Curve& curve : panel.curves) {
    for (const ChartPoint& point : curve.points) {
      x.low = std::min(x.low, point.x);
      x.high = std::max(x.high, point.x);
      y.low = std::min(y.low, std::max(point.y, panel.y_least));
      y.high = std::max(y.high, point.y);
    }
  }
  CW_ASSERT(x.low > 0 && x.high > x.low && y.low > 0 && y.high > 0);
  x.low /= 1.15, x.high *= 1.15;
  y.low /= 1.1, y.high *= 1.1;
  std::string svg = axes(panel, x, y);
  for (size_t i = 0; i < panel.curves.size(); ++i) svg += curve_of(panel.curves[i], i, x, y);
  if (panel.rule > 0) {
    svg += line({x.from, y.at(panel.rule)}, {x.to, y.at(panel.rule)},
                "stroke='#000000' stroke-dasharray='4 4'");
    svg += text_at(x.from + 8, y.at(panel.rule) - 6, "start", panel.rule_label,
                   " stroke='#ffffff' stroke-width='4' paint-order='stroke'");
  }
  return svg;
}

std::string legend(const std::vector<Curve>& curves, double width) {
  const double each = (width - 2 * margin) / double(curves.size());
  const double y = top + panel_height + 12;
  std::string svg;
  for (size_t i = 0; i < curves.size(); ++i) {
    const double x = margin + each * double(i);
    svg += line({x, y}, {x + 34, y}, stroke_of(i));
    svg += text_at(x + 42, y + 4, "start", curves[i].name);
  }
  return svg;
}

}  // namespace

std::vector<double> log_ticks(double low, double high) {
  constexpr size_t most = 8;
  std::vector<double> ticks;
  for (const auto& digits : {std::vector{1.0, 1.5, 2.0, 3.0, 5.0, 7.0}, {1.0, 2.0, 5.0}, {1.0}}) {
    ticks.clear();
    for (int power = int(std::floor(std::log10(low))); power <= std::log10(high); ++power) {
      for (const double digit : digits) {
        const double tick = digit * std::pow(10, power);
        if (tick >= low && tick <= high) ticks.push_back(tick);
      }
    }
    if (ticks.size() <= most) break;
  }
  return ticks;
}

std::string svg_of(const std::string& title, std::span<const ChartPanel> panels) {
  CW_ASSERT(!panels.empty() && panels.front().curves.size() <= looks.size());
  const double width = panel_width * double(panels.size());
  const double height = top + panel_height + legend_height;
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " + place(width) + " " +
                    place(height) + "' width='" + place(width) + "' height='" + place(height) +
                    "' font-family='sans-serif' font-size='13' fill='#222222'>\n"
                    "<rect width='100%' height='100%' fill='#ffffff'/>\n";
  svg += text_at(margin, 22, "start", title, " font-size='16' font-weight='bold'");
  for (size_t i = 0; i < panels.size(); ++i) svg += panel_at(panels[i], panel_width * double(i));
  return svg + legend(panels.front().curves, width) + "</svg>\n";
}

}  // namespace cw
