#include "control/config/text/tree.h"

#include <algorithm>
#include <utility>

#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
// 3.3 asserts what it then finds and tells: "[~" is no key.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include "control/config/quantity.h"
#include "control/config/text/hard_to_parse.h"

namespace cw::config {
namespace {

Place place_of(const toml::source_region& source) {
  return {source.begin.line, source.begin.column};
}

Node node_of(const toml::node& from);

void take_entries(const toml::table& table, Node& node) {
  node.kind = Node::Kind::Table;
  for (const auto& [key, value] : table) {
    node.entries.push_back({std::string(key.str()), place_of(key.source()), node_of(value)});
  }
  std::ranges::sort(node.entries, {}, &Entry::place);
}

void take_items(const toml::array& array, Node& node) {
  node.kind = Node::Kind::List;
  for (const toml::node& item : array) node.items.push_back(node_of(item));
}

Node node_of(const toml::node& from) {
  Node node;
  node.place = place_of(from.source());
  if (const auto* table = from.as_table()) {
    take_entries(*table, node);
  } else if (const auto* array = from.as_array()) {
    take_items(*array, node);
  } else if (const auto* text = from.as_string()) {
    node.kind = Node::Kind::Text;
    node.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    node.kind = Node::Kind::Integer;
    node.integer = integer->get();
  } else if (const auto* real = from.as_floating_point()) {
    node.kind = Node::Kind::Real;
    node.real = real->get();
  } else if (const auto* flag = from.as_boolean()) {
    node.kind = Node::Kind::Bool;
    node.flag = flag->get();
  } else {
    node.kind = Node::Kind::Time;
  }
  return node;
}

}  // namespace

const Entry* Node::find(std::string_view name) const {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : &*found;
}

std::string Node::shown() const {
  switch (kind) {
    case Kind::Table:
      return "a table";
    case Kind::List:
      return "a list";
    case Kind::Text:
      return "\"" + text + "\"";
    case Kind::Integer:
      return std::to_string(integer);
    case Kind::Real:
      return real_text(real);
    case Kind::Bool:
      return flag ? "true" : "false";
    case Kind::Time:
      return "a date or a time";
  }
  return {};
}

std::expected<Node, Mistake> parse_toml(std::string_view text) {
  if (auto hard = first_hard_to_parse(text)) return std::unexpected(std::move(*hard));
  try {
    // What is quoted in a text that is no TOML only the library knows: a mistake that it makes out
    // without letters beyond ASCII keeps it from asking what these are.
    static_cast<void>(toml::parse(in_ascii(text)));
    Node root;
    take_entries(toml::parse(text), root);
    root.place = {1, 1};
    return root;
  } catch (const toml::parse_error& error) {
    return std::unexpected(
        Mistake{place_of(error.source()), "syntax: " + std::string(error.description())});
  } catch (const std::exception& error) {
    return std::unexpected(Mistake{{}, std::string("cannot be read: ") + error.what()});
  }
}

}  // namespace cw::config
