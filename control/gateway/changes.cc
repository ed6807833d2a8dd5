#include "control/gateway/changes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "control/config/text/read.h"
#include "control/gateway/keys/config.h"

namespace cw::site {
namespace {

using config::Entry;
using config::Kinds;
using config::Node;

std::string text_of(const Node& node) {
  std::string row;
  const auto add = [&row](const std::string& text) { row += (row.empty() ? "" : ", ") + text; };
  switch (node.kind) {
    case Node::Kind::List:
      for (const Node& item : node.items) add(text_of(item));
      return "[" + row + "]";
    case Node::Kind::Table:
      for (const Entry& each : node.entries) add(each.name + " = " + text_of(each.value));
      return "{" + row + "}";
    default:
      return node.shown();
  }
}

/// A place in a file: what a person calls it, and what the schema does.
struct Place {
  std::string key, path;

  Place within(const std::string& name) const {
    return key.empty() ? Place{name, name} : Place{key + "." + name, path + "." + name};
  }
  /// Entries of a list of tables are called by their names, so that one more moves no other.
  Place entry(const std::string& name) const { return {key + "." + name, path}; }
};

/// Null: it has none.
const std::string* name_in(const Node& item) {
  const Entry* const name = item.kind == Node::Kind::Table ? item.find("name") : nullptr;
  return name == nullptr ? nullptr : &name->value.text;
}

/// [[peer]] and the like, whose entries have names; any other list is one value.
bool has_names(const Node& node) {
  return node.kind == Node::Kind::List && !node.items.empty() &&
         std::ranges::all_of(node.items, name_in);
}

const Node* find_entry(const Node* list, const std::string& name) {
  if (list == nullptr) return nullptr;
  const auto found =
      std::ranges::find_if(list->items, [&](const Node& it) { return *name_in(it) == name; });
  return found == list->items.end() ? nullptr : &*found;
}

const Node* find_value(const Node* table, const std::string& name) {
  const Entry* const entry = table == nullptr ? nullptr : table->find(name);
  return entry == nullptr ? nullptr : &entry->value;
}

/// The names that both have, as `list` has them in a row.
std::string common_row(const Node* list, const Node* other) {
  std::string row;
  for (const Node& item : list->items) {
    const std::string& name = *name_in(item);
    if (find_entry(other, name) != nullptr) row += (row.empty() ? "" : ", ") + name;
  }
  return row;
}

/// Of two values for one place either may be missing: null.
class Merge {
 public:
  explicit Merge(const std::function<bool(const Change&)>& takes) : takes_(takes) {}

  std::optional<Node> value(const Node* before, const Node* after, const Place& place) const {
    const auto are_all = [&](const auto& is_so) {
      return (before == nullptr || is_so(*before)) && (after == nullptr || is_so(*after));
    };
    if (are_all(has_names)) return rows(before, after, place);
    if (are_all([](const Node& node) { return node.kind == Node::Kind::Table; })) {
      return table(before, after, place);
    }
    const std::string old = before == nullptr ? "" : text_of(*before),
                      now = after == nullptr ? "" : text_of(*after);
    const Node* const chosen = old != now && takes(place, old, now) ? after : before;
    return chosen == nullptr ? std::nullopt : std::optional(*chosen);
  }

 private:
  bool takes(const Place& place, std::string before, std::string after) const {
    return takes_({place.key, kind_of(place.path), std::move(before), std::move(after)});
  }

  /// One that is empty is there if both say so, or the one that has it.
  std::optional<Node> table(const Node* before, const Node* after, const Place& place) const {
    Node made = before == nullptr ? *after : *before;
    made.entries.clear();
    const auto add = [&](const Entry& entry, const Node* old, const Node* now) {
      auto merged = value(old, now, place.within(entry.name));
      if (merged) made.entries.push_back({entry.name, entry.place, std::move(*merged)});
    };
    if (before != nullptr) {
      for (const Entry& each : before->entries) {
        add(each, &each.value, find_value(after, each.name));
      }
    }
    if (after != nullptr) {
      for (const Entry& each : after->entries) {
        if (find_value(before, each.name) == nullptr) add(each, nullptr, &each.value);
      }
    }
    const Node* const only = before == nullptr ? after : after == nullptr ? before : nullptr;
    const bool has_emptied = only != nullptr && made.entries.empty() && !only->entries.empty();
    return has_emptied ? std::nullopt : std::optional(std::move(made));
  }

  std::optional<Node> rows(const Node* before, const Node* after, const Place& place) const {
    Node made = before == nullptr ? *after : *before;
    made.items.clear();
    const std::string there = "[[" + place.key + "]]";
    const auto is_taken = [&](const Node& item, const std::string& old, const std::string& now) {
      const Place here = place.entry(*name_in(item));
      return takes_({here.key, kind_of(place.within("name").path), old, now});
    };
    if (before != nullptr) {
      for (const Node& item : before->items) {
        const Node* const other = find_entry(after, *name_in(item));
        if (other != nullptr) {
          made.items.push_back(*value(&item, other, place.entry(*name_in(item))));
        } else if (!is_taken(item, there, "")) {
          made.items.push_back(item);
        }
      }
    }
    if (after != nullptr) {
      for (const Node& item : after->items) {
        if (find_entry(before, *name_in(item)) == nullptr && is_taken(item, "", there)) {
          made.items.push_back(item);
        }
      }
    }
    if (before != nullptr && after != nullptr) order(made, *before, *after, place);
    return made.items.empty() ? std::nullopt : std::optional(std::move(made));
  }

  /// Of classes the first that matches takes a packet; peers may stand in any order.
  void order(Node& made, const Node& before, const Node& after, const Place& place) const {
    if (place.path != "class") return;
    const std::string old = common_row(&before, &after), now = common_row(&after, &before);
    if (old != now && !takes_({place.key, KeyKind::Relink, old, now})) return;
    const auto place_of = [&](const Node& item) { return find_entry(&after, *name_in(item)); };
    // With one that is only here still, it is not the other's row.
    if (std::ranges::all_of(made.items, place_of)) std::ranges::sort(made.items, {}, place_of);
  }

  const std::function<bool(const Change&)>& takes_;
};

Node tree_of(std::string_view text) {
  auto tree = config::parse_toml(text);
  return tree ? std::move(*tree) : Node();
}

Kinds all_kinds() {
  config::Section schema;
  declare(schema, std::make_shared<Config>());
  return config::kinds_of(schema);
}

}  // namespace

KeyKind kind_of(std::string_view path) {
  static const Kinds kinds = all_kinds();
  for (std::string_view rest = path;; rest = rest.substr(0, rest.rfind('.'))) {
    const auto found = kinds.find(rest);
    if (found != kinds.end() && found->second) return *found->second;
    if (rest.find('.') == rest.npos) return KeyKind::Restart;
  }
}

Node merged(const Node& before, const Node& after,
            const std::function<bool(const Change&)>& takes) {
  return Merge(takes).value(&before, &after, {}).value_or(Node());
}

std::vector<Change> changes_between(const Node& before, const Node& after) {
  std::vector<Change> changes;
  (void)merged(before, after, [&changes](const Change& change) {
    changes.push_back(change);
    return false;
  });
  std::ranges::sort(changes, {}, &Change::key);
  return changes;
}

std::vector<Change> changes_between(std::string_view before, std::string_view after) {
  return changes_between(tree_of(before), tree_of(after));
}

}  // namespace cw::site
