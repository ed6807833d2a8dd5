// The SDK's reference, the headers that it is of and the library say the same names.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>
#include <string>

#include "tests/command.h"
#include "tests/docs/document.h"

namespace cw::docs {
namespace {

using Names = std::set<std::string>;

constexpr std::array headers = {"dataplane/sdr/sdr.h", "dataplane/policy.h", "dataplane/codec.h",
                                "dataplane/collective/sdk/collective.h",
                                "dataplane/message/sdk/messages.h"};
constexpr std::array parts = {
    "dataplane/sdr/sdk-reference.md", "dataplane/sdr/sdk-reference-groups.md",
    "dataplane/sdr/sdk-reference-messages.md", "dataplane/sdr/sdk-reference-plugins.md"};
// Of the headers themselves: guards, and what is gone at their end.
const Names private_names = {"CW_SDR_H",        "CW_POLICY_H",   "CW_CODEC_H",
                             "CW_COLLECTIVE_H", "CW_MESSAGES_H", "CW_ABI_BYTES"};

std::string read(const char* path) {
  const std::string text = text_of(std::string(CW_SOURCE_DIR) + "/" + path);
  EXPECT_FALSE(text.empty()) << path;
  return text;
}

std::string without(std::string text, const std::string& begin, const std::string& end) {
  for (size_t at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
    const size_t behind = text.find(end, at + begin.size());
    text.erase(at, behind == text.npos ? text.npos : behind + end.size() - at);
  }
  return text;
}

bool is_of_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// All that begin with cw_ or CW_: everything public does.
Names names_in(const std::string& text) {
  Names names;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_of_name(text[end])) ++end;
    const std::string word = text.substr(at, end - at);
    if (word.starts_with("cw_") || word.starts_with("CW_")) names.insert(word);
    at = std::max(end, at + 1);
  }
  return names;
}

Names declared() {
  Names all;
  for (const char* header : headers) all.merge(names_in(without(read(header), "/*", "*/")));
  for (const std::string& name : private_names) all.erase(name);
  return all;
}

/// What headers declare as the library's.
Names functions() {
  Names all;
  for (const char* header : headers) {
    const std::string text = without(read(header), "/*", "*/");
    const std::string mark = "\nCW_API ";
    for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
      const size_t open = text.find('(', at);
      size_t first = open;
      while (first > 0 && is_of_name(text[first - 1])) --first;
      all.insert(text.substr(first, open - first));
    }
  }
  return all;
}

/// In words, tables and excerpts, not in programs.
Names documented() {
  Names all;
  for (const char* part : parts) all.merge(names_in(without(read(part), "```c file=", "\n```")));
  return all;
}

Names exported() {
  Names all;
  const auto output = test::output_of("nm -D --defined-only --extern-only " CW_LIBRARY);
  EXPECT_EQ(output.status, 0);
  for (const std::string& line : output.lines()) all.insert(line.substr(line.rfind(' ') + 1));
  return all;
}

/// Of the first those that the second lacks.
std::string missing(const Names& wanted, const Names& there) {
  Names left;
  std::ranges::set_difference(wanted, there, std::inserter(left, left.end()));
  std::string text;
  for (const std::string& name : left) text += name + "\n";
  return text;
}

TEST(Reference, names_all_that_installed_headers_declare) {
  EXPECT_EQ(missing(declared(), documented()), "");
}

TEST(Reference, names_nothing_else) { EXPECT_EQ(missing(documented(), declared()), ""); }

TEST(Reference, is_of_what_the_library_exports) {
  EXPECT_EQ(missing(functions(), exported()), "");
  EXPECT_EQ(missing(exported(), functions()), "");
  EXPECT_GT(functions().size(), 50u);
}

}  // namespace
}  // namespace cw::docs
