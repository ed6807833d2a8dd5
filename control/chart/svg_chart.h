// Draws curves over logarithmic axes as SVG, side by side, with one legend: what a report shows.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace cw {

struct ChartPoint {
  double x = 0, y = 0;
};

struct Curve {
  std::string name;
  std::vector<ChartPoint> points;  ///< x rising
};

struct ChartPanel {
  std::string x_label, y_label;  ///< with units
  std::vector<Curve> curves;     ///< the same names in the same order in every panel
  double y_least = 0;            ///< what lies lower is drawn here; above zero
  double rule = 0;               ///< a dashed line across at this y; 0: none
  std::string rule_label;
};

/// Up to six curves; every x and rule is above zero, every panel has a point. Texts are taken as
/// they are: no markup in them.
std::string svg_of(const std::string& title, std::span<const ChartPanel> panels);

/// Round numbers that lie in the range, at most eight unless it spans more powers of ten than that.
std::vector<double> log_ticks(double low, double high);

}  // namespace cw
