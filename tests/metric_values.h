// What a scraper reads in metrics.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

namespace cw::test {

/// The value of each line, by all that stands before it.
inline std::map<std::string, double> metric_values(const std::string& text) {
  std::map<std::string, double> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t end = line.rfind(' ');
    EXPECT_TRUE(values.emplace(line.substr(0, end), std::stod(line.substr(end + 1))).second)
        << "twice: " << line;
  }
  return values;
}

}  // namespace cw::test
