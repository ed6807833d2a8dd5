// Whose packet comes from an address and a UDP port. A peer's paths send from ports that follow
// each other (SPEC.md section 15, [C-63]), and no two peers share one.
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

namespace cw {

/// The source port of a link's path 0, and of path p that + p, at who has this UDP port [C-63].
constexpr int first_source_port(uint16_t udp_port, uint16_t link) {
  return udp_port + link * static_cast<int>(limits::paths_max);
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

}  // namespace cw
