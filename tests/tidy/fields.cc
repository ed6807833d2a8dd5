#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/rules.h"

namespace cw::tidy {
namespace {

constexpr std::string_view header_path = "dataplane/policy.h";
constexpr std::string_view table_path = "policies/fields.md";
constexpr std::string_view rule = "policy-field";

const File* find(const Files& files, std::string_view path) {
  const auto file = std::ranges::find(files, path, &File::path);
  return file == files.end() ? nullptr : &*file;
}

size_t line_at(std::string_view text, ptrdiff_t offset) {
  return 1 + static_cast<size_t>(std::ranges::count(text.substr(0, size_t(offset)), '\n'));
}

template <class Each>
void for_each_match(const std::string& text, const std::regex& pattern, Each&& each) {
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    each(*match);
  }
}

/// "struct.field" and its line.
using Fields = std::map<std::string, size_t>;

/// Padding, and the union of decisions, whose members are structs of their own, need no test.
Fields fields_of(const File& header) {
  static const std::regex of_struct("struct (cw_\\w+) \\{\\n([^]*?)\\n\\};");
  // The last word before a comma or semicolon, or the name of a pointer to a function.
  static const std::regex field("\\(\\*(\\w+)\\)\\([^;]*;|(\\w+)(?=[,;])");
  Fields fields;
  for_each_match(header.code, of_struct, [&](const std::smatch& found) {
    const std::string body =
        std::regex_replace(found[2].str(), std::regex("union \\{[^]*?\\} \\w+;"), std::string());
    for_each_match(body, field, [&](const std::smatch& each) {
      const std::string name = each[1].matched ? each[1] : each[2];
      if (name == "reserved") return;
      fields.emplace(found[1].str() + "." + name, line_at(header.code, found.position()));
    });
  });
  return fields;
}

/// "Suite.name" of every test.
std::set<std::string> tests_of(const Files& files) {
  static const std::regex test("\\bTEST(?:_F|_P)?\\(\\s*(\\w+),\\s*(\\w+)\\)");
  std::set<std::string> tests;
  for (const File& file : files) {
    if (!is_below(file.path, "tests") || is_below(file.path, "tests/tidy")) continue;
    for_each_match(file.code, test, [&](const std::smatch& found) {
      tests.insert(found[1].str() + "." + found[2].str());
    });
  }
  return tests;
}

}  // namespace

// A row is "| struct | field, field | Suite.test |".
Violations check_policy_fields(const Files& files) {
  const File* const header = find(files, header_path);
  const File* const table = find(files, table_path);
  if (header == nullptr || table == nullptr) return {};
  static const std::regex row("\\| `(cw_\\w+)` \\| ([^|\\n]*) \\| `(\\w+\\.\\w+)` \\|");
  static const std::regex word("\\w+");
  const std::set<std::string> tests = tests_of(files);
  Fields missing = fields_of(*header);
  const Fields known = missing;
  Violations found;
  for_each_match(table->text, row, [&](const std::smatch& match) {
    const size_t line = line_at(table->text, match.position());
    const auto object = [&](const std::string& advice) {
      found.push_back({table->path, line, std::string(rule), advice});
    };
    if (!tests.contains(match[3])) object(match[3].str() + " is no test: name one that there is");
    for_each_match(match[2], word, [&](const std::smatch& name) {
      const std::string field = match[1].str() + "." + name.str();
      if (!known.contains(field)) object(field + " is no field: take it off the table");
      missing.erase(field);
    });
  });
  for (const auto& [field, line] : missing) {
    found.push_back({header->path, line, std::string(rule),
                     field + " is in no row of " + std::string(table_path) +
                         ": write the test that sees it and name it there"});
  }
  return found;
}

}  // namespace cw::tidy
