// Trees of TOML: found in, put together.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "control/config/text/tree.h"
#include "control/config/text/write.h"

namespace cw::deploy {

using config::Node;
using config::Place;
using config::Remarks;
using config::toml_of;

/// Null: there is none, or a step on the way is no table.
const Node* find(const Node& table, std::initializer_list<std::string_view> path);
/// Empty where it is missing or no text.
std::string text_at(const Node& table, std::initializer_list<std::string_view> path);
Node text_node(std::string text, Place place);
Node integer_node(int64_t value, Place place);
Node list_node(Place place);

/// In place of what has the name, or behind all.
void put(Node& table, const std::string& name, Node value);
void take_out(Node& table, std::string_view name);
/// What `more` has goes before what `table` has; tables within are put together key by key.
void put_all(Node& table, const Node& more);
/// Those of a list of tables that have this name; null: none.
const Node* find_named(const Node* list, const std::string& name);

}  // namespace cw::deploy
