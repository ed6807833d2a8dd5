// Where a UDP packet goes or comes from: an IP address and a UDP port, one form for both families.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

#include "dataplane/base/result.h"

namespace cw {

struct UdpAddress {
  std::array<uint8_t, 16> ip{};  ///< IPv4 as ::ffff:a.b.c.d
  uint16_t udp_port = 0;
  uint32_t scope = 0;  ///< which interface, for link-local IPv6 addresses

  bool is_v4() const;
};

/// The address as the kernel takes and gives it.
union SocketName {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// Reads "192.0.2.1", "2001:db8::1" or "fe80::1%eth0"; names are not looked up. `key` is what the
/// sentence of an error blames.
Result<UdpAddress> parse_udp_address(const std::string& text, uint16_t udp_port, const char* key);

/// Returns the name's size. A socket of AF_INET takes IPv4 addresses only, one of AF_INET6 both.
socklen_t write_socket_name(const UdpAddress& address, int family, SocketName& out);
UdpAddress read_socket_name(const SocketName& name);

}  // namespace cw
