// Whose packet comes from an address and a UDP port, of one peer or of a thousand.
#include "dataplane/wire/outer/source_index.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/prng.h"

namespace cw {
namespace {

using Source = SourceIndex::Source;
using Whose = std::optional<std::pair<int, int>>;

Whose whose(const SourceIndex& index, const Source& source) {
  const auto found = index.find(source);
  return found ? Whose({found->peer, found->path}) : std::nullopt;
}

Whose linear(const std::vector<Source>& sources, int paths, const Source& source) {
  for (size_t i = 0; i < sources.size(); ++i) {
    const int path = source.udp_port - sources[i].udp_port;
    const bool is_there = sources[i].ip == source.ip && sources[i].scope == source.scope;
    if (is_there && path >= 0 && path < paths) return {{static_cast<int>(i), path}};
  }
  return std::nullopt;
}

TEST(SourceIndex, knows_nobody_where_there_is_none) {
  EXPECT_EQ(whose(SourceIndex({}, 16), {{10, 1}, 0, 4791}), std::nullopt);
}

TEST(SourceIndex, knows_each_path_of_a_peer_and_no_port_beside_them) {
  const std::vector<Source> sources = {{{10, 1}, 0, 4791}};
  const SourceIndex index(sources, 2);
  EXPECT_EQ(whose(index, {{10, 1}, 0, 4790}), std::nullopt);
  EXPECT_EQ(whose(index, {{10, 1}, 0, 4791}), (Whose{{0, 0}}));
  EXPECT_EQ(whose(index, {{10, 1}, 0, 4792}), (Whose{{0, 1}}));
  EXPECT_EQ(whose(index, {{10, 1}, 0, 4793}), std::nullopt);
  EXPECT_EQ(whose(index, {{10, 1}, 1, 4791}), std::nullopt);  // of another interface
  EXPECT_EQ(whose(index, {{10, 2}, 0, 4791}), std::nullopt);
}

TEST(SourceIndex, finds_the_last_port_of_all_and_does_not_go_around) {
  const std::vector<Source> sources = {{{10, 1}, 0, 65535}};
  const SourceIndex index(sources, 1);
  EXPECT_EQ(whose(index, {{10, 1}, 0, 65535}), (Whose{{0, 0}}));
  EXPECT_EQ(whose(index, {{10, 1}, 0, 0}), std::nullopt);
}

// Sixty-four addresses with sixteen links each, and packets from anywhere near them.
TEST(SourceIndex, finds_among_a_thousand_links_what_a_look_at_each_finds) {
  constexpr int paths = 3;
  std::vector<Source> sources;
  Prng prng(20261125);
  while (sources.size() < limits::peers_max) {
    const auto number = static_cast<uint16_t>(sources.size());
    sources.push_back({.ip = {10, static_cast<uint8_t>(number / 16)},
                       .scope = number / 512u,
                       .udp_port = static_cast<uint16_t>(4791 + number % 16 * 16)});
  }
  for (size_t i = sources.size(); i > 1; --i) std::swap(sources[i - 1], sources[prng.below(i)]);
  const SourceIndex index(sources, paths);
  size_t found = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Source source{.ip = {10, static_cast<uint8_t>(prng.below(66))},
                        .scope = static_cast<uint32_t>(prng.below(2)),
                        .udp_port = static_cast<uint16_t>(4785 + prng.below(270))};
    const Whose expected = linear(sources, paths, source);
    ASSERT_EQ(whose(index, source), expected);
    found += expected.has_value();
  }
  EXPECT_GT(found, 5'000u);
}

}  // namespace
}  // namespace cw
