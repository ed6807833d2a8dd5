// An interface of the kernel that a device of DPDK shares: what it is like, and what stands between
// the two. Thread: any. Cost: system calls; at start.
#pragma once

#include <cstdint>
#include <string>

namespace cw {

/// What the kernel allows of an interface with an XDP program: a page less headroom, Ethernet
/// header and what it keeps at a packet's end.
inline constexpr uint32_t af_xdp_mtu_max = 3498;

/// Zero: there is none of this name.
uint32_t kernel_mtu(const std::string& interface);
/// Over how many queues the kernel's driver spreads what comes; one where it does not say.
uint32_t kernel_rx_queues(const std::string& interface);

/// The MTU of the interface that a device of DPDK's shares; UINT32_MAX: it shares none.
uint32_t shared_mtu(const std::string& device);

/// The sentence about what this machine denies a device of one of DPDK's drivers in software, with
/// the command that helps: no such interface, a right, a queue or an MTU that the driver cannot do
/// with. Empty: nothing.
std::string obstacle_to_device(const std::string& device, uint16_t queues);

}  // namespace cw
