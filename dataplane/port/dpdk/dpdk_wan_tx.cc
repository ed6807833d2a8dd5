// DpdkWanPort on the way out: transport packets to frames, a row of one peer and path at a time.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/port/dpdk/dpdk_wan_port.h"

namespace cw {
namespace {

/// Packets from the front that go the same way.
std::span<Packet* const> row_at_front(std::span<Packet* const> packets) {
  const Packet& first = *packets.front();
  size_t count = 1;
  while (count < packets.size() && packets[count]->peer == first.peer &&
         packets[count]->path == first.path) {
    ++count;
  }
  return packets.first(count);
}

}  // namespace

DpdkWanPort::~DpdkWanPort() {
  if (device_) device_->give_back(made());
}

size_t DpdkWanPort::tx_burst(std::span<Packet* const> packets, Instant) {
  size_t done = 0;
  while (done < packets.size() && try_flush()) done += make_frames(packets.subspan(done));
  try_flush();
  counters_.tx_refused += packets.size() - done;
  return done;
}

/// Whether the device has taken all frames.
bool DpdkWanPort::try_flush() {
  if (made_count_ == 0) return true;
  const size_t sent = device_->tx_burst(made());
  made_first_ += sent;
  made_count_ -= sent;
  return made_count_ == 0;
}

/// Without a link nothing leaves, and what comes with the next one is not for the same ears.
void DpdkWanPort::drop_frames() {
  status_.tx_link_down += made_count_;
  device_->give_back(made());
  made_count_ = 0;
}

/// The count of those that are lost for the same reason; null for a packet that has a way.
uint64_t* DpdkWanPort::obstacle_to(const Packet& packet) {
  if (packet.peer >= peers_.all.size() || packet.path >= facts_.paths) {
    return &status_.tx_unrouted;
  }
  if (!is_up_) return &status_.tx_link_down;
  if (peers_.hops[peers_.all[packet.peer].hop].is_known) return nullptr;
  return &status_.tx_unresolved;
}

/// Of packets from the front, as many as there is room for; what has no way is lost. Returns how
/// many.
size_t DpdkWanPort::make_frames(std::span<Packet* const> packets) {
  CW_ASSERT(made_count_ == 0);
  made_first_ = 0;
  const auto burst = packets.first(std::min(packets.size(), made_.size()));
  for (size_t done = 0; done < burst.size();) {
    const auto row = row_at_front(burst.subspan(done));
    if (uint64_t* const lost = obstacle_to(*row.front())) {
      *lost += row.size();
      device_->give_back(row);
    } else {
      make_row(route_of(*row.front()), row);
    }
    done += row.size();
  }
  return burst.size();
}

DpdkWanPort::Route& DpdkWanPort::route_of(const Packet& packet) {
  Route& route = routes_[size_t{packet.peer} * facts_.paths + packet.path];
  const Peer& peer = peers_.all[packet.peer];
  const MacAddress& mac = peers_.hops[peer.hop].mac;
  if (!route.is_made || route.hop_mac != mac) {
    route = {.headers = make_headers(peer, packet.path), .hop_mac = mac, .is_made = true};
  }
  return route;
}

OuterHeaders DpdkWanPort::make_headers(const Peer& peer, uint16_t path) const {
  const auto source_port = static_cast<uint16_t>(udp_port_ + path);
  return OuterHeaders({
      .target_mac = peers_.hops[peer.hop].mac,
      .source_mac = self_.mac,
      .ip_version = self_.ip.version,
      .source_ip = self_.ip.ip,
      .target_ip = peer.address.ip,
      .flow_label = source_port,  // SPEC 2.3
      .source_udp_port = source_port,
      .target_udp_port = peer.udp_port,
  });
}

void DpdkWanPort::make_row(Route& route, std::span<Packet* const> row) {
  for (Packet* const packet : row) {
    CW_ASSERT(packet->bytes >= sizeof(Bth) && packet->bytes <= packet->bytes_max &&
              packet->payload == nullptr);
    counters_.tx_bytes += packet->bytes;
    wrap(route, *packet);
    made_[made_count_++] = packet;
  }
  counters_.tx_packets += row.size();
}

/// Puts everything around the transport packet.
void DpdkWanPort::wrap(Route& route, Packet& packet) const {
  const OuterHeaders& headers = route.headers;
  uint8_t* const front = packet.data - headers.bytes();
  headers.write(front, packet.bytes, packet.dscp, packet.ecn);
  if (packet.bytes != route.transport_bytes) {
    route.transport_bytes = packet.bytes;
    route.icrc_start = icrc_.start(headers.ip_and_udp_of(front));
  }
  const std::span<uint8_t, icrc_bytes> end(packet.data + packet.bytes, icrc_bytes);
  Icrc::write(icrc_.finish(route.icrc_start, {packet.data, packet.bytes}), end);
  packet.data = front;
  packet.bytes += static_cast<uint32_t>(headers.bytes() + icrc_bytes);
}

}  // namespace cw
