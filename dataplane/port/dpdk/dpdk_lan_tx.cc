// DpdkLanPort on the way out: IP packets to frames, and whose MAC they are for.
#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/port/dpdk/dpdk_lan_port.h"

namespace cw {

using namespace lan_frame;

namespace {
constexpr size_t packets_ahead = 4;
}

size_t DpdkLanPort::tx_burst(std::span<Packet* const> packets, Instant now) {
  size_t done = 0;
  while (done < packets.size()) {
    const auto rest = packets.subspan(done);
    const Row row = wrap_row(rest, now);
    uint64_t bytes = 0;
    for (Packet* packet : rest.first(row.count)) bytes += packet->bytes - link_bytes();
    const size_t sent = row.count == 0 ? 0 : device_->tx_burst(rest.first(row.count));
    for (Packet* packet : rest.first(row.count).subspan(sent)) {
      packet->data += link_bytes();
      packet->bytes -= static_cast<uint32_t>(link_bytes());
      bytes -= packet->bytes;
    }
    done += sent;
    counters_.tx_packets += sent;
    counters_.tx_bytes += bytes;
    is_full_ = sent < row.count && sent == 0;  // then one packet asks whether there is room again
    if (sent < row.count) break;
    if (row.after == Way::Open) continue;
    count_lost(row.after);
    device_->give_back(rest.subspan(row.count, 1));
    ++done;
  }
  counters_.tx_refused += packets.size() - done;
  return done;
}

/// Makes frames of packets from the front, up to one that has no way.
DpdkLanPort::Row DpdkLanPort::wrap_row(std::span<Packet* const> packets, Instant now) {
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
    row.after = try_wrap(*packets[row.count], hop, now);
    if (row.after != Way::Open) break;
    ++row.count;
  }
  return row;
}

/// `hop` is that of the packet before: many in a row go to the same.
DpdkLanPort::Way DpdkLanPort::try_wrap(Packet& packet, Hop& hop, Instant now) {
  CW_ASSERT(packet.payload == nullptr && packet.bytes <= packet.bytes_max);
  const auto ends = ends_of({packet.data, packet.bytes});
  if (!ends) return is_up_ ? Way::Unrouted : Way::LinkDown;
  if (!hop.is_known || hop.target != ends->target) {
    const Way way = find_way(ends->target, hop, now);
    if (way != Way::Open) return way;
  }
  static_assert(sizeof hop.header <= limits::headers_bytes_max);
  packet.data -= link_bytes();
  packet.bytes += static_cast<uint32_t>(link_bytes());
  std::memcpy(packet.data + link_bytes() - hop.header.size(), hop.header.data(), hop.header.size());
  return Way::Open;
}

/// Fills `hop` when the way is open.
DpdkLanPort::Way DpdkLanPort::find_way(const HostAddress& target, Hop& hop, Instant now) {
  if (!is_up_) return Way::LinkDown;
  if (!is_routable_host(target)) return Way::Unrouted;
  const auto next = neighbours_.hop_to(target, now);
  if (next.is_to_be_asked_for) resolve(*next.neighbour, now);
  if (next.neighbour == nullptr || !next.neighbour->is_known) {
    return next.can_be_asked_for ? Way::Unresolved : Way::Unrouted;
  }
  put_link_header(hop.header.data() + hop.header.size(), next.neighbour->mac,
                  target.is_v4() ? type_ipv4 : type_ipv6);
  hop.target = target;
  hop.is_known = true;
  return Way::Open;
}

void DpdkLanPort::count_lost(Way why) {
  if (why == Way::LinkDown) ++status_.tx_link_down;
  if (why == Way::Unresolved) ++status_.tx_unresolved;
  if (why == Way::Unrouted) ++status_.tx_unrouted;
}

void DpdkLanPort::resolve(Neighbour& hop, Instant now) {
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

/// An untagged frame of ARP or ND, tagged like all others. Lost when there is no room; it is asked
/// again.
void DpdkLanPort::send_message(std::span<const uint8_t> frame) {
  Packet* packet = nullptr;
  if (device_->take_burst({&packet, 1}) == 0) return;
  const auto content = frame.subspan(header_bytes);
  std::ranges::copy(content, packet->data);
  packet->data = put_link_header(packet->data, mac_at(frame, target_offset), type_of(frame));
  packet->bytes = static_cast<uint32_t>(link_bytes() + content.size());
  if (device_->tx_burst({&packet, 1}) == 0) device_->give_back({&packet, 1});
}

/// Before the IP header; returns where the frame begins.
uint8_t* DpdkLanPort::put_link_header(uint8_t* ip, const MacAddress& target, uint16_t type) const {
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
