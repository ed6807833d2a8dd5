// How a map of winners becomes a picture.
#include "control/chart/svg_map.h"

#include <gtest/gtest.h>

#include <string>

namespace cw {
namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SvgMap, has_a_cell_per_pair_of_values_and_a_line_of_legend_per_name) {
  const ChartMap map{.title = "who wins",
                     .x_label = "size",
                     .y_label = "loss",
                     .x_values = {"1 KiB", "2 KiB", "4 KiB"},
                     .y_values = {"0.1", "0.2"},
                     .names = {"one", "two"},
                     .cells = {{0, 0, 1}, {1, 1, -1}}};
  const std::string svg = svg_of(map);
  // The page, six cells, two of the legend.
  EXPECT_EQ(count_of(svg, "<rect "), 1u + 6 + 2);
  for (const char* text : {">who wins<", ">size<", ">loss<", ">one<", ">two<", ">0.1<", ">0.2<",
                           ">1 KiB<", ">4 KiB<"}) {
    EXPECT_EQ(count_of(svg, text), 1u) << text;
  }
  const std::string one = "fill='#0072b2'", nothing = "fill='#f4f4f4'";
  EXPECT_EQ(count_of(svg, one), 2u + 1);
  EXPECT_EQ(count_of(svg, nothing), 1u);
}

// The first row is the lowest: values rise upwards.
TEST(SvgMap, rises_to_the_right_and_upwards) {
  const ChartMap map{.x_values = {"a", "b"},
                     .y_values = {"low", "high"},
                     .names = {"one"},
                     .cells = {{-1, -1}, {-1, -1}}};
  const std::string svg = svg_of(map);
  const auto number_before = [&](const char* text, const char* name) {
    const size_t at = svg.rfind(name, svg.find(text));
    return std::stod(svg.substr(at + 4));
  };
  EXPECT_GT(number_before(">low<", " y='"), number_before(">high<", " y='"));
}

}  // namespace
}  // namespace cw
