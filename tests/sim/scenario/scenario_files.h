// The shipped scenario files, read.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "control/sim/scenario.h"

namespace cw {

inline const std::filesystem::path scenarios =
    std::filesystem::path(CW_SOURCE_DIR) / "tests/sim/scenarios";

inline Scenario load(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const auto scenario = read_scenario(file.string(), text.str());
  EXPECT_TRUE(scenario) << scenario.error().sentence;
  return *scenario;
}

}  // namespace cw
