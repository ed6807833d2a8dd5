#include "control/config/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace cw::config {
namespace {

struct Unit {
  std::string_view name;
  double size;
  bool is_written = true;  // false: understood, but never the way we print
};

// From small to large.
constexpr std::array duration_units = {Unit{"ns", 1},  Unit{"us", 1e3},   Unit{"ms", 1e6},
                                       Unit{"s", 1e9}, Unit{"min", 60e9}, Unit{"h", 3600e9}};
constexpr std::array rate_units = {Unit{"bit/s", 1}, Unit{"kbit/s", 1e3}, Unit{"Mbit/s", 1e6},
                                   Unit{"Gbit/s", 1e9}, Unit{"Tbit/s", 1e12}};
constexpr std::array bytes_units = {Unit{"B", 1},
                                    Unit{"kB", 1e3, false},
                                    Unit{"KiB", 1024.0},
                                    Unit{"MB", 1e6, false},
                                    Unit{"MiB", 1048576.0},
                                    Unit{"GB", 1e9, false},
                                    Unit{"GiB", 1073741824.0}};
constexpr std::array ratio_units = {Unit{"%", 0.01}};

std::span<const Unit> units(Quantity quantity) {
  switch (quantity) {
    case Quantity::Duration:
      return duration_units;
    case Quantity::Rate:
      return rate_units;
    case Quantity::Bytes:
      return bytes_units;
    case Quantity::Ratio:
      return ratio_units;
  }
  return {};
}

}  // namespace

std::optional<double> parse_quantity(Quantity quantity, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  for (const Unit& unit : units(quantity)) {
    if (unit.name != text) continue;
    if (quantity == Quantity::Ratio) return number / 100;
    return std::round(number * unit.size);
  }
  return std::nullopt;
}

std::string quantity_text(Quantity quantity, double value) {
  if (quantity == Quantity::Ratio) return real_text(value);
  Unit best = units(quantity).front();
  for (const Unit& unit : units(quantity)) {
    if (unit.is_written && value != 0 && std::fmod(value, unit.size) == 0) best = unit;
  }
  return real_text(value / best.size) + " " + std::string(best.name);
}

std::string_view units_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::Duration:
      return "ns, us, ms, s, min or h";
    case Quantity::Rate:
      return "bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s";
    case Quantity::Bytes:
      return "B, kB, KiB, MB, MiB, GB or GiB";
    case Quantity::Ratio:
      return "%, or none at all";
  }
  return {};
}

std::string_view example_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::Duration:
      return "\"25 ms\"";
    case Quantity::Rate:
      return "\"10 Gbit/s\"";
    case Quantity::Bytes:
      return "\"64 KiB\"";
    case Quantity::Ratio:
      return "\"0.1 %\" or 0.001";
  }
  return {};
}

std::string real_text(double value) {
  std::array<char, 40> text;
  const bool is_plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e16);
  const auto result = is_plain
                          ? std::to_chars(text.begin(), text.end(), value, std::chars_format::fixed)
                          : std::to_chars(text.begin(), text.end(), value);
  return {text.data(), result.ptr};
}

}  // namespace cw::config
