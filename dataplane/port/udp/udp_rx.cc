// UdpPort on the way in: messages to packets.
#include <cerrno>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/port/udp/udp_port.h"

namespace cw {
namespace {

constexpr int strays_max = 64;  // looked at in one call
constexpr int tries_max = 4;    // to receive, as often as a complaint comes between

}  // namespace

size_t UdpPort::rx_burst(std::span<Packet*> out, Instant now) {
  send_kept();
  size_t count = unpack(out, now);
  if (count < out.size() && try_receive()) count += unpack(out.subspan(count), now);
  return count;
}

/// There must be nothing left to unpack. A complaint of the network comes before what has arrived.
bool UdpPort::try_receive() {
  arrival_next_ = arrival_count_ = 0;
  for (int i = 0; i < tries_max; ++i) {
    ++counters_.system_calls;
    const int count = recvs_.receive(sockets_.front().fd());
    if (count > 0) {
      arrival_count_ = static_cast<size_t>(count);
      return true;
    }
    if (count == -EAGAIN) break;
    drain_complaints(sockets_.front(), counters_, status_);
  }
  if (sockets_.size() > 1) look_at_other_sockets();
  return false;
}

size_t UdpPort::unpack(std::span<Packet*> out, Instant now) {
  size_t count = 0;
  while (count < out.size()) {
    if (arrival_.bytes.empty()) {
      if (arrival_next_ == arrival_count_) break;
      begin_arrival();
      continue;
    }
    const auto datagram =
        arrival_.bytes.first(std::min(arrival_.segment_bytes, arrival_.bytes.size()));
    arrival_.bytes = arrival_.bytes.subspan(datagram.size());
    if (Packet* packet = accept(datagram, now)) out[count++] = packet;
  }
  return count;
}

/// The next message: what holds for all its packets.
void UdpPort::begin_arrival() {
  arrival_ = recvs_.arrival(arrival_next_++);
  counters_.rx_dropped += arrival_.overflow_drops - overflow_drops_;
  overflow_drops_ = arrival_.overflow_drops;
  const size_t segment = std::max<size_t>(arrival_.segment_bytes, 1);
  const size_t packets = std::max<size_t>((arrival_.bytes.size() + segment - 1) / segment, 1);
  arrival_.segment_bytes = segment;
  if (arrival_.is_truncated) {
    status_.rx_truncated += 1;
  } else if (!find_source(*arrival_.source) || (is_from_any_port_ && arrival_.bytes.empty())) {
    status_.rx_unknown += packets;
  } else if (!arrival_.bytes.empty()) {
    return;
  }
  counters_.rx_malformed += packets;
  arrival_.bytes = {};
}

/// False: nothing that comes from there is a peer's.
bool UdpPort::find_source(const SocketName& source) {
  arrival_source_ = read_socket_name(source);
  const UdpAddress& address = arrival_source_;
  const auto found = sources_.find({address.ip, address.scope, address.udp_port});
  is_from_any_port_ = !found;
  if (!found) return address.udp_port >= rnic_source_port_min;
  arrival_peer_ = found->peer;
  arrival_path_ = found->path;
  return true;
}

/// Whose a packet is that comes from a port of nobody's, if it is for a control QP [C-65].
bool UdpPort::find_control(std::span<const uint8_t> datagram) {
  if (datagram.size() < icrc_bytes) return false;
  const auto link = control_link_of(datagram.first(datagram.size() - icrc_bytes));
  if (!link) return false;
  const auto peer = controls_.find({arrival_source_.ip, arrival_source_.scope, *link});
  if (!peer) return false;
  arrival_peer_ = *peer;
  arrival_path_ = 0;
  return true;
}

bool UdpPort::has_right_icrc(std::span<const uint8_t> datagram) {
  const UdpWay way = {
      .number = is_from_any_port_ ? UdpWay::no_number : way_number(arrival_peer_, arrival_path_),
      .far = arrival_source_,
      .own_udp_port = udp_port_};
  return icrc_.is_right(way, datagram);
}

/// A packet with the datagram, or null when it is refused or there is no packet.
Packet* UdpPort::accept(std::span<const uint8_t> datagram, Instant now) {
  if (is_from_any_port_ && !find_control(datagram)) {
    ++status_.rx_unknown;
    ++counters_.rx_malformed;
    return nullptr;
  }
  const bool is_too_long = datagram.size() > frame_bytes_ + icrc_bytes;
  status_.rx_truncated += is_too_long;
  if (is_too_long || datagram.size() < sizeof(Bth) + icrc_bytes || !has_right_icrc(datagram)) {
    ++counters_.rx_malformed;
    return nullptr;
  }
  Packet* packet = try_take();
  if (packet == nullptr) {
    ++counters_.rx_dropped;
    return nullptr;
  }
  packet->bytes = static_cast<uint32_t>(datagram.size() - icrc_bytes);
  std::memcpy(packet->data, datagram.data(), packet->bytes);
  packet->ecn = arrival_.tos & 3;
  packet->dscp = arrival_.tos >> 2;
  packet->peer = arrival_peer_;
  packet->path = arrival_path_;
  packet->at = now;
  ++counters_.rx_packets;
  counters_.rx_bytes += packet->bytes;
  return packet;
}

/// The sockets behind the first only send. Strays and errors must not stay in them,
/// or they would keep wait_fd readable. One socket per call, in turn.
void UdpPort::look_at_other_sockets() {
  other_socket_ = other_socket_ % (sockets_.size() - 1) + 1;
  const UdpSocket& socket = sockets_[other_socket_];
  uint8_t byte;
  for (int i = 0; i < strays_max; ++i) {
    ++counters_.system_calls;
    if (recv(socket.fd(), &byte, sizeof byte, MSG_DONTWAIT) >= 0) {
      ++status_.rx_unknown;
      ++counters_.rx_malformed;
      continue;
    }
    if (errno != EAGAIN) drain_complaints(socket, counters_, status_);
    return;
  }
}

}  // namespace cw
