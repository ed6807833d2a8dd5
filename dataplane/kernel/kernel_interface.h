// An interface of the kernel: what it is like. Thread: any. Cost: system calls; at start.
#pragma once

#include <cstdint>
#include <string>

namespace cw {

/// Zero: there is none of this name.
uint32_t kernel_mtu(const std::string& interface);
/// Over how many queues the kernel's driver spreads what comes; one where it does not say.
uint32_t kernel_rx_queues(const std::string& interface);

}  // namespace cw
