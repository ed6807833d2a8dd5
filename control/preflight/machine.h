// What a machine says of itself in files: /sys, /proc, /dev. All are looked up below a root, so
// that a test can lay out a machine of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cw::preflight {

/// Thread: any. Files that are not there are empty, and not errors.
class Machine {
 public:
  explicit Machine(std::filesystem::path root = "/") : root_(std::move(root)) {}

  /// `name` is relative, such as "proc/cmdline".
  std::filesystem::path path(std::string_view name) const { return root_ / name; }
  bool has(std::string_view name) const;
  /// A file's content without the white space at its end.
  std::string text(std::string_view name) const;
  std::optional<int64_t> number(std::string_view name) const;
  std::vector<std::string> lines(std::string_view name) const;
  /// What is in a folder, sorted.
  std::vector<std::string> names(std::string_view folder) const;
  /// The last part of what a symbolic link points to; empty: it is none.
  std::string link(std::string_view name) const;
  /// Whether a library is where Linux distributions keep them; `name` may be below a folder there.
  bool has_library(std::string_view name) const;

 private:
  std::filesystem::path root_;
};

/// Whether a set of processors as the kernel writes it has one: "0-2,5" has 0, 1, 2 and 5.
bool has_number(std::string_view list, uint32_t number);

std::vector<std::string> words_of(const std::string& line);

}  // namespace cw::preflight
