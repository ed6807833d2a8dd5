// What this machine makes of a device as people write it, looked at before DPDK is asked. Thread:
// any. Cost: system calls; at start.
#pragma once

#include <cstdint>
#include <string>

namespace cw {

/// The MTU of the kernel's interface that the device shares; UINT32_MAX: it shares none.
uint32_t shared_mtu(const std::string& device);

/// The sentence about what this machine denies a device of one of DPDK's drivers in software, with
/// the command that helps: no such interface, a right, a queue or an MTU that the driver cannot do
/// with. Empty: nothing.
std::string obstacle_to_device(const std::string& device, uint16_t queues);

/// What may help when DPDK refuses the device; a clause that goes on a sentence, or empty.
std::string advice_for_device(const std::string& device);

/// Removes the socket of a memif whose server was killed: nobody listens there, and nobody else
/// could.
void remove_stale_socket(const std::string& device);

}  // namespace cw
