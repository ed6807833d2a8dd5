// Which member a datagram comes from, by the address and the UDP port that it was sent from.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/port/udp/udp_address.h"

namespace cw {

/// Open addressing, at most half full. Thread: any number, once made.
class UdpSources {
 public:
  /// `members` by rank; none stands there twice.
  explicit UdpSources(std::span<const UdpAddress> members)
      : members_(members.begin(), members.end()),
        places_(std::bit_ceil(2 * members.size()), nobody) {
    for (size_t rank = 0; rank < members_.size(); ++rank) {
      size_t place = place_of(members_[rank]);
      while (places_[place] != nobody) place = next(place);
      places_[place] = static_cast<uint16_t>(rank);
    }
  }

  /// Nothing: it is no member's. Cost: hot, the same for any number of members.
  std::optional<uint16_t> find(const UdpAddress& source) const {
    for (size_t place = place_of(source); places_[place] != nobody; place = next(place)) {
      if (is_same(members_[places_[place]], source)) return places_[place];
    }
    return std::nullopt;
  }

 private:
  static constexpr uint16_t nobody = UINT16_MAX;

  static bool is_same(const UdpAddress& a, const UdpAddress& b) {
    return a.ip == b.ip && a.udp_port == b.udp_port && a.scope == b.scope;
  }
  size_t next(size_t place) const { return (place + 1) & (places_.size() - 1); }
  size_t place_of(const UdpAddress& address) const {
    std::array<uint64_t, 2> ip;
    std::memcpy(ip.data(), address.ip.data(), sizeof(ip));
    uint64_t bits = ip[0] * 0x9e3779b97f4a7c15 ^ ip[1] ^ address.udp_port ^ address.scope;
    bits = (bits ^ bits >> 31) * 0xbf58476d1ce4e5b9;
    return static_cast<size_t>(bits >> 32) & (places_.size() - 1);
  }

  std::vector<UdpAddress> members_;
  std::vector<uint16_t> places_;
};

}  // namespace cw
