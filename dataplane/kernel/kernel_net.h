// What the kernel knows and does on an interface that it still owns while DPDK has its packets
// (af_packet, af_xdp, mlx5): routes, asked by rtnetlink; and where it hears the packets besides us
// (af_packet), neighbours, and its answer to packets that are not for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/kernel/kernel_answer.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/neighbour/address.h"

namespace cw {

/// Thread: one. Every question is two system calls and never waits: the kernel answers at once.
class KernelNet {
 public:
  /// Errors: no such interface; no netlink.
  static Result<KernelNet> make(const std::string& interface);

  /// The machine that packets for `target` are handed to: a router, or itself. Nothing: there is no
  /// route over this interface.
  std::optional<HostAddress> next_hop(const HostAddress& target);
  /// Whether the kernel takes packets for this address itself.
  bool is_local(const HostAddress& address);
  /// Nothing until the kernel has resolved it, which this begins.
  std::optional<MacAddress> mac_of(const HostAddress& neighbour);

 private:
  KernelNet(OwnedFd fd, int index) : fd_(std::move(fd)), index_(index) {}
  std::span<const uint8_t> ask(std::span<uint8_t> request);
  std::optional<KernelRoute> route_to(const HostAddress& target);
  void begin_resolving(const HostAddress& neighbour);

  OwnedFd fd_;
  int index_;
  uint32_t sequence_ = 0;
  alignas(8) uint8_t answer_[4096] = {};
};

/// All addresses that the kernel has on any interface, as of now.
std::vector<HostAddress> kernel_addresses();

/// Keeps the kernel from answering "port unreachable" to packets that it sees and we receive: a
/// socket that takes them for it and keeps none. Errors: the UDP port is another program's.
Result<OwnedFd> silence_udp_port(const HostAddress& own, uint16_t udp_port);

}  // namespace cw
