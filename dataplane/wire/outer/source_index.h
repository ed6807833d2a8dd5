// Whose packet comes from an address and a UDP port. A peer's paths send from ports that follow
// each other (SPEC.md section 15, [C-63]), and no two peers share one.
//
// What an RNIC sends from a UD queue pair has a source port that nobody chose. Of a control packet
// from such a port the address says which peer it is from, and the control QP which link of that
// peer [C-65]. Two peers at one address cannot be told apart so.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/roce.h"

namespace cw {

/// The source port of a link's path 0, and of path p that + p, at who sends from `first` upwards
/// [C-63].
constexpr int first_source_port(uint16_t first, uint16_t link) {
  return first + link * static_cast<int>(limits::paths_max);
}

/// Thread: any number. Nothing allocates once it is made.
class SourceIndex {
 public:
  struct Source {
    std::array<uint8_t, 16> ip{};  ///< written as its user likes
    uint32_t scope = 0;            ///< of a link-local address
    uint16_t udp_port = 0;         ///< of path 0, or of a packet
    auto operator<=>(const Source&) const = default;
  };
  struct Found {
    uint16_t peer = 0, path = 0;
  };

  /// `sources` are of peers 0, 1, ...; UDP port 0 is nobody's.
  SourceIndex(std::span<const Source> sources, uint16_t paths) : paths_(paths) {
    for (size_t i = 0; i < sources.size(); ++i) {
      const auto peer = static_cast<uint16_t>(i);
      if (sources[i].udp_port != 0) entries_.push_back({sources[i], peer});
    }
    std::ranges::sort(entries_);
  }

  /// Nothing: nobody's. Cost: hot; grows with the logarithm of peers.
  std::optional<Found> find(const Source& source) const {
    const auto after = std::ranges::upper_bound(entries_, source, {}, &Entry::source);
    if (after == entries_.begin()) return std::nullopt;
    const Entry& entry = *(after - 1);
    if (entry.source.ip != source.ip || entry.source.scope != source.scope) return std::nullopt;
    const int path = source.udp_port - entry.source.udp_port;
    if (path >= paths_) return std::nullopt;
    return Found{entry.peer, static_cast<uint16_t>(path)};
  }

 private:
  struct Entry {
    Source source;
    uint16_t peer = 0;
    auto operator<=>(const Entry&) const = default;
  };

  uint16_t paths_;
  std::vector<Entry> entries_;
};

/// The link whose control QP a transport packet is for; nothing: it is no control packet, or for a
/// number that a HELLO has named. `transport` is hostile.
inline std::optional<uint16_t> control_link_of(std::span<const uint8_t> transport) {
  if (transport.size() < opcode_table[opcode_ud_send_only].header_bytes) return std::nullopt;
  if (transport[offsetof(Bth, opcode)] != opcode_ud_send_only) return std::nullopt;
  const uint32_t qpn = read_at<be24>(transport.data() + offsetof(Bth, target_qp)).host();
  const uint32_t link = qpn - control_qpn_default;
  if (link >= limits::links_max) return std::nullopt;
  return static_cast<uint16_t>(link);
}

/// Thread: any number. Nothing allocates once it is made.
class ControlSources {
 public:
  struct Link {
    std::array<uint8_t, 16> ip{};  ///< of the peer; written as its user likes
    uint32_t scope = 0;            ///< of a link-local address
    uint16_t link = 0;
    auto operator<=>(const Link&) const = default;
  };

  /// `links` are of peers 0, 1, ...; what is nothing is nobody's.
  explicit ControlSources(std::span<const std::optional<Link>> links) {
    for (size_t i = 0; i < links.size(); ++i) {
      if (links[i]) entries_.push_back({*links[i], static_cast<uint16_t>(i)});
    }
    std::ranges::sort(entries_);
  }

  /// Nothing: nobody's, or it may be of two. Cost: grows with the logarithm of peers.
  std::optional<uint16_t> find(const Link& link) const {
    const auto found = std::ranges::equal_range(entries_, link, {}, &Entry::link);
    if (found.size() != 1) return std::nullopt;
    return found.front().peer;
  }

 private:
  struct Entry {
    Link link;
    uint16_t peer = 0;
    auto operator<=>(const Entry&) const = default;
  };

  std::vector<Entry> entries_;
};

}  // namespace cw
