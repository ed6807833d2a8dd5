// One UDP socket of the port: opened with everything that its packets need, and closed with it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "dataplane/base/result.h"
#include "dataplane/port/descriptor_store.h"
#include "dataplane/port/udp/socket/udp_status.h"
#include "dataplane/port/udp/socket/udp_steering.h"
#include "dataplane/port/udp/udp_address.h"

namespace cw {

struct UdpSocketOptions {
  int family = AF_INET;                               ///< AF_INET6 takes IPv4 packets too
  UdpAddress local;                                   ///< the address to be bound; all zeros: any
  uint32_t rx_buffer_bytes = 0, tx_buffer_bytes = 0;  ///< wanted
  bool gro = false;
  /// IPv6 packets without a UDP checksum are taken, as RNICs send them [SPEC 2.4]: an exact ICRC
  /// guards the same bytes. What is sent has one.
  bool zero_checksums = false;
  UdpShare share;               ///< with whom of this process it shares the UDP port
  bool shares_address = false;  ///< with any program: of a multicast group each has its copy
  /// Where the sockets of an earlier life may be that receive, and this one goes.
  DescriptorStore* store = nullptr;
};

/// Whether this kernel has IPv6, with which a socket serves both families.
bool has_ipv6();

/// Owns its file descriptor. Thread: one.
class UdpSocket {
 public:
  /// Errors: the address is not this machine's, or its UDP port is taken (the sentence names it and
  /// the key udp_port); no permission for it; out of file descriptors; it cannot be shared.
  static Result<UdpSocket> make(const UdpSocketOptions& options);

  UdpSocket(UdpSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UdpSocket& operator=(UdpSocket&&) = delete;
  ~UdpSocket();

  int fd() const { return fd_; }
  /// What it has had no room for in earlier lives, modulo 2^32.
  uint32_t overflow_drops() const;
  bool has_gso() const;  ///< the kernel knows of it; a device may still refuse
  bool has_gro() const;
  /// What the kernel granted; it doubles a request to pay for its own records.
  uint32_t rx_buffer_bytes() const;
  uint32_t tx_buffer_bytes() const;

 private:
  explicit UdpSocket(int fd) : fd_(fd) {}
  static Result<UdpSocket> open_one(const UdpSocketOptions& options);
  Result<void> set_up(const UdpSocketOptions& options) const;
  Result<void> bind_to(const UdpSocketOptions& options) const;

  int fd_;
};

/// What a socket's kernel granted, of `wanted` bytes each way. `gso`: it may be used.
void note_socket(const UdpSocket& socket, uint32_t wanted, bool gso, UdpPortStatus& status);

/// One descriptor over all sockets, since a worker waits for one per port; the caller's. Errors:
/// what the kernel says.
Result<int> make_wait_fd(std::span<const int> fds);

}  // namespace cw
