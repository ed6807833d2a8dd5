// An interface of the kernel: what it is like. Thread: any. Cost: system calls.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/kernel/owned_fd.h"
#include "dataplane/wire/outer/frame.h"

namespace cw {

/// By which the kernel tells it from one that had this name before. Zero: there is none.
uint32_t kernel_index(const std::string& interface);
/// Zero: there is none of this name.
uint32_t kernel_mtu(const std::string& interface);
/// Over how many queues the kernel's driver spreads what comes; one where it does not say.
uint32_t kernel_rx_queues(const std::string& interface);
/// Zero, or the kernel's reason not to. Where a driver has queues for both ways together, of both.
int set_kernel_rx_queues(const std::string& interface, uint32_t queues);
/// All zero: there is none of this name.
MacAddress kernel_mac(const std::string& interface);
/// A socket for questions, of the network namespace that the thread is in; negative: none.
OwnedFd kernel_questions();
/// It is up and has a carrier, in the namespace of the socket.
bool is_kernel_link_up(const std::string& interface, const OwnedFd& questions);

}  // namespace cw
