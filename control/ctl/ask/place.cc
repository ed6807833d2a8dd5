#include "control/ctl/ask/place.h"

#include <filesystem>

#include "control/api/sockets.h"
#include "control/config/text/file.h"
#include "control/config/text/tree.h"
#include "control/units/text.h"

namespace cw::ctl {
namespace {

/// A text of the file, as the gateway takes it.
std::string text_at(const config::Node& tree, const char* table, const char* key,
                    const std::string& otherwise) {
  const config::Entry* const section = tree.find(table);
  const config::Entry* const entry = section == nullptr ? nullptr : section->value.find(key);
  const bool is_text = entry != nullptr && entry->value.kind == config::Node::Kind::Text;
  return is_text ? entry->value.text : otherwise;
}

}  // namespace

Result<Place> place_of_config(const std::string& file) {
  const auto text = config::text_of_file(file);
  if (!text) return std::unexpected(text.error());
  const auto tree = config::parse_toml(*text);
  if (!tree) {
    return failure(file + ":" + std::to_string(tree.error().place.line) + ": " +
                   tree.error().sentence);
  }
  const std::string shared = text_at(*tree, "api", "folder", api::default_folder);
  if (shared.empty()) return failure(file + " says api.folder = \"\": this gateway has no sockets");
  const auto beside = std::filesystem::path(file).parent_path() / shared;
  const std::string folder =
      api::folder_of(beside.string(), text_at(*tree, "site", "name", host_name()));
  return Place{.read_socket = api::read_socket_of(folder),
               .control_socket = api::control_socket_of(folder)};
}

Place place_of_socket(const std::string& file) {
  return {.read_socket = file, .control_socket = file};
}

}  // namespace cw::ctl
