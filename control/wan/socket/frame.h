// The few things that are done to an Ethernet frame on its way through the emulator. Frames come
// from strangers: whatever is too short or of another kind is left as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cw::wan {

inline constexpr size_t ethernet_header_bytes = 14;
inline constexpr size_t vlan_tag_bytes = 4;

/// ARP, or IPv6 neighbour and router discovery: the business of one Ethernet segment, which a long
/// link never carries.
bool is_neighbour_traffic(std::span<const uint8_t> frame);

/// Sets "congestion experienced" in an IP packet whose sender knows ECN, and mends the IPv4 header
/// checksum. False: it is no such packet.
bool try_mark_congestion(std::span<uint8_t> frame);

/// The port that a UDP packet over IP comes from; 0: it is none, or not the first fragment of one.
uint16_t udp_source_port(std::span<const uint8_t> frame);

/// Computes the Internet checksum from `start` to the end of the frame and stores it `offset` bytes
/// behind `start`: what a sending host left for its network card to do.
void finish_checksum(std::span<uint8_t> frame, size_t start, size_t offset);

}  // namespace cw::wan
