// Files that a user names, read whole, each with the reason when that cannot be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace cw::config {

/// A configuration or scenario is a few kilobytes.
inline constexpr size_t text_bytes_max = 1 << 20;

/// Reads a file, or what a pipe gives until it ends, into `room`; how many bytes it has. Errors:
/// "FILE cannot be read (why)", or that it holds more than `room`.
Result<size_t> read_file(const std::string& file, std::span<char> room);

/// The same as a text, of `text_bytes_max` at most.
Result<std::string> text_of_file(const std::string& file);

/// Why a file was not replaced.
struct ReplaceTrouble {
  int error = 0;              ///< errno
  bool is_replacing = false;  ///< the new one was there; else it could not be written
};
enum class Lasting : uint8_t { No, Yes };
/// Where the new text is written, before it takes the file's place.
std::string draft_of(const std::string& file);
/// Whoever reads it sees the old text or the new one, never half of one; with Lasting::Yes, also
/// after the machine has stopped. What a killed process left as draft, or a stranger put there, is
/// not written to.
std::expected<void, ReplaceTrouble> replace_file(const std::string& file, std::string_view text,
                                                 Lasting lasting);

}  // namespace cw::config
