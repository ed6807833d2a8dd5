#include "control/config/quantity.h"

#include <gtest/gtest.h>

#include "tests/property/property.h"

namespace cw::config {
namespace {

TEST(Quantity, texts_with_units_are_read_in_base_units) {
  const struct {
    Quantity quantity;
    const char* text;
    double value;
  } rows[] = {
      {Quantity::Duration, "25 ms", 25e6},   {Quantity::Duration, "12.5ms", 12.5e6},
      {Quantity::Duration, "1.5 min", 90e9}, {Quantity::Duration, "2 h", 7200e9},
      {Quantity::Duration, "0 ns", 0},       {Quantity::Duration, "-1 ns", -1},
      {Quantity::Duration, "0.1 us", 100},   {Quantity::Rate, "25 Gbit/s", 25e9},
      {Quantity::Rate, "2.5 Mbit/s", 2.5e6}, {Quantity::Bytes, "64 KiB", 65536},
      {Quantity::Bytes, "1.5 MiB", 1572864}, {Quantity::Bytes, "1 kB", 1000},
      {Quantity::Bytes, "7 B", 7},           {Quantity::Ratio, "0.1 %", 0.001},
      {Quantity::Ratio, "100%", 1},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_quantity(row.quantity, row.text), row.value);
}

TEST(Quantity, texts_without_a_known_unit_are_refused) {
  for (const char* text : {"", "25", "ms", "25 m", "25 ms ms", "25 MS", " 25 ms", "x ms", "inf s",
                           "nan s", "25 ms ", "1e400 s", "0x10 ns"}) {
    EXPECT_EQ(parse_quantity(Quantity::Duration, text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_quantity(Quantity::Rate, "10 Gbps"), std::nullopt);
  EXPECT_EQ(parse_quantity(Quantity::Bytes, "64 KB"), std::nullopt);
}

TEST(Quantity, is_written_in_the_largest_unit_that_is_exact) {
  EXPECT_EQ(quantity_text(Quantity::Duration, 25e6), "25 ms");
  EXPECT_EQ(quantity_text(Quantity::Duration, 12.5e6), "12500 us");
  EXPECT_EQ(quantity_text(Quantity::Duration, 0), "0 ns");
  EXPECT_EQ(quantity_text(Quantity::Duration, 3600e9), "1 h");
  EXPECT_EQ(quantity_text(Quantity::Bytes, 9216), "9 KiB");
  EXPECT_EQ(quantity_text(Quantity::Bytes, 1000), "1000 B");
  EXPECT_EQ(quantity_text(Quantity::Rate, 25e9), "25 Gbit/s");
  EXPECT_EQ(quantity_text(Quantity::Ratio, 0.001), "0.001");
}

RC_GTEST_PROP(Quantity, what_is_written_reads_back, (uint32_t count)) {
  for (const Quantity quantity : {Quantity::Duration, Quantity::Rate, Quantity::Bytes}) {
    RC_ASSERT(parse_quantity(quantity, quantity_text(quantity, count)) == double{1} * count);
  }
}

}  // namespace
}  // namespace cw::config
