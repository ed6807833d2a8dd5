// Whether a program printed what a document says. Figures differ from run to run: a number in the
// document stands for any number, with any unit where it has one, and `...` for anything.
#pragma once

#include <string>
#include <vector>

namespace cw::docs {

/// The first line of `expected` that no line of `printed` contains; empty when there is none.
/// Runs of blanks are alike. With `is_exact` numbers are themselves. A line `...` is always there.
std::string missing_line(const std::string& expected, const std::string& printed, bool is_exact);

}  // namespace cw::docs
