#include <algorithm>
#include <array>
#include <map>

#include "tests/tidy/rules.h"

namespace cw::tidy {
namespace {

constexpr size_t line_columns_max = 100;
constexpr size_t function_lines_max = 70;
constexpr size_t source_lines_max = 500;
constexpr size_t header_lines_max = 250;
constexpr size_t door_lines_max = 150;
constexpr size_t abi_lines_max = 520;
constexpr size_t room_sources_max = 12;

constexpr std::array doors = {"dataplane/port.h", "offload/crc32.h", "offload/mac.h"};
// Plain C for strangers: each is its own manual, with every field explained.
constexpr std::array abis = {"dataplane/policy.h", "dataplane/codec.h", "dataplane/sdr/sdr.h",
                             "offload/bitmap.h"};
constexpr std::array function_rooms = {"dataplane", "policies", "plugins", "offload", "control"};

// Prose and data keep their own line lengths.
bool is_code(const std::string& path) {
  return !path.ends_with(".md") && !path.ends_with(".json") && !path.ends_with(".svg") &&
         path != "LICENSE" && !path.starts_with("tests/data/");
}

// Columns, not bytes: the continuation bytes of UTF-8 take none.
size_t columns_of(std::string_view line) {
  return static_cast<size_t>(
      std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
}

size_t lines_max(const std::string& path) {
  if (std::ranges::find(doors, path) != doors.end()) return door_lines_max;
  if (std::ranges::find(abis, path) != abis.end()) return abi_lines_max;
  return is_header(path) ? header_lines_max : source_lines_max;
}

// Written apart, so that this file obeys itself.
bool is_unfinished(const Word& word) {
  return word.text ==
             "TO"
             "DO" ||
         word.text ==
             "FIX"
             "ME" ||
         word.text ==
             "XX"
             "X";
}

void check_lines(const File& file, Violations& found) {
  const auto lines = lines_of(file.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t columns = columns_of(lines[i]);
    if (is_code(file.path) && columns > line_columns_max) {
      found.push_back({file.path, i + 1, "line-length",
                       std::to_string(columns) + " columns; break it before 100"});
    }
    if (lines[i].find('\t') != std::string_view::npos) {
      found.push_back({file.path, i + 1, "no-tabs", "indent with spaces (clang-format does)"});
    }
    if (std::ranges::any_of(words_of(lines[i]), is_unfinished)) {
      found.push_back({file.path, i + 1, "unfinished", "finish it, or open an issue instead"});
    }
  }
}

void check_whole(const File& file, Violations& found) {
  const size_t line_count = lines_of(file.text).size();
  if (is_cpp(file.path) && line_count > lines_max(file.path)) {
    found.push_back({file.path, line_count, "file-length",
                     std::to_string(line_count) + " lines where " +
                         std::to_string(lines_max(file.path)) +
                         " are the most: split it where its description needs an `and`"});
  }
  if (!file.text.empty() && file.text.back() != '\n') {
    found.push_back({file.path, line_count, "last-newline", "end the file with a newline"});
  }
  if (file.text.starts_with("#!") && !file.is_executable) {
    found.push_back({file.path, 1, "executable", "a script: chmod +x"});
  }
}

void check_functions(const File& file, Violations& found) {
  const bool has_functions = std::ranges::any_of(
      function_rooms, [&](const char* room) { return is_below(file.path, room); });
  if (!has_functions || !is_cpp(file.path) || is_header(file.path)) return;
  for (const Function& function : functions_of(file.code)) {
    if (function.line_count <= function_lines_max) continue;
    found.push_back({file.path, function.line, "function-length",
                     std::to_string(function.line_count) +
                         " lines where 70 are the most: keep the control flow, move loops and "
                         "cases into functions of their own"});
  }
}

// Those of its sub-rooms are their own.
void check_rooms(const Files& files, Violations& found) {
  std::map<std::string, size_t> sources;
  for (const File& file : files) {
    const bool is_of_a_room = std::ranges::any_of(
        function_rooms, [&](const char* room) { return is_below(file.path, room); });
    if (is_of_a_room && is_cpp(file.path)) ++sources[file.path.substr(0, file.path.rfind('/'))];
  }
  for (const auto& [room, count] : sources) {
    if (count <= room_sources_max) continue;
    found.push_back({room, 0, "room-size",
                     std::to_string(count) + " sources where 12 are the most: give those of one "
                                             "subject a room within"});
  }
}

}  // namespace

Violations check_shape(const Files& files) {
  Violations found;
  for (const File& file : files) {
    if (is_below(file.path, "tests/data")) continue;  // as it was written by others
    check_lines(file, found);
    check_whole(file, found);
    check_functions(file, found);
  }
  check_rooms(files, found);
  return found;
}

}  // namespace cw::tidy
