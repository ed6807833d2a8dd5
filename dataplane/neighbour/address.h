// Addresses as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/wire/outer/frame.h"

namespace cw {

/// A MAC as a number: comparing two costs less than a call that compares six bytes.
inline uint64_t number_of(const MacAddress& mac) {
  return uint64_t{read_at<uint32_t>(mac.data())} << 16 | read_at<uint16_t>(mac.data() + 4);
}

/// The address of a machine, of either IP version.
struct HostAddress {
  IpAddress ip{};  ///< IPv4: the first four bytes
  IpVersion version = IpVersion::V4;

  bool is_v4() const { return version == IpVersion::V4; }
  bool operator==(const HostAddress& other) const {
    const auto a = halves_of(ip), b = halves_of(other.ip);
    return a[0] == b[0] && a[1] == b[1] && version == other.version;
  }
};

/// "192.0.2.1" or "2001:db8::1". `key` is what the sentence of an error blames.
Result<HostAddress> parse_host_address(const std::string& text, const char* key);
std::string text_of(const HostAddress& address);

/// Whether it has the form of one, "02:00:00:00:00:01", right or wrong.
bool looks_like_mac(const std::string& text);
Result<MacAddress> parse_mac(const std::string& text, const char* key);
std::string text_of(const MacAddress& mac);

}  // namespace cw
