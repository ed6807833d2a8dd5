// What a host is told of a packet that goes no further: too big, no route, hop limit reached.
//
// The message names as its source the address that the packet was meant for. A gateway on a TUN
// device has no address of its own that every host could reach, and a kernel that checks reverse
// paths expects exactly these addresses from this device. What hosts act on is the quoted packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/units.h"

namespace cw::gateway {

enum class IcmpError : uint8_t { TooBig, NoRoute, HopLimit };

inline constexpr size_t icmp_bytes_max = 1280;

class IcmpErrors {
 public:
  struct Options {
    uint32_t per_second = 1000;  ///< above 0; what Linux allows itself
    uint32_t burst = 50;         ///< above 0
  };
  explicit IcmpErrors(const Options& options)
      : interval_(Duration::from_s(1) / options.per_second),
        burst_(interval_ * options.burst),
        next_(Instant() - burst_) {}

  /// Writes an IP packet about `packet`, which is as it came from the LAN; `mtu` counts for TooBig
  /// only. Bounds: `out`; what it has no room for of icmp_bytes_max is not quoted.
  /// Returns: the bytes written; zero for what nobody may be told of (ICMP errors, multicast, later
  /// fragments, senders that are no single host) and beyond the rate.
  size_t write(IcmpError error, std::span<const uint8_t> packet, uint32_t mtu,
               std::span<uint8_t> out, Instant now);

 private:
  bool try_take(Instant now);

  Duration interval_, burst_;
  Instant next_;  // what has been taken, as if it had come at the rate
};

}  // namespace cw::gateway
