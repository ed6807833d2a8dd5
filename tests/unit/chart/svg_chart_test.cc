// How curves become a picture.
#include "control/chart/svg_chart.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace cw {
namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SvgChart, puts_ticks_at_round_numbers) {
  const std::vector<double> few{50, 70, 100, 150, 200}, some{0.2, 0.5, 1, 2, 5};
  const std::vector<double> powers{0.01, 0.1, 1, 10, 100};
  EXPECT_EQ(log_ticks(45, 210).size(), few.size());
  for (size_t i = 0; i < few.size(); ++i) EXPECT_DOUBLE_EQ(log_ticks(45, 210)[i], few[i]);
  ASSERT_EQ(log_ticks(0.15, 6).size(), some.size());
  for (size_t i = 0; i < some.size(); ++i) EXPECT_DOUBLE_EQ(log_ticks(0.15, 6)[i], some[i]);
  ASSERT_EQ(log_ticks(0.009, 110).size(), powers.size());
  for (size_t i = 0; i < powers.size(); ++i) {
    EXPECT_DOUBLE_EQ(log_ticks(0.009, 110)[i], powers[i]);
  }
}

TEST(SvgChart, draws_every_curve_with_its_name_and_every_axis_with_its_label) {
  const ChartPanel panel{.x_label = "across, %",
                         .y_label = "up, ms",
                         .curves = {{"one", {{1, 10}, {10, 100}}}, {"two", {{1, 20}, {10, 0}}}},
                         .y_least = 5,
                         .rule = 50,
                         .rule_label = "enough"};
  const ChartPanel panels[] = {panel, panel};
  const std::string svg = svg_of("a title", panels);
  EXPECT_EQ(count_of(svg, "<polyline "), 4u);
  EXPECT_EQ(count_of(svg, "<circle "), 8u);
  for (const char* text : {"across, %", "up, ms", "enough"}) EXPECT_EQ(count_of(svg, text), 2u);
  for (const char* text : {">a title<", ">one<", ">two<"}) EXPECT_EQ(count_of(svg, text), 1u);
  EXPECT_EQ(count_of(svg, "nan") + count_of(svg, "inf"), 0u);
}

// Higher values lie higher on the page, and the lowest at y_least, not below the frame.
TEST(SvgChart, puts_points_where_they_belong) {
  const ChartPanel panel{.curves = {{"one", {{1, 10}, {10, 100}, {100, 0}}}}, .y_least = 10};
  const std::string svg = svg_of("", {&panel, 1});
  const size_t at = svg.find("<polyline points='");
  ASSERT_NE(at, std::string::npos);
  double x[3], y[3];
  ASSERT_EQ(std::sscanf(svg.c_str() + at, "<polyline points='%lf,%lf %lf,%lf %lf,%lf", &x[0], &y[0],
                        &x[1], &y[1], &x[2], &y[2]),
            6);
  EXPECT_LT(x[0], x[1]);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.11);  // a decade each
  EXPECT_GT(y[0], y[1]);
  // 10 is drawn at its place, 0 at the foot of the axis: within the frame, at most a margin below.
  EXPECT_GE(y[2], y[0]);
  EXPECT_LT(y[2] - y[0], 15);
}

}  // namespace
}  // namespace cw
