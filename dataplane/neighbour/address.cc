#include "dataplane/neighbour/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace cw {

Result<HostAddress> parse_host_address(const std::string& text, const char* key) {
  HostAddress address;
  const bool is_v6 = text.find(':') != std::string::npos;
  address.version = is_v6 ? IpVersion::V6 : IpVersion::V4;
  if (inet_pton(is_v6 ? AF_INET6 : AF_INET, text.c_str(), address.ip.data()) == 1) return address;
  return failure(std::string(key) + ": \"" + text +
                 "\" is not an IP address, such as 192.0.2.1 or 2001:db8::1");
}

std::string text_of(const HostAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.is_v4() ? AF_INET : AF_INET6, address.ip.data(), text.data(), text.size());
  return text.data();
}

bool looks_like_mac(const std::string& text) {
  return std::ranges::count(text, ':') == 5 && text.find("::") == std::string::npos;
}

Result<MacAddress> parse_mac(const std::string& text, const char* key) {
  MacAddress mac{};
  int end = 0;
  const int count = std::sscanf(text.c_str(), "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0],
                                &mac[1], &mac[2], &mac[3], &mac[4], &mac[5], &end);
  const bool is_whole = count == 6 && static_cast<size_t>(end) == text.size();
  if (is_whole && (mac[0] & 1) == 0 && mac != MacAddress{}) return mac;
  return failure(std::string(key) + ": \"" + text +
                 "\" is not the MAC address of one machine, such as 02:00:00:00:00:01");
}

std::string text_of(const MacAddress& mac) {
  char text[sizeof "02:00:00:00:00:01"];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
                mac[4], mac[5]);
  return text;
}

}  // namespace cw
