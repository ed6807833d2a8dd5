// The layout of a C door as text, one line per fact, so that a golden file can hold it:
//
//   abi 1.0
//   cw_param 64 in arrays          size of a struct
//   cw_param.name 0 8              offset and size of a field
//   CW_CODED_OK 0                  a value that crosses the door
#pragma once

#include <optional>
#include <string>

#include "dataplane/base/result.h"

namespace cw::plugins_test {

/// A door: its header and its golden file, both relative to the repository, and its layout as this
/// compiler sees it.
struct Door {
  const char* header;
  const char* golden;
  std::string layout;
};

Door policy_door();
Door codec_door();

/// Says why `layout` may not follow `before`. Within a version nothing changes; within a major,
/// structs grow at their end, those that travel in arrays do not, and values are only added.
std::optional<std::string> objection(const std::string& before, const std::string& layout);

std::string read_text(const std::string& path);

/// Replaces the golden file, unless objection() forbids it.
Result<void> write_golden(const std::string& path, const std::string& layout);

}  // namespace cw::plugins_test
