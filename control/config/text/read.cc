#include "control/config/text/read.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "control/config/nearest.h"

namespace cw::config {
namespace {

/// Stands in a file to begin with where nobody but its reader knows the value.
constexpr std::string_view to_edit = "EDIT: ";

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += "\"" + names[i] + "\"";
  }
  return text;
}

/// What to write for a value of this key.
std::string accepted(const Key& key) {
  const std::string none = key.has_none() ? ", or \"none\"" : "";
  if (key.type() == Type::Choice) return joined(key.choices()) + none;
  const std::string what(name_of(key.type()));
  const auto quantity = quantity_of(key.type());
  if (!quantity) return what + none;
  return what + " such as " + std::string(example_of(*quantity)) + none;
}

class Reader {
 public:
  explicit Reader(Mistakes& mistakes) : mistakes_(mistakes) {}

  void read_section(Section& section, const Node& table) {
    size_t keys = 0, tables = 0, rows = 0;
    do {
      while (keys < section.keys().size()) {
        const Key& key = section.keys()[keys++];
        const size_t before = mistakes_.size();
        read_key(section, key, table);
        if (mistakes_.size() > before) section.note_wrong(key.name());
      }
      while (tables < section.tables().size()) {
        read_table(section, section.tables()[tables++], table);
      }
      while (rows < section.all_rows().size()) {
        read_rows(section, section.all_rows()[rows++], table);
      }
    } while (section.declare_more());
    for (const auto& [key, sentence] : section.complaints()) {
      const Entry* entry = table.find(key);
      add(entry == nullptr ? table.place : entry->value.place, sentence);
    }
    if (!section.is_rest_left()) find_strangers(section, table);
  }

 private:
  void add(Place place, std::string sentence) { mistakes_.push_back({place, std::move(sentence)}); }

  void read_table(const Section& outer, Section& section, const Node& table) {
    static const Node nothing;
    const Entry* entry = table.find(section.name());
    if (entry != nullptr && entry->value.kind != Node::Kind::Table) {
      return add(entry->place, outer.path_of(section.name()) + " is " + entry->value.shown() +
                                   "; it must be a table: [" + section.path() + "]");
    }
    // Missing keys of a missing table are told in the place of the table around it.
    Node here = entry == nullptr ? nothing : entry->value;
    if (entry == nullptr) here.place = table.place;
    if (entry != nullptr) section.note_written();
    read_section(section, here);
  }

  void read_rows(const Section& outer, const Section::Rows& rows, const Node& table) {
    const Entry* entry = table.find(rows.name);
    if (entry == nullptr) return;
    const std::string path = outer.path_of(rows.name);
    const bool is_list = entry->value.kind == Node::Kind::List;
    if (!is_list || std::ranges::any_of(entry->value.items, [](const Node& item) {
          return item.kind != Node::Kind::Table;
        })) {
      return add(entry->place, path + " must be a row of tables: [[" + path + "]]");
    }
    for (size_t i = 0; i < entry->value.items.size(); ++i) {
      Section section(path, rows.name, rows.sentence);
      rows.declare(section, i);
      read_section(section, entry->value.items[i]);
    }
  }

  void read_key(const Section& section, const Key& key, const Node& table) {
    const std::string path = section.path_of(key.name());
    const Entry* entry = table.find(key.name());
    if (entry == nullptr) {
      if (key.is_required()) add(table.place, path + " is missing; it is " + accepted(key));
      return;
    }
    if (!key.is_list()) return read_value(key, path, entry->value);
    if (entry->value.kind != Node::Kind::List) {
      return add(entry->value.place,
                 path + " is " + entry->value.shown() + "; it must be a list of " + accepted(key));
    }
    key.clear();
    for (const Node& item : entry->value.items) read_value(key, path, item);
  }

  void read_value(const Key& key, const std::string& path, const Node& node) {
    const bool is_none = key.has_none() && node.kind == Node::Kind::Text && node.text == "none";
    if (is_none) return key.store({.is_none = true});
    if (node.kind == Node::Kind::Text && node.text.starts_with(to_edit)) {
      return add(node.place, path + " is yours to say: " + node.text.substr(to_edit.size()));
    }
    const auto value = value_of(key, node);
    if (value && has_control_character(value->text)) {
      return add(node.place, path + " holds a control character, which no text may");
    }
    if (!value) {
      return add(node.place,
                 path + " is " + node.shown() + "; it must be " + accepted(key) + hint(key, node));
    }
    if (!key.is_in_range(value->number)) {
      return add(node.place,
                 path + " is " + node.shown() + "; " + key.range_text() + " is accepted");
    }
    key.store(*value);
  }

