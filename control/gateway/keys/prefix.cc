#include "control/gateway/keys/prefix.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace cw::site {
namespace {

using gateway::PortRange;
using gateway::Prefix;

constexpr const char* example = "such as \"10.2.0.0/16\" or \"2001:db8:2::/48\"";

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

unsigned width(const Prefix& prefix) { return prefix.is_v6 ? 128 : 32; }

/// The address with all bits from `bits` on zero.
Prefix cut(Prefix prefix, unsigned bits) {
  for (unsigned bit = bits; bit < 128; ++bit) {
    prefix.address[bit / 8] &= static_cast<uint8_t>(~(0x80u >> bit % 8));
  }
  prefix.bits = static_cast<uint8_t>(bits);
  return prefix;
}

}  // namespace

Result<Prefix> parse_interface_address(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  Prefix prefix;
  prefix.is_v6 = address.find(':') != std::string::npos;
  const int family = prefix.is_v6 ? AF_INET6 : AF_INET;
  if (inet_pton(family, address.c_str(), prefix.address.data()) != 1) {
    return failure("\"" + text + "\" is no address prefix " + example);
  }
  const unsigned most = width(prefix);
  const auto bits = slash == std::string::npos ? most : number(text.substr(slash + 1));
  if (!bits || *bits > most) {
    return failure("\"" + text + "\" must end in /0 to /" + std::to_string(most));
  }
  prefix.bits = static_cast<uint8_t>(*bits);
  return prefix;
}

Result<Prefix> parse_prefix(const std::string& text) {
  const auto prefix = parse_interface_address(text);
  if (!prefix) return prefix;
  const Prefix clean = cut(*prefix, prefix->bits);
  if (clean.address == prefix->address) return prefix;
  return failure("\"" + text + "\" has bits set behind its prefix; \"" + prefix_text(clean) +
                 "\" has none");
}

Prefix network_of(const Prefix& address) { return cut(address, address.bits); }

std::string prefix_text(const Prefix& prefix) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(prefix.is_v6 ? AF_INET6 : AF_INET, prefix.address.data(), text, sizeof(text));
  return std::string(text) + "/" + std::to_string(prefix.bits);
}

bool is_overlapping(const Prefix& a, const Prefix& b) {
  if (a.is_v6 != b.is_v6) return false;
  const unsigned bits = std::min(a.bits, b.bits);
  return cut(a, bits).address == cut(b, bits).address;
}

Result<PortRange> parse_ports(const std::string& text) {
  const size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *last > UINT16_MAX || *first > *last) {
    return failure("\"" + text + "\" is no range of ports such as \"5201\" or \"5000-5999\"");
  }
  return PortRange{static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
}

}  // namespace cw::site
