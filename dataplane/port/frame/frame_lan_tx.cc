// FrameLanPort on the way out: IP packets to frames, and whose MAC they are for.
#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/port/frame/frame_lan_port.h"

namespace cw {

using namespace lan_frame;

namespace {
constexpr size_t packets_ahead = 4;
}

size_t FrameLanPort::tx_burst(std::span<Packet* const> packets, Instant now) {
  size_t done = 0;
  while (done < packets.size()) {
    const auto rest = packets.subspan(done);
    const Row row = wrap_row(rest, now);
    uint64_t bytes = 0;
    for (Packet* packet : rest.first(row.count)) bytes += packet->bytes - link_bytes();
    const size_t sent = row.count == 0 ? 0 : device_->tx_burst(rest.first(row.count));
    for (Packet* packet : rest.first(row.count).subspan(sent)) {
      packet->data += link_bytes();
      packet->bytes -= link_bytes();
      bytes -= packet->bytes;
    }
    done += sent;
    counters_.tx_packets += sent;
    counters_.tx_bytes += bytes;
    is_full_ = sent < row.count && sent == 0;  // then one packet asks whether there is room again
    if (sent < row.count) break;
    if (row.lost == nullptr) continue;
    ++*row.lost;
    device_->give_back(rest.subspan(row.count, 1));
    ++done;
  }
  counters_.tx_refused += packets.size() - done;
  return done;
}

/// Makes frames of packets from the front, up to one that has no way.
FrameLanPort::Row FrameLanPort::wrap_row(std::span<Packet* const> packets, Instant now) {
  Row row;
  Hop hop;
  const size_t most = is_full_ ? 1 : std::min(packets.size(), limits::burst_packets_max);
  while (row.count < most) {
    // Written a burst ago, and meanwhile out of the nearest cache.
    if (row.count + 2 * packets_ahead < most) {
      __builtin_prefetch(packets[row.count + 2 * packets_ahead], /*rw=*/1);
    }
    if (row.count + packets_ahead < most) {
      __builtin_prefetch(packets[row.count + packets_ahead]->data, /*rw=*/1);
    }
    row.lost = wrap(*packets[row.count], hop, now);
    if (row.lost != nullptr) break;
    ++row.count;
  }
  return row;
}

/// `hop` is that of the packet before: many in a row go to the same. Returns the count of those
/// that are lost for the same reason; null: the packet has a way.
uint64_t* FrameLanPort::wrap(Packet& packet, Hop& hop, Instant now) {
  CW_ASSERT(packet.payload == nullptr && packet.bytes <= packet.bytes_max);
  const auto ends = ends_of({packet.data, packet.bytes});
  if (!ends) return is_up_ ? &status_.tx_unrouted : &status_.tx_link_down;
  if (!hop.is_known || hop.target != ends->target) {
    if (uint64_t* const lost = find_way(ends->target, hop, now)) return lost;
  }
  static_assert(sizeof hop.header <= limits::headers_bytes_max);
  packet.data -= link_bytes();
  packet.bytes += link_bytes();
  std::memcpy(packet.data + link_bytes() - hop.header.size(), hop.header.data(), hop.header.size());
  return nullptr;
}

/// Fills `hop` when there is a way; as wrap().
uint64_t* FrameLanPort::find_way(const HostAddress& target, Hop& hop, Instant now) {
  if (!is_up_) return &status_.tx_link_down;
  if (is_group(target)) return find_way_to_group(target, hop);
  if (!is_routable_host(target)) return &status_.tx_unrouted;
  const auto next = neighbours_.hop_to(target, now);
  if (next.is_to_be_asked_for) resolve(*next.neighbour, now);
  if (next.neighbour == nullptr || !next.neighbour->is_known) {
    if (next.can_be_asked_for) return &status_.tx_unresolved;
    ask_others(target);
    return &status_.tx_unrouted;
  }
  set_hop(target, next.neighbour->mac, hop);
  return nullptr;
}

uint64_t* FrameLanPort::find_way_to_group(const HostAddress& group, Hop& hop) {
  if (!groups_.has(group)) return &status_.tx_unrouted;
  set_hop(group, mac_of_group(group), hop);
  return nullptr;
}

void FrameLanPort::set_hop(const HostAddress& target, const MacAddress& mac, Hop& hop) {
  put_link_header(hop.header.data() + hop.header.size(), mac,
                  target.is_v4() ? type_ipv4 : type_ipv6);
  hop.target = target;
  hop.is_known = true;
}

void FrameLanPort::resolve(Neighbour& hop, Instant now) {
  ++status_.questions;
  if (kernel_) {
    const auto router = kernel_->next_hop(hop.ip);
    const auto mac = router ? kernel_->mac_of(*router) : std::nullopt;
    if (mac) hop.hear(*mac, now);
    return;
  }
  const NeighbourSelf self = {neighbours_.link_to(hop.ip)->ip, mac_};
  uint8_t question[neighbour_message_bytes_max];
  send_message({question, encode_neighbour_question(self, hop.ip, question)});
}

/// An untagged frame of ARP, ND, IGMP or MLD, tagged like all others. What is lost is said again.
void FrameLanPort::send_message(std::span<const uint8_t> message) {
  static_assert(group_message_bytes_max > neighbour_message_bytes_max);
  std::array<uint8_t, tag_bytes + group_message_bytes_max> frame;
  uint8_t* const content = frame.data() + link_bytes();
  std::ranges::copy(message.subspan(header_bytes), content);
  put_link_header(content, mac_at(message, target_offset), type_of(message));
  send_frame({frame.data(), link_bytes() + message.size() - header_bytes});
}

/// Before the IP header; returns where the frame begins.
uint8_t* FrameLanPort::put_link_header(uint8_t* ip, const MacAddress& target, uint16_t type) const {
  uint8_t* const front = ip - link_bytes();
  std::ranges::copy(target, front + target_offset);
  std::ranges::copy(mac_, front + source_offset);
  ip_layout::store16(ip - sizeof type, type);
  if (vlan_ != 0) {
    ip_layout::store16(front + type_offset, type_vlan);
    ip_layout::store16(front + header_bytes, vlan_);
  }
  return front;
}

}  // namespace cw
