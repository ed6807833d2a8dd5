// A burst of which each item is for one of two.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace cw {

/// Those of `all` that are for the first, and those that are not, both in their order. They lie in
/// `room`, which has as many places at least.
template <class T, size_t places, class IsFirst>
std::pair<std::span<T>, std::span<T>> split_in_order(std::span<const T> all,
                                                     std::array<T, places>& room,
                                                     const IsFirst& is_first) {
  const auto ends = std::ranges::partition_copy(all, room.begin(), room.rbegin(), is_first);
  const auto count = static_cast<size_t>(ends.out1 - room.begin());
  const std::span<T> others = std::span<T>(room).last(all.size() - count);
  std::ranges::reverse(others);
  return {std::span<T>(room).first(count), others};
}

}  // namespace cw
