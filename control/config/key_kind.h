// What it takes until a changed key is in force at a gateway that runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace cw::config {

enum class KeyKind : uint8_t {
  Live,     ///< nothing: between two turns
  Swap,     ///< policies of the class are replaced while traffic flows
  Keys,     ///< both sites know the new key beside the old one
  Relink,   ///< a second link beside the first
  Restart,  ///< of the gateway
};

constexpr std::string_view name_of(KeyKind kind) {
  constexpr std::string_view names[] = {"live", "swap", "keys", "relink", "restart"};
  return names[static_cast<uint8_t>(kind)];
}

}  // namespace cw::config
