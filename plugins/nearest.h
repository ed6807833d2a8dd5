// Names that a person may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cw::plugins {

/// How many letters to insert, drop, replace, or swap with their neighbour make `a` out of `b`.
size_t edit_distance(std::string_view a, std::string_view b);

/// The end of a sentence about an unknown name: `did you mean "alpha"?` when one of the known names
/// is close, else all of them: `write rto or nack`. `known` must not be empty.
std::string advice(std::string_view word, std::span<const std::string_view> known);

/// "a", "a or b", "a, b or c".
std::string listed(std::span<const std::string_view> words);

}  // namespace cw::plugins
