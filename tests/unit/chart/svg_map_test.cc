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
                     .names = {{"one", ""}, {"two", "#123456"}},
                     .panels = {{.x_values = {"1 KiB", "2 KiB", "4 KiB"},
                                 .y_values = {"0.1", "0.2"},
                                 .cells = {{0, 0, 1}, {1, 1, -1}}}}};
  const std::string svg = svg_of(map);
  // The page, six cells, two of the legend.
  EXPECT_EQ(count_of(svg, "<rect "), 1u + 6 + 2);
  for (const char* text : {">who wins<", ">size<", ">loss<", ">one<", ">two<", ">0.1<", ">0.2<",
                           ">1 KiB<", ">4 KiB<"}) {
    EXPECT_EQ(count_of(svg, text), 1u) << text;
  }
  const std::string one = "fill='#0072b2'", two = "fill='#123456'", nothing = "fill='#d9d9d9'";
  EXPECT_EQ(count_of(svg, one), 2u + 1);
  EXPECT_EQ(count_of(svg, two), 3u + 1);
  EXPECT_EQ(count_of(svg, nothing), 1u);
}

// The first row is the lowest: values rise upwards.
TEST(SvgMap, rises_to_the_right_and_upwards) {
  const ChartMap map{
      .names = {{"one", ""}},
      .panels = {
          {.x_values = {"a", "b"}, .y_values = {"low", "high"}, .cells = {{-1, -1}, {-1, -1}}}}};
  const std::string svg = svg_of(map);
  const auto number_before = [&](const char* text, const char* name) {
    const size_t at = svg.rfind(name, svg.find(text));
    return std::stod(svg.substr(at + 4));
  };
  EXPECT_GT(number_before(">low<", " y='"), number_before(">high<", " y='"));
}

/// Two maps of one cell each.
ChartMap two_maps(int left, int right) {
  const auto panel = [](const char* title, int cell) {
    return MapPanel{.title = title, .x_values = {"x"}, .y_values = {"y"}, .cells = {{cell}}};
  };
  return {.x_label = "size",
          .names = {{"one", ""}},
          .nothing = "unknown",
          .panels = {panel("left", left), panel("right", right)}};
}

TEST(SvgMap, shares_a_legend_and_the_values_of_rows_among_maps) {
  const std::string svg = svg_of(two_maps(0, -1));
  for (const char* text : {">left<", ">right<", ">one<", ">unknown<", ">y<"}) {
    EXPECT_EQ(count_of(svg, text), 1u) << text;
  }
  EXPECT_EQ(count_of(svg, ">x<"), 2u);
  EXPECT_EQ(count_of(svg, "fill='#d9d9d9'"), 2u);
}

TEST(SvgMap, explains_only_what_is_there) {
  EXPECT_EQ(count_of(svg_of(two_maps(0, 0)), ">unknown<"), 0u);
}

TEST(SvgMap, marks_a_column) {
  ChartMap map = two_maps(0, 0);
  const size_t before = count_of(svg_of(map), "<line ");
  map.mark = "here";
  map.panels[1].mark = 0.5;
  const std::string svg = svg_of(map);
  EXPECT_EQ(count_of(svg, "<line "), before + 2);
  EXPECT_EQ(count_of(svg, ">here<"), 1u);
}

}  // namespace
}  // namespace cw
