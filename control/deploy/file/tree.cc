#include "control/deploy/file/tree.h"

#include <algorithm>

namespace cw::deploy {

using config::Entry;

const Node* find(const Node& table, std::initializer_list<std::string_view> path) {
  const Node* here = &table;
  for (const std::string_view name : path) {
    const Entry* const entry = here->kind == Node::Kind::Table ? here->find(name) : nullptr;
    if (entry == nullptr) return nullptr;
    here = &entry->value;
  }
  return here;
}

std::string text_at(const Node& table, std::initializer_list<std::string_view> path) {
  const Node* const found = find(table, path);
  return found != nullptr && found->kind == Node::Kind::Text ? found->text : "";
}

Node text_node(std::string text, Place place) {
  Node node{.kind = Node::Kind::Text, .place = place};
  node.text = std::move(text);
  return node;
}

Node integer_node(int64_t value, Place place) {
  Node node{.kind = Node::Kind::Integer, .place = place};
  node.integer = value;
  return node;
}

Node list_node(Place place) { return {.kind = Node::Kind::List, .place = place}; }

void put(Node& table, const std::string& name, Node value) {
  const auto found = std::ranges::find(table.entries, name, &Entry::name);
  if (found != table.entries.end()) return void(found->value = std::move(value));
  const Place place = value.place;
  table.entries.push_back({name, place, std::move(value)});
}

void take_out(Node& table, std::string_view name) {
  std::erase_if(table.entries, [&](const Entry& each) { return each.name == name; });
}

void put_all(Node& table, const Node& more) {
  for (const Entry& each : more.entries) {
    const auto found = std::ranges::find(table.entries, each.name, &Entry::name);
    if (found == table.entries.end()) {
      table.entries.push_back(each);
    } else if (found->value.kind == Node::Kind::Table && each.value.kind == Node::Kind::Table) {
      put_all(found->value, each.value);
    } else {
      *found = each;
    }
  }
}

const Node* find_named(const Node* list, const std::string& name) {
  if (list == nullptr || list->kind != Node::Kind::List) return nullptr;
  const auto found = std::ranges::find_if(
      list->items, [&](const Node& item) { return text_at(item, {"name"}) == name; });
  return found == list->items.end() ? nullptr : &*found;
}

}  // namespace cw::deploy
