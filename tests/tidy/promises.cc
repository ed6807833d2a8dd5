#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/rules.h"

namespace cw::tidy {
namespace {

constexpr std::string_view reasons_path = "dataplane/core/drop_reasons.def";
constexpr std::string_view spec_path = "dataplane/wire/SPEC.md";
constexpr std::string_view own_folder = "tests/tidy";  // its strings are examples, not citations

const File* find(const Files& files, std::string_view path) {
  const auto file = std::ranges::find(files, path, &File::path);
  return file == files.end() ? nullptr : &*file;
}

size_t line_at(std::string_view text, size_t offset) {
  return 1 + static_cast<size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

/// Where each thing was first seen: path and line.
struct Place {
  std::string path;
  size_t line;
};
using Places = std::map<std::string, Place>;

Places matches_of(const File& file, const std::regex& pattern) {
  Places places;
  for (std::sregex_iterator match(file.text.begin(), file.text.end(), pattern), end; match != end;
       ++match) {
    const auto offset = static_cast<size_t>(match->position());
    places.try_emplace((*match)[1], Place{file.path, line_at(file.text, offset)});
  }
  return places;
}

std::set<std::string> words_of_tests(const Files& files) {
  std::set<std::string> words;
  for (const File& file : files) {
    if (!is_below(file.path, "tests") || is_below(file.path, own_folder)) continue;
    for (const Word& word : words_of(file.code)) words.emplace(word.text);
  }
  return words;
}

bool is_sentence(const std::string& text) { return std::ranges::count(text, ' ') >= 2; }

}  // namespace

Violations check_drop_reasons(const Files& files) {
  // The first group is the name, the second the sentence.
  static const std::pair<std::string_view, std::regex> tables[] = {
      {reasons_path, std::regex("CW_DROP\\(\\s*(\\w+)\\s*,\\s*\"([^\"]*)\"")},
      {"dataplane/wire/errors.def",
       std::regex("CW_WIRE_ERROR\\(\\s*\\w+\\s*,\\s*(\\w+)\\s*,\\s*\"([^\"]*)\"")},
      {"dataplane/wire/control_errors.def",
       std::regex("CW_CONTROL_ERROR\\(\\s*(\\w+)\\s*,\\s*\\w+\\s*,\\s*\"([^\"]*)\"")}};
  Violations found;
  std::set<std::string> names, sentences;
  const std::set<std::string> tested = words_of_tests(files);
  for (const auto& [path, entry] : tables) {
    const File* const table = find(files, path);
    if (table == nullptr) continue;
    const std::string& text = table->text;
    for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match) {
      const auto offset = static_cast<size_t>(match->position());
      if (table->code[offset] == ' ') continue;  // in a comment
      const std::string name = (*match)[1], sentence = (*match)[2];
      const auto object = [&](const std::string& advice) {
        found.push_back({table->path, line_at(text, offset), "drop-reason", name + ": " + advice});
      };
      if (!is_sentence(sentence)) object("say in one sentence why a packet is dropped");
      if (!names.insert(name).second) object("declared twice");
      if (!sentences.insert(sentence).second)
        object("two reasons with one sentence are one reason");
      if (!tested.contains(name)) object("provoke it in a test that names it");
    }
  }
  return found;
}

Violations check_citations(const Files& files) {
  static const std::regex id("\\[([A-Z]+-[0-9]+)\\]");
  const File* const spec = find(files, spec_path);
  if (spec == nullptr) return {};
  const Places rules = matches_of(*spec, id);
  if (rules.empty()) return {};
  Violations found;
  std::set<std::string> cited;
  for (const File& file : files) {
    if (!is_cpp(file.path) || is_below(file.path, own_folder)) continue;
    for (const auto& [rule, place] : matches_of(file, id)) {
      cited.insert(rule);
      if (rules.contains(rule)) continue;
      found.push_back({place.path, place.line, "citation",
                       "[" + rule + "] is not in SPEC.md: correct the id or write the rule"});
    }
  }
  for (const auto& [rule, place] : rules) {
    if (cited.contains(rule)) continue;
    found.push_back({place.path, place.line, "citation",
                     "[" + rule + "] is cited nowhere: name it where code or a test keeps it"});
  }
  return found;
}

}  // namespace cw::tidy
