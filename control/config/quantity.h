// Numbers with units, as people write and read them: "25 ms", "2.5 Gbit/s", "64 KiB", "0.1 %".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cw::config {

/// What a number counts. Whole ones are kept as integers of their base unit: nanoseconds, bits per
/// second, bytes; a ratio is a real number.
enum class Quantity : uint8_t { Duration, Rate, Bytes, Ratio };

/// The value in base units, rounded to the nearest; nothing when the text is no such quantity. The
/// unit is required; a space before it is not.
std::optional<double> parse_quantity(Quantity quantity, std::string_view text);

/// The shortest text with the largest unit in which it is exact: "25 ms", "0 ns".
std::string quantity_text(Quantity quantity, double value);
/// The units that are accepted, for a sentence: "ns, us, ms, s, min or h".
std::string_view units_of(Quantity quantity);
/// How such a value is written, for a sentence: "25 ms".
std::string_view example_of(Quantity quantity);

/// The shortest text that reads back as the same number.
std::string real_text(double value);

}  // namespace cw::config
