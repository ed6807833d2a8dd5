// What machines of one Ethernet ask each other: who has this IP address, and which MAC is that?
// ARP for IPv4 (arp.cc, RFC 826), Neighbour Discovery for IPv6 (nd.cc, RFC 4861). A port speaks
// them where no kernel hears what they say.
//
// Pure functions over whole frames, from the Ethernet header on, untagged. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/neighbour/address.h"

namespace cw {

struct NeighbourMessage {
  bool is_question = false;
  HostAddress sender;  ///< who speaks; all zeros: it does not say
  MacAddress sender_mac{};
  HostAddress target;  ///< asked about; in an answer of IPv6: answered for
};

/// An end of the wire that has an address.
struct NeighbourSelf {
  HostAddress ip;
  MacAddress mac{};
};

inline constexpr size_t neighbour_message_bytes_max = 14 + 40 + 32;
/// Shorter frames do not go over Ethernet; what NICs pad, wires in software do not.
inline constexpr size_t ethernet_bytes_min = 60;

/// Whether the frame's type says ARP, or IPv6 with ICMP inside: worth a look.
bool may_be_neighbour_message(std::span<const uint8_t> frame);

/// Nothing for any other frame and for a wrong one: too short, of another hardware, a checksum that
/// does not hold, a hop limit that a stranger from afar would have.
std::optional<NeighbourMessage> parse_neighbour_message(std::span<const uint8_t> frame);

/// "Who has `target`?", to all (ARP) or to the group that it must listen to (ND). `out` holds
/// neighbour_message_bytes_max. Returns the frame's length.
size_t encode_neighbour_question(const NeighbourSelf& self, const HostAddress& target,
                                 std::span<uint8_t> out);
/// "I have", to whoever sent `question`, which came with its sender.
size_t encode_neighbour_answer(const NeighbourSelf& self, const NeighbourMessage& question,
                               std::span<uint8_t> out);

namespace arp {
std::optional<NeighbourMessage> parse(std::span<const uint8_t> frame);
size_t encode(bool is_question, const NeighbourSelf& self, const NeighbourMessage& other,
              std::span<uint8_t> out);
}  // namespace arp

namespace nd {
std::optional<NeighbourMessage> parse(std::span<const uint8_t> frame);
size_t encode_question(const NeighbourSelf& self, const HostAddress& target,
                       std::span<uint8_t> out);
size_t encode_answer(const NeighbourSelf& self, const NeighbourMessage& question,
                     std::span<uint8_t> out);
}  // namespace nd

}  // namespace cw
