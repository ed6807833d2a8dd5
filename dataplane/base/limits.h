// Every bound of the dataplane, in one place. Memory is allocated from these at start and never
// grows. The static_asserts say which numbers depend on each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cw::limits {

// Packets.
inline constexpr size_t burst_packets_max = 64;
inline constexpr size_t frame_bytes_max = 9216;   // a jumbo Ethernet frame without its FCS
inline constexpr size_t headers_bytes_max = 128;  // Ethernet, 802.1Q, IPv6, UDP, BTH, RETH, ImmDt
inline constexpr size_t trailer_bytes_max = 8;    // pad and ICRC
/// Of an interface with an XDP program and sockets: a page less headroom, Ethernet header and what
/// the kernel keeps at a packet's end.
inline constexpr uint32_t af_xdp_mtu_max = 3498;
inline constexpr size_t payload_bytes_min = 256;
inline constexpr size_t payload_bytes_max = 8192;  // one slot
static_assert(headers_bytes_max + payload_bytes_max + trailer_bytes_max <= frame_bytes_max);

// A pair, and a link.
inline constexpr size_t paths_max = 16;
inline constexpr size_t peers_max = 1024;                  // links of one core, whoever they are to
inline constexpr size_t links_max = 16;                    // of a pair
inline constexpr size_t link_numbers_max = 2 * links_max;  // with those that take their places
inline constexpr size_t qps_max = 64;                      // SDR QPs of one link
inline constexpr size_t channels_max = 16;    // transport QPs of one SDR QP and generation
inline constexpr size_t generations_max = 4;  // lives of a message id that can be told apart
static_assert((generations_max & (generations_max - 1)) == 0);

// A LAN whose Ethernet a port speaks itself.
inline constexpr size_t neighbours_max = 4096;  // hosts, of which it knows the MAC
inline constexpr size_t lan_addresses_max = 16;
inline constexpr uint32_t questions_per_second_max = 200;  // for MAC addresses
inline constexpr size_t groups_max = 32;                   // of multicast, whose frames cross
static_assert((neighbours_max & (neighbours_max - 1)) == 0);

// Messages.
inline constexpr unsigned message_id_bits_max = 10;
inline constexpr unsigned slot_bits_max = 24;
inline constexpr size_t slots_per_message_max = size_t{1} << slot_bits_max;
inline constexpr size_t shards_per_block_max = 255;  // k + m, the length of a code over GF(256)
inline constexpr size_t codecs_max = 4;              // of one stream
inline constexpr uint64_t repair_bytes_max = uint64_t{1} << 30;  // of one stream, at each end

// Control.
inline constexpr size_t control_bytes_max = 4096;  // one control packet, MAC included
inline constexpr size_t note_bytes_max = 1024;     // one policy note
inline constexpr size_t policy_params_max = 32;
static_assert(control_bytes_max <= payload_bytes_max);

// Groups. What stands in front of a slot of theirs takes part of a link's slot.
inline constexpr size_t group_members_max = 16384;
inline constexpr size_t group_header_bytes = 32;
inline constexpr size_t group_payload_bytes_min = payload_bytes_min - group_header_bytes;
inline constexpr size_t group_payload_bytes_max = payload_bytes_max - group_header_bytes;
inline constexpr size_t group_control_bytes_max = 1024;  // one control packet, MAC included
inline constexpr size_t group_runs_max = 64;             // of slots that one record asks for
inline constexpr size_t group_sentence_bytes_max = 256;  // why an operation failed
static_assert(group_control_bytes_max <= control_bytes_max);

}  // namespace cw::limits
