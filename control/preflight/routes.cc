#include "control/preflight/routes.h"

#include <arpa/inet.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

namespace cw::preflight {
namespace {

using Bytes16 = std::array<uint8_t, 16>;

std::optional<uint32_t> v4_of(const std::string& address) {
  in_addr bytes{};
  if (inet_pton(AF_INET, address.c_str(), &bytes) != 1) return std::nullopt;
  return bytes.s_addr;
}

std::optional<Bytes16> v6_of(const std::string& address) {
  Bytes16 bytes{};
  if (inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return std::nullopt;
  return bytes;
}

uint32_t hex(const std::string& digits) {
  return static_cast<uint32_t>(std::strtoul(digits.c_str(), nullptr, 16));
}

/// "Iface Destination Gateway Flags RefCnt Use Metric Mask ...", words as they lie in memory.
std::string interface_towards_v4(const Machine& machine, uint32_t address) {
  std::string best;
  uint32_t best_mask = 0;
  for (const std::string& line : machine.lines("proc/net/route")) {
    const auto words = words_of(line);
    if (words.size() < 8 || words[0] == "Iface") continue;
    const uint32_t mask = hex(words[7]);
    if ((address & mask) != hex(words[1])) continue;
    if (!best.empty() && ntohl(mask) <= ntohl(best_mask)) continue;
    best = words[0];
    best_mask = mask;
  }
  return best;
}

bool begins_alike(const Bytes16& address, const std::string& digits, uint32_t bits) {
  for (uint32_t bit = 0; bit < bits; ++bit) {
    const uint32_t byte = hex(digits.substr(bit / 8 * 2, 2));
    if (((byte ^ address[bit / 8]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

/// "destination length source length next_hop metric references use flags interface".
std::string interface_towards_v6(const Machine& machine, const Bytes16& address) {
  std::string best;
  uint32_t best_bits = 0;
  for (const std::string& line : machine.lines("proc/net/ipv6_route")) {
    const auto words = words_of(line);
    if (words.size() < 10 || words[0].size() != 32 || words[9] == "lo") continue;
    const uint32_t bits = hex(words[1]);
    if (bits > 128 || !begins_alike(address, words[0], bits)) continue;
    if (!best.empty() && bits <= best_bits) continue;
    best = words[9];
    best_bits = bits;
  }
  return best;
}

/// An address as /proc/net/udp and udp6 write it: words of four bytes as they lie in memory.
std::string digits_of(const std::string& address) {
  std::vector<uint32_t> all;
  if (const auto v4 = v4_of(address)) {
    all.push_back(*v4);
  } else if (const auto v6 = v6_of(address)) {
    all.resize(4);
    std::memcpy(all.data(), v6->data(), v6->size());
  }
  std::string digits;
  for (const uint32_t word : all) {
    char text[9];
    std::snprintf(text, sizeof text, "%08X", word);
    digits += text;
  }
  return digits;
}

}  // namespace

std::string interface_towards(const Machine& machine, const std::string& address) {
  if (const auto v4 = v4_of(address)) return interface_towards_v4(machine, *v4);
  if (const auto v6 = v6_of(address)) return interface_towards_v6(machine, *v6);
  return {};
}

bool is_udp_port_taken(const Machine& machine, const std::string& address, uint16_t udp_port) {
  const std::string own = digits_of(address);
  for (const char* file : {"proc/net/udp", "proc/net/udp6"}) {
    for (const std::string& line : machine.lines(file)) {
      const auto words = words_of(line);
      const size_t colon = words.size() < 2 ? std::string::npos : words[1].find(':');
      if (colon == std::string::npos || hex(words[1].substr(colon + 1)) != udp_port) continue;
      const std::string theirs = words[1].substr(0, colon);
      const bool is_every = theirs.find_first_not_of('0') == std::string::npos;
      if (is_every || own.empty() || own == theirs) return true;
    }
  }
  return false;
}

}  // namespace cw::preflight
