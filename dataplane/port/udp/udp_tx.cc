// UdpPort on the way out: packets to messages.
#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/port/udp/udp_port.h"

namespace cw {
namespace {

/// One that may only receive, and one for each path of each link.
constexpr size_t sockets_max = 1 + limits::links_max * limits::paths_max;

static_assert(UdpSendBatch::segments_max <= unseen_ids_max);

}  // namespace

size_t UdpPort::tx_burst(std::span<Packet* const> packets, Instant) {
  send_kept();
  size_t sent = 0;
  while (sent < packets.size()) {
    const auto rest = packets.subspan(sent);
    const size_t count = std::min(rest.size(), limits::burst_packets_max);
    const size_t taken = send_some(rest.first(count));
    sent += taken;
    if (taken < count) break;
  }
  counters_.tx_refused += packets.size() - sent;
  return sent;
}

Instant UdpPort::next_due() const { return kept_count_ > 0 ? Instant() : Instant::never(); }

/// Tries again, each socket in its order.
void UdpPort::send_kept() {
  if (kept_count_ == 0) return;
  for (size_t socket = 0; socket < kept_.size(); ++socket) {
    Ring<Packet*>& kept = kept_[socket];
    while (!kept.is_empty()) {
      std::array<Packet*, limits::burst_packets_max> oldest;
      const size_t count = std::min(kept.count(), oldest.size());
      for (size_t i = 0; i < count; ++i) oldest[i] = kept.at(i);
      const size_t sent = send_from(socket, {oldest.data(), count});
      for (size_t i = 0; i < sent; ++i) kept.pop();
      kept_count_ -= sent;
      if (sent < count) break;
    }
  }
}

/// Sends one burst; returns how many packets, from the front, are the port's.
size_t UdpPort::send_some(std::span<Packet* const> packets) {
  const auto has_way = [this](const Packet* packet) { return has_route(*packet); };
  if (has_one_sender_ && kept_count_ == 0 && std::ranges::all_of(packets, has_way)) {
    return send_from(sockets_.size() - 1, packets);
  }
  return send_or_keep(packets.first(room_for(packets)));
}

/// How many packets from the front have a place, even if no socket takes any.
size_t UdpPort::room_for(std::span<Packet* const> packets) const {
  std::array<uint8_t, sockets_max> wanted{};
  static_assert(limits::burst_packets_max <= UINT8_MAX);
  for (size_t i = 0; i < packets.size(); ++i) {
    const Packet& packet = *packets[i];
    if (!has_route(packet)) continue;
    const size_t socket = socket_of(packet);
    const Ring<Packet*>& kept = kept_[socket];
    if (kept.count() + wanted[socket]++ == kept.capacity()) return i;
  }
  return packets.size();
}

/// Sends socket by socket, in order on each. There is a place for all of them.
size_t UdpPort::send_or_keep(std::span<Packet* const> packets) {
  std::array<Packet*, limits::burst_packets_max> rest, chosen;
  size_t rest_count = 0;
  for (Packet* packet : packets) {
    if (has_route(*packet)) {
      rest[rest_count++] = packet;
    } else {
      ++status_.tx_unrouted;
      packets_.release(packet);
    }
  }
  while (rest_count > 0) {
    const size_t socket = socket_of(*rest[0]);
    const size_t count = take_of_socket(socket, {rest.data(), rest_count}, chosen);
    rest_count -= count;
    const auto all = std::span<Packet* const>(chosen).first(count);
    keep(socket, all.subspan(kept_[socket].is_empty() ? send_from(socket, all) : 0));
  }
  return packets.size();
}

/// Moves what leaves by this socket from `rest`, which closes up, to `chosen`; returns how many.
size_t UdpPort::take_of_socket(size_t socket, std::span<Packet*> rest,
                               std::span<Packet*> chosen) const {
  size_t left = 0, count = 0;
  for (Packet* packet : rest) {
    if (socket_of(*packet) == socket) {
      chosen[count++] = packet;
    } else {
      rest[left++] = packet;
    }
  }
  return count;
}

void UdpPort::keep(size_t socket, std::span<Packet* const> packets) {
  for (Packet* packet : packets) {
    CW_ASSERT(kept_[socket].try_push(packet));
  }
  kept_count_ += packets.size();
  status_.tx_kept += packets.size();
}

bool UdpPort::has_route(const Packet& packet) const {
  return packet.peer < peers_.size() && packet.path < facts_.paths &&
         peers_[packet.peer].name_bytes != 0;
}

/// That its link's path sends from. The packet has a route.
size_t UdpPort::socket_of(const Packet& packet) const {
  return size_t{peers_[packet.peer].first_socket} + packet.path;
}

/// Returns how many packets, from the front, have left or are lost for a reason that is counted;
/// for the others the socket has no room.
size_t UdpPort::send_from(size_t socket, std::span<Packet* const> packets) {
  return sender_.send(
      sockets_[socket], packets,
      [this](Packet& packet, UdpSendBatch& batch, bool may_join) {
        append(packet, batch, may_join);
      },
      [this](std::span<Packet* const> done, bool has_left) { packets_.settle(done, has_left); });
}

/// Pad, where the payload is elsewhere, and ICRC are written behind the packet's own bytes. The
/// ICRC comes last, since an exact one depends on the packet's place in its message.
void UdpPort::append(Packet& packet, UdpSendBatch& batch, bool may_join) {
  CW_ASSERT(packet.bytes >= sizeof(Bth) && packet.bytes <= packet.bytes_max);
  const std::span<const uint8_t> own(packet.data, packet.bytes);
  const std::span<const uint8_t> payload(packet.payload,
                                         packet.payload != nullptr ? packet.payload_bytes : 0);
  const size_t pad_bytes = pad_bytes_for(payload.size());
  uint8_t* const pad = packet.data + packet.bytes;
  std::memset(pad, 0, pad_bytes);
  const size_t place = batch.append(datagram_of(packet, own, payload), may_join);
  const Peer& peer = peers_[packet.peer];
  const UdpWay way = {.number = way_number(packet.peer, packet.path),
                      .far = peer.address,
                      .own_udp_port = static_cast<uint16_t>(peer.own_source_port + packet.path)};
  const uint32_t icrc = icrc_.of(way, place, own, payload);
  Icrc::write(icrc, std::span<uint8_t, icrc_bytes>(pad + pad_bytes, icrc_bytes));
}

/// Where the packet's bytes lie.
UdpDatagram UdpPort::datagram_of(const Packet& packet, std::span<const uint8_t> own,
                                 std::span<const uint8_t> payload) const {
  const Peer& peer = peers_[packet.peer];
  UdpDatagram datagram{
      .target = &peer.name,
      .target_bytes = peer.name_bytes,
      .headers = own,
      .payload = payload,
      .trailer = {own.data() + own.size(), pad_bytes_for(payload.size()) + icrc_bytes},
      .tos = static_cast<uint8_t>(packet.dscp << 2 | (packet.ecn & 3))};
  if (packet.payload != nullptr) return datagram;
  datagram.headers = {packet.data, packet.bytes + icrc_bytes};  // in one piece
  datagram.trailer = {};
  return datagram;
}

}  // namespace cw
