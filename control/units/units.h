// Quantities as people write them on a command line, with the units of config files: "25ms", "2.5
// Gbit/s", "64KiB", "0.1%".
#pragma once

#include <cstdint>
#include <string_view>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"

namespace cw {

// Each refuses what it does not understand, what is negative and what does not fit, with a sentence
// that quotes the text and says what is accepted. A space before the unit is allowed.

/// A number and ns, us, ms, s, min or h; rounded to the nearest nanosecond.
Result<Duration> parse_duration(std::string_view text);
/// A number and bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s.
Result<Rate> parse_rate(std::string_view text);
/// A number and B, kB, KiB, MB, MiB, GB or GiB; a whole number alone counts bytes.
Result<Bytes> parse_bytes(std::string_view text);
/// A share from 0 to 1: "1%" or "0.01". A bare 1 is refused: it might mean one percent.
Result<double> parse_share(std::string_view text);
/// A whole number, or a real one; no unit.
Result<uint64_t> parse_count(std::string_view text);
Result<double> parse_real(std::string_view text);

}  // namespace cw
