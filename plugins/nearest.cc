#include "plugins/nearest.h"

#include <algorithm>
#include <vector>

namespace cw::plugins {

size_t edit_distance(std::string_view a, std::string_view b) {
  // Row i holds the distances between the first i letters of `a` and every beginning of `b`.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string advice(std::string_view word, std::span<const std::string_view> known) {
  const auto distance = [&](std::string_view name) { return edit_distance(word, name); };
  const std::string_view best = *std::ranges::min_element(known, {}, distance);
  // A third of the letters may be wrong; beyond that a guess is noise.
  const bool is_close = distance(best) <= std::max<size_t>(1, best.size() / 3);
  if (is_close) return "did you mean \"" + std::string(best) + "\"?";
  return "write " + listed(known);
}

std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace cw::plugins
