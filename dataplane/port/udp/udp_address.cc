#include "dataplane/port/udp/udp_address.h"

#include <netdb.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr std::array<uint8_t, 12> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

bool UdpAddress::is_v4() const {
  return std::equal(v4_prefix.begin(), v4_prefix.end(), ip.begin());
}

Result<UdpAddress> parse_udp_address(const std::string& text, uint16_t udp_port, const char* key) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (text.empty() || getaddrinfo(text.c_str(), nullptr, &hints, &found) != 0) {
    return failure(std::string(key) + ": \"" + text +
                   "\" is not an IP address, such as 192.0.2.1 or 2001:db8::1");
  }
  SocketName name{};
  std::memcpy(&name, found->ai_addr, std::min<size_t>(found->ai_addrlen, sizeof name));
  freeaddrinfo(found);
  UdpAddress address = read_socket_name(name);
  address.udp_port = udp_port;
  return address;
}

socklen_t write_socket_name(const UdpAddress& address, int family, SocketName& out) {
  out = {};
  if (family == AF_INET) {
    CW_ASSERT(address.is_v4());
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(address.udp_port);
    std::memcpy(&out.v4.sin_addr, address.ip.data() + v4_prefix.size(), sizeof out.v4.sin_addr);
    return sizeof out.v4;
  }
  out.v6.sin6_family = AF_INET6;
  out.v6.sin6_port = htons(address.udp_port);
  out.v6.sin6_scope_id = address.scope;
  std::memcpy(&out.v6.sin6_addr, address.ip.data(), sizeof out.v6.sin6_addr);
  return sizeof out.v6;
}

UdpAddress read_socket_name(const SocketName& name) {
  UdpAddress address;
  if (name.any.sa_family == AF_INET) {
    address.udp_port = ntohs(name.v4.sin_port);
    std::copy(v4_prefix.begin(), v4_prefix.end(), address.ip.begin());
    std::memcpy(address.ip.data() + v4_prefix.size(), &name.v4.sin_addr, sizeof name.v4.sin_addr);
    return address;
  }
  address.udp_port = ntohs(name.v6.sin6_port);
  address.scope = name.v6.sin6_scope_id;
  std::memcpy(address.ip.data(), &name.v6.sin6_addr, sizeof name.v6.sin6_addr);
  return address;
}

}  // namespace cw
