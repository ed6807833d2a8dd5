// Files that a user names, read whole, each with the reason when that cannot be.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "dataplane/base/result.h"

namespace cw::config {

/// A configuration or scenario is a few kilobytes.
inline constexpr size_t text_bytes_max = 1 << 20;

/// Reads a file, or what a pipe gives until it ends, into `room`; how many bytes it has. Errors:
/// "FILE cannot be read (why)", or that it holds more than `room`.
Result<size_t> read_file(const std::string& file, std::span<char> room);

/// The same as a text, of `text_bytes_max` at most.
Result<std::string> text_of_file(const std::string& file);

}  // namespace cw::config
