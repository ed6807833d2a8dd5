// Files that a user names, read whole, each with the reason when that cannot be.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

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

/// Fills `room` as far as the descriptor has bytes; how many those are. -1: errno.
ssize_t fill(int fd, std::span<char> room);
/// All of it. False: errno; a full disk takes a part first and says why with the rest.
bool try_write_all(int fd, std::string_view text);
/// What a file's mode has none of that is its owner's alone.
inline constexpr mode_t of_others = S_IRWXG | S_IRWXO;
/// "0640", as chmod takes it.
std::string mode_text(mode_t mode);

/// Reads a file, or what a pipe gives until it ends, into `room`; how many bytes it has. Errors:
/// "FILE cannot be read (why)", or that it holds more than `room`.
Result<size_t> read_file(const std::string& file, std::span<char> room);

/// The same as a text.
Result<std::string> text_of_file(const std::string& file, size_t bytes_max = text_bytes_max);

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
