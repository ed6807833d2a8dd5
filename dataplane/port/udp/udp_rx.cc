// UdpPort on the way in: messages to packets.
#include <cerrno>

#include "dataplane/base/assert.h"
#include "dataplane/port/udp/udp_port.h"

namespace cw {
namespace {

constexpr int strays_max = 64;  // looked at in one call

}  // namespace

size_t UdpPort::rx_burst(std::span<Packet*> out, Instant now) {
  send_kept();
  size_t count = unpack(out, now);
  if (count == out.size()) return count;
  if (receiver_.try_receive(sockets_.front())) return count + unpack(out.subspan(count), now);
  if (sockets_.size() > 1) look_at_other_sockets();
  return count;
}

size_t UdpPort::unpack(std::span<Packet*> out, Instant now) {
  return receiver_.unpack(
      out, [this](const UdpArrival& arrival) { return begin_arrival(arrival); },
      [&](std::span<const uint8_t> datagram) { return accept(datagram, now); });
}

/// False: it is from nobody.
bool UdpPort::begin_arrival(const UdpArrival& arrival) {
  counters_.rx_dropped += arrival.overflow_drops - overflow_drops_;
  overflow_drops_ = arrival.overflow_drops;
  return find_source(*arrival.source) && !(is_from_any_port_ && arrival.bytes.empty());
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
  Packet* const packet =
      packets_.accept(datagram, receiver_.tos(), now, [&] { return has_right_icrc(datagram); });
  if (packet == nullptr) return nullptr;
  packet->peer = arrival_peer_;
  packet->path = arrival_path_;
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
