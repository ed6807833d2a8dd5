#include "control/config/text/read.h"

namespace cw::config {
namespace {

std::string value_text(const Key& key) {
  if (key.is_list()) return "[]";
  const bool is_bare = key.type() == Type::Integer || key.type() == Type::Real ||
                       key.type() == Type::Ratio || key.type() == Type::Bool;
  return is_bare && key.initial() != "none" ? key.initial() : "\"" + key.initial() + "\"";
}

std::string list_of(Type type) {
  return type == Type::Bytes ? "a list of sizes" : "a list of texts";
}

std::string accepted(const Key& key) {
  std::string text = key.is_list() ? list_of(key.type()) : std::string(name_of(key.type()));
  if (key.type() == Type::Choice) {
    text = "one of";
    for (const std::string& choice : key.choices()) text += " \"" + choice + "\"";
  }
  if (key.has_range()) text += ", " + key.range_text();
  if (key.has_none()) text += ", or \"none\"";
  if (key.is_required()) text += "; required";
  return key.kind() ? text + "; " + std::string(name_of(*key.kind())) : text;
}

void add_section(Section& section, bool is_row, std::string& text) {
  while (section.declare_more()) {
  }
  if (!section.path().empty()) {
    const std::string open = is_row ? "[[" : "[", close = is_row ? "]]" : "]";
    text += "\n# " + section.sentence() + "\n" + open + section.path() + close + "\n";
  }
  if (!section.like().empty()) {
    text += "# the keys of [" + section.like() + "]\n";
    return;
  }
  for (const Key& key : section.keys()) {
    text += key.name() + " = " + value_text(key) + "  # " + key.sentence() + " (" + accepted(key) +
            ")\n";
  }
  for (Section& inner : section.tables()) add_section(inner, false, text);
  for (const Section::Rows& rows : section.all_rows()) {
    Section row(section.path_of(rows.name), rows.name, rows.sentence);
    rows.declare(row, SIZE_MAX);
    add_section(row, true, text);
  }
}

void add_kinds(Section& section, Kinds& kinds) {
  while (section.declare_more()) {
  }
  kinds[section.path()] = section.kind();
  for (const Key& key : section.keys()) kinds[section.path_of(key.name())] = key.kind();
  for (Section& inner : section.tables()) add_kinds(inner, kinds);
  for (const Section::Rows& rows : section.all_rows()) {
    Section row(section.path_of(rows.name), rows.name, rows.sentence);
    rows.declare(row, SIZE_MAX);
    add_kinds(row, kinds);
  }
}

}  // namespace

Kinds kinds_of(Section& file) {
  Kinds kinds;
  add_kinds(file, kinds);
  return kinds;
}

std::string help(Section& file) {
  std::string text;
  add_section(file, false, text);
  return text.starts_with('\n') ? text.substr(1) : text;
}

}  // namespace cw::config
