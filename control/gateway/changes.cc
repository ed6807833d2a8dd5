#include "control/gateway/changes.h"

#include <map>
#include <utility>

#include "control/config/text/tree.h"

namespace cw::site {
namespace {

using config::Entry;
using config::Node;

using Values = std::map<std::string, std::string>;  // by key, as text

void flatten(const Node& node, const std::string& key, Values& values);

/// Entries of a list of tables are called by their names, so that one more moves no other.
void flatten_list(const Node& list, const std::string& key, Values& values) {
  size_t index = 0;
  for (const Node& item : list.items) {
    const Entry* const name = item.kind == Node::Kind::Table ? item.find("name") : nullptr;
    const std::string called =
        name != nullptr ? name->value.text : std::to_string(std::exchange(index, index + 1));
    flatten(item, key + "." + called, values);
  }
}

void flatten(const Node& node, const std::string& key, Values& values) {
  switch (node.kind) {
    case Node::Kind::Table:
      for (const Entry& entry : node.entries) {
        flatten(entry.value, key.empty() ? entry.name : key + "." + entry.name, values);
      }
      return;
    case Node::Kind::List:
      return flatten_list(node, key, values);
    default:
      values[key] = node.shown();
  }
}

Values values_of(std::string_view text) {
  Values values;
  if (const auto tree = config::parse_toml(text)) flatten(*tree, "", values);
  return values;
}

/// `class.NAME.policy` and `class.NAME.params.x`; a name may have dots. Plugins are what policies
/// are found in.
KeyKind kind_of(std::string_view key) {
  if (key.starts_with("site.plugins.")) return KeyKind::Swap;
  if (!key.starts_with("class.")) return KeyKind::Restart;
  const bool is_swap = key.ends_with(".policy") || key.find(".params.") != key.npos;
  return is_swap ? KeyKind::Swap : KeyKind::Restart;
}

}  // namespace

std::vector<Change> changes_between(std::string_view before, std::string_view after) {
  const Values old = values_of(before);
  Values changed = values_of(after);
  for (const auto& [key, value] : old) {
    const auto found = changed.find(key);
    if (found == changed.end()) {
      changed[key] = "";
    } else if (found->second == value) {
      changed.erase(found);
    }
  }
  std::vector<Change> changes;
  for (const auto& [key, value] : changed) changes.push_back({key, kind_of(key)});
  return changes;
}

}  // namespace cw::site
