#include "control/units/units.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "control/config/quantity.h"

namespace cw {
namespace {

using config::Quantity;

std::unexpected<Error> refusal(std::string_view text, std::string_view accepted) {
  return failure("\"" + std::string(text) + "\" is not " + std::string(accepted));
}

std::unexpected<Error> refusal(std::string_view text, const char* what, Quantity quantity) {
  return refusal(text, std::string(what) + ": a number and " +
                           std::string(config::units_of(quantity)) + ", as in " +
                           std::string(config::example_of(quantity)));
}

/// A whole number of base units that fits, or nothing; nothing below zero either.
std::optional<int64_t> integer_of(std::string_view text, Quantity quantity) {
  const auto number = config::parse_quantity(quantity, text);
  if (!number || std::signbit(*number) || *number >= 0x1p63) return std::nullopt;
  return static_cast<int64_t>(*number);
}

/// A number without a unit, or nothing; nothing below zero either.
std::optional<double> bare_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() &&
                         std::isfinite(number) && !std::signbit(number);
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto ns = integer_of(text, Quantity::Duration);
  if (!ns) return refusal(text, "a time", Quantity::Duration);
  return Duration::from_ns(*ns);
}

Result<Rate> parse_rate(std::string_view text) {
  const auto bps = integer_of(text, Quantity::Rate);
  if (!bps) return refusal(text, "a rate", Quantity::Rate);
  return Rate::from_bps(static_cast<uint64_t>(*bps));
}

Result<Bytes> parse_bytes(std::string_view text) {
  if (const auto bytes = parse_count(text)) return Bytes(*bytes);
  const auto bytes = integer_of(text, Quantity::Bytes);
  if (!bytes) return refusal(text, "a size", Quantity::Bytes);
  return Bytes(static_cast<uint64_t>(*bytes));
}

Result<double> parse_share(std::string_view text) {
  const auto with_unit = config::parse_quantity(Quantity::Ratio, text);
  const auto share = with_unit ? with_unit : bare_number(text);
  if (!share || std::signbit(*share) || *share > 1 || (*share == 1 && !with_unit)) {
    return refusal(text, "a share: 0% to 100%, or a number below 1, as in 0.1% or 0.001");
  }
  return *share;
}

Result<uint64_t> parse_count(std::string_view text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) {
    return refusal(text, "a whole number");
  }
  return count;
}

Result<double> parse_real(std::string_view text) {
  const auto number = bare_number(text);
  if (!number) return refusal(text, "a number from 0 up");
  return *number;
}

}  // namespace cw