  static std::optional<Value> value_of(const Key& key, const Node& node) {
    switch (key.type()) {
      case Type::Text:
        if (node.kind != Node::Kind::Text) return std::nullopt;
        return Value{.text = node.text};
      case Type::Bool:
        if (node.kind != Node::Kind::Bool) return std::nullopt;
        return Value{.number = node.flag ? 1.0 : 0.0};
      case Type::Choice:
        return choice_of(key, node);
      case Type::Integer:
        if (node.kind != Node::Kind::Integer) return std::nullopt;
        return Value{.number = static_cast<double>(node.integer)};
      case Type::Real:
        return number_of(node);
      case Type::Ratio:
        if (const auto number = number_of(node)) return number;
        [[fallthrough]];
      default:
        return quantity_from(*quantity_of(key.type()), node);
    }
  }

  /// They would end a name early, or write into the log what nobody logged.
  static bool has_control_character(std::string_view text) {
    return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 127; });
  }

  static std::optional<Value> choice_of(const Key& key, const Node& node) {
    if (node.kind != Node::Kind::Text) return std::nullopt;
    const auto found = std::ranges::find(key.choices(), node.text);
    if (found == key.choices().end()) return std::nullopt;
    return Value{.number = static_cast<double>(found - key.choices().begin())};
  }

  /// The choice that was probably meant.
  static std::string hint(const Key& key, const Node& node) {
    if (key.type() != Type::Choice || node.kind != Node::Kind::Text) return "";
    const std::string_view meant = nearest(node.text, key.choices());
    return meant.empty() ? "" : ": did you mean \"" + std::string(meant) + "\"?";
  }

  static std::optional<Value> number_of(const Node& node) {
    if (node.kind == Node::Kind::Integer) {
      return Value{.number = static_cast<double>(node.integer)};
    }
    if (node.kind != Node::Kind::Real || !std::isfinite(node.real)) return std::nullopt;
    return Value{.number = node.real};
  }

  static std::optional<Value> quantity_from(Quantity quantity, const Node& node) {
    if (node.kind != Node::Kind::Text) return std::nullopt;
    const auto number = parse_quantity(quantity, node.text);
    if (!number) return std::nullopt;
    return Value{.number = *number};
  }

  /// Names in the file that nobody declared.
  void find_strangers(Section& section, const Node& table) {
    std::vector<std::string> known;
    for (const Key& key : section.keys()) known.push_back(key.name());
    for (Section& inner : section.tables()) known.push_back(inner.name());
    for (const Section::Rows& rows : section.all_rows()) known.push_back(rows.name);
    for (const Entry& entry : table.entries) {
      if (std::ranges::find(known, entry.name) != known.end()) continue;
      const std::string_view meant = nearest(entry.name, known);
      add(entry.place, section.path_of(entry.name) + " is not known; " + advice(meant, known));
    }
  }

  static std::string advice(std::string_view meant, const std::vector<std::string>& known) {
    if (!meant.empty()) return "did you mean " + std::string(meant) + "?";
    if (known.empty()) return "there are no keys here";
    std::string text = "known here:";
    for (size_t i = 0; i < known.size(); ++i) text += (i == 0 ? " " : ", ") + known[i];
    return text;
  }

  Mistakes& mistakes_;
};

}  // namespace

Mistakes read(Section& file, std::string_view text) {
  const auto root = parse_toml(text);
  if (!root) return {root.error()};
  return read(file, *root);
}

Mistakes read(Section& file, const Node& root) {
  Mistakes mistakes;
  Reader(mistakes).read_section(file, root);
  std::ranges::sort(mistakes, {},
                    [](const Mistake& it) { return std::tie(it.place, it.sentence); });
  return mistakes;
}

std::string to_text(const Mistakes& mistakes, std::string_view name) {
  std::string text;
  for (const Mistake& mistake : mistakes) {
    if (!text.empty()) text += '\n';
    text += std::string(name) + ":" + std::to_string(mistake.place.line) + ":" +
            std::to_string(mistake.place.column) + ": " + mistake.sentence;
  }
  return text;
}

}  // namespace cw::config
