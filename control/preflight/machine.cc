#include "control/preflight/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace cw::preflight {

namespace fs = std::filesystem;

bool Machine::has(std::string_view name) const {
  std::error_code ignored;
  return fs::exists(path(name), ignored);
}

std::string Machine::text(std::string_view name) const {
  std::ifstream stream(path(name));
  std::ostringstream text;
  text << stream.rdbuf();
  std::string all = text.str();
  all.erase(all.find_last_not_of(" \t\n") + 1);
  return all;
}

std::optional<int64_t> Machine::number(std::string_view name) const {
  const std::string digits = text(name);
  int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc()) return std::nullopt;
  return value;
}

std::vector<std::string> Machine::lines(std::string_view name) const {
  std::vector<std::string> all;
  std::istringstream stream(text(name));
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

std::vector<std::string> Machine::names(std::string_view folder) const {
  std::vector<std::string> all;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path(folder), ignored)) {
    all.push_back(entry.path().filename().string());
  }
  std::ranges::sort(all);
  return all;
}

std::string Machine::link(std::string_view name) const {
  std::error_code ignored;
  return fs::read_symlink(path(name), ignored).filename().string();
}

bool Machine::has_library(std::string_view name) const {
  const auto is_in = [&](const std::string& folder) {
    return has(folder + "/" + std::string(name));
  };
  if (is_in("usr/lib") || is_in("usr/lib64") || is_in("usr/local/lib")) return true;
  const auto folders = names("usr/lib");  // of each architecture
  return std::ranges::any_of(folders, [&](const auto& each) { return is_in("usr/lib/" + each); });
}

// A range is never written out: it may be of any length, where somebody wrote the kernel's line.
bool has_number(std::string_view list, uint32_t number) {
  std::istringstream stream{std::string(list)};
  for (std::string part; std::getline(stream, part, ',');) {
    uint32_t first = 0;
    const char* const end = part.data() + part.size();
    const auto read = std::from_chars(part.data(), end, first);
    if (read.ec != std::errc()) continue;
    uint32_t final = first;
    if (read.ptr != end && *read.ptr == '-') std::from_chars(read.ptr + 1, end, final);
    if (first <= number && number <= final) return true;
  }
  return false;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> all;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

}  // namespace cw::preflight
