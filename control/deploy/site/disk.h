// The sites' files in a folder: which of them are ours, and writing them.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"

namespace cw::deploy {

/// Above what was made: from which file, and a sum by which it is seen whether somebody has changed
/// it since.
std::string with_head(const std::string& body, const std::string& site,
                      const std::string& deployment);

struct Found {
  enum class State : uint8_t {
    Missing,
    Made,     ///< by us, and nobody has changed it
    Edited,   ///< by us, and changed
    Foreign,  ///< by somebody else
  };
  State state = State::Missing;
  std::string text;  ///< with its head
};

/// Errors: it is there and cannot be read.
Result<Found> find_file(const std::string& file);
/// The old one or the new one is there at any time. Errors: one sentence.
Result<void> write_file(const std::string& file, const std::string& text);

}  // namespace cw::deploy
