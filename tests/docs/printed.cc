#include "tests/docs/printed.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "tests/docs/document.h"

namespace cw::docs {
namespace {

constexpr std::array units = {"ns",        "us",        "ms",        "s",      "min",    "h",
                              "B",         "KiB",       "MiB",       "GiB",    "kB",     "MB",
                              "GB",        "bit/s",     "%",         "kbit/s", "Mbit/s", "Gbit/s",
                              "Kbits/sec", "Mbits/sec", "Gbits/sec", "KBytes", "MBytes", "GBytes"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// Behind a number that begins there: digits, with points, commas and colons between them, and a
/// power of ten.
size_t end_of_number(std::string_view text, size_t at) {
  while (at < text.size()) {
    const bool is_between = (text[at] == '.' || text[at] == ',' || text[at] == ':') &&
                            at + 1 < text.size() && is_digit(text[at + 1]);
    if (!is_digit(text[at]) && !is_between) break;
    ++at;
  }
  if (at + 2 < text.size() && text[at] == 'e' && (text[at + 1] == '-' || text[at + 1] == '+') &&
      is_digit(text[at + 2])) {
    at += 2;
    while (at < text.size() && is_digit(text[at])) ++at;
  }
  return at;
}

/// Behind a unit, with or without a blank before it; `at` where there is none.
size_t end_of_unit(std::string_view text, size_t at) {
  const size_t start = at < text.size() && text[at] == ' ' ? at + 1 : at;
  size_t end = at;
  for (const std::string_view unit : units) {
    const size_t behind = start + unit.size();
    if (text.substr(start, unit.size()) != unit || behind <= end) continue;
    if (behind == text.size() || !is_letter(text[behind]) || unit == "%") end = behind;
  }
  return end;
}

/// Whether `text` from `at` on begins with `pattern`.
bool begins(std::string_view pattern, std::string_view text, bool is_exact) {
  while (!pattern.empty()) {
    if (pattern.starts_with("...")) {
      pattern.remove_prefix(3);
      for (size_t i = 0; i <= text.size(); ++i) {
        if (begins(pattern, text.substr(i), is_exact)) return true;
      }
      return false;
    }
    if (text.empty()) return false;
    if (!is_exact && is_digit(pattern[0]) && is_digit(text[0])) {
      pattern.remove_prefix(end_of_number(pattern, 0));
      text.remove_prefix(end_of_number(text, 0));
      const size_t unit = end_of_unit(pattern, 0), other = end_of_unit(text, 0);
      if ((unit == 0) != (other == 0)) continue;
      pattern.remove_prefix(unit);
      text.remove_prefix(other);
      continue;
    }
    if (pattern[0] != text[0]) return false;
    pattern.remove_prefix(1);
    text.remove_prefix(1);
  }
  return true;
}

/// Runs of blanks become one, and there are none at the ends.
std::string plain(const std::string& line) {
  std::string text;
  for (const char c : line) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\r';
    if (!is_blank) text += c;
    if (is_blank && !text.empty() && text.back() != ' ') text += ' ';
  }
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

bool contains(const std::string& line, const std::string& pattern, bool is_exact) {
  for (size_t i = 0; i <= line.size(); ++i) {
    const bool is_inside_number = i > 0 && is_digit(line[i - 1]) && is_digit(pattern[0]);
    if (!is_inside_number && begins(pattern, std::string_view(line).substr(i), is_exact)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string missing_line(const std::string& expected, const std::string& printed, bool is_exact) {
  std::vector<std::string> lines;
  for (const std::string& line : lines_in(printed)) lines.push_back(plain(line));
  for (const std::string& line : lines_in(expected)) {
    const std::string pattern = plain(line);
    if (pattern.empty() || pattern == "...") continue;
    const auto has = [&](const std::string& each) { return contains(each, pattern, is_exact); };
    if (std::ranges::none_of(lines, has)) return line;
  }
  return {};
}

}  // namespace cw::docs
