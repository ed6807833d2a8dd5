// Routes of two sites beside each other.
#pragma once

#include <algorithm>
#include <string>

#include "control/gateway/keys/prefix.h"

namespace cw::deploy {

/// Whether `is` holds for one of `a` and one of `b`. What is no prefix is told where its site's
/// file is looked at.
template <class Texts, class Is>
bool any_pair(const Texts& a, const Texts& b, const Is& is) {
  return std::ranges::any_of(a, [&](const std::string& text) {
    const auto one = site::parse_prefix(text);
    return one && std::ranges::any_of(b, [&](const std::string& there) {
             const auto other = site::parse_prefix(there);
             return other && is(*one, *other);
           });
  });
}

}  // namespace cw::deploy
