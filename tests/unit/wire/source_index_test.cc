// Whose packet comes from an address and a UDP port, of one peer or of a thousand, and whose a
// control packet from any port.
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

// ---- control packets from any port [C-65] ----

using Link = ControlSources::Link;

std::vector<uint8_t> control_packet(uint32_t qpn, uint8_t opcode = opcode_ud_send_only) {
  Transport packet;
  packet.opcode = opcode;
  packet.target_qp = qpn;
  if (packet.facts().has(extended::reth)) packet.rdma = RdmaTarget();
  if (packet.facts().has(extended::deth)) packet.datagram = {control_qkey, 17};
  std::vector<uint8_t> bytes(packet.facts().header_bytes);
  encode_transport_headers(packet, bytes);
  return bytes;
}

// [C-65]
TEST(ControlSources, know_the_link_by_the_control_qp) {
  for (uint16_t link = 0; link < limits::links_max; ++link) {
    EXPECT_EQ(control_link_of(control_packet(control_qpn_of(link))), link);
  }
  EXPECT_EQ(control_link_of(control_packet(control_qpn_default - 1)), std::nullopt);
  EXPECT_EQ(control_link_of(control_packet(control_qpn_default + limits::links_max)), std::nullopt);
  EXPECT_EQ(control_link_of(control_packet(0)), std::nullopt);
  EXPECT_EQ(control_link_of(control_packet(0xffffff)), std::nullopt);
}

// [C-65] Nor is anything a control packet that is cut off, or of another opcode.
TEST(ControlSources, know_nothing_of_what_is_no_control_packet) {
  const auto whole = control_packet(control_qpn_default);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_EQ(control_link_of(cut), std::nullopt) << bytes;
  }
  for (const uint8_t opcode : {opcode_ud_send_only_immediate, opcode_uc_write_only_immediate}) {
    EXPECT_EQ(control_link_of(control_packet(control_qpn_default, opcode)), std::nullopt);
  }
  for (int opcode = 0; opcode < 256; ++opcode) {
    auto other = whole;
    other[0] = static_cast<uint8_t>(opcode);
    EXPECT_EQ(control_link_of(other).has_value(), opcode == opcode_ud_send_only);
  }
}

// [C-65]
TEST(ControlSources, are_told_by_address_and_link_where_one_peer_alone_has_them) {
  const std::vector<std::optional<Link>> links = {
      Link{{10, 1}, 0, 0}, Link{{10, 1}, 0, 3}, std::nullopt,        Link{{10, 2}, 0, 0},
      Link{{10, 3}, 0, 0}, Link{{10, 3}, 0, 0}, Link{{10, 3}, 7, 0}, Link{{10, 3}, 0, 1}};
  const ControlSources sources(links);
  EXPECT_EQ(sources.find({{10, 1}, 0, 0}), 0);
  EXPECT_EQ(sources.find({{10, 1}, 0, 3}), 1);
  EXPECT_EQ(sources.find({{10, 1}, 0, 1}), std::nullopt);
  EXPECT_EQ(sources.find({{10, 2}, 0, 0}), 3);
  EXPECT_EQ(sources.find({{10, 3}, 0, 0}), std::nullopt) << "of two";
  EXPECT_EQ(sources.find({{10, 3}, 7, 0}), 6) << "of another interface";
  EXPECT_EQ(sources.find({{10, 3}, 0, 1}), 7);
  EXPECT_EQ(sources.find({{}, 0, 0}), std::nullopt) << "of nobody yet";
  EXPECT_EQ(ControlSources({}).find({{10, 1}, 0, 0}), std::nullopt);
}

}  // namespace
}  // namespace cw
