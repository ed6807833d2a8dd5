// What the kernel answers by rtnetlink, taken apart. Pure functions over bytes of any kind.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/neighbour/address.h"

namespace cw {

/// The message of the kernel's that a datagram holds, its header included; empty: it says that
/// there is none. Nothing: the answer to another question than `sequence`, or no answer.
std::optional<std::span<const uint8_t>> kernel_answer(std::span<const uint8_t> datagram,
                                                      uint32_t sequence);

struct KernelRoute {
  bool is_local = false;              ///< the kernel takes such packets itself
  bool is_to_host = false;            ///< it hands them to one machine
  int interface = 0;                  ///< of that machine; zero: it does not say
  std::optional<HostAddress> router;  ///< that machine; nothing: the target itself
};
/// Nothing: `message` is empty or too short for a route.
std::optional<KernelRoute> parse_kernel_route(std::span<const uint8_t> message, IpVersion version);

struct KernelNeighbour {
  bool is_sure = false;           ///< heard lately, or set by hand
  std::optional<MacAddress> mac;  ///< nothing: not resolved
};
std::optional<KernelNeighbour> parse_kernel_neighbour(std::span<const uint8_t> message);

}  // namespace cw
