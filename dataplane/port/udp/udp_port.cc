#include "dataplane/port/udp/udp_port.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/port/udp/route_mtu.h"

namespace cw {
namespace {

constexpr size_t gro_message_bytes = 65536;  // no UDP packet is longer, nor what the kernel joins
constexpr size_t gro_messages = 32;
/// Of sockets that only send: enough for complaints of the network.
constexpr uint32_t stray_buffer_bytes = 64 << 10;
/// Some bursts: the other paths go on for as long as a full one has room for its share of them.
constexpr size_t kept_packets_max = 4 * limits::burst_packets_max;

std::optional<Error> complaint_about(const UdpPortOptions& options) {
  const auto complain = [](std::string sentence) { return Error{std::move(sentence)}; };
  if (options.peers.empty() || options.peers.size() > limits::peers_max) {
    return complain("peers: " + std::to_string(options.peers.size()) + " named, 1 to " +
                    std::to_string(limits::peers_max) + " accepted");
  }
  if (options.paths == 0 || options.paths > limits::paths_max) {
    return complain("paths: " + std::to_string(options.paths) + " given, 1 to " +
                    std::to_string(limits::paths_max) + " accepted");
  }
  if (options.udp_port == 0 || options.udp_port + options.paths - 1 > UINT16_MAX) {
    return complain("udp_port: " + std::to_string(options.udp_port) + " given, 1 to " +
                    std::to_string(UINT16_MAX - options.paths + 1) + " accepted with " +
                    std::to_string(options.paths) + " paths");
  }
  if (options.payload_bytes_max < limits::payload_bytes_min ||
      options.payload_bytes_max > limits::payload_bytes_max) {
    return complain("payload_bytes_max: " + std::to_string(options.payload_bytes_max) + " given, " +
                    std::to_string(limits::payload_bytes_min) + " to " +
                    std::to_string(limits::payload_bytes_max) + " accepted");
  }
  if (options.icrc != IcrcMode::Pseudo && options.icrc != IcrcMode::None) {
    return complain("icrc: a UDP socket knows pseudo and none only");
  }
  CW_ASSERT(options.crc32 != nullptr && options.packets > 0);
  return std::nullopt;
}

/// The address to bind: any, unless one is given.
Result<UdpAddress> local_address(const UdpPortOptions& options, int family) {
  const char* any = family == AF_INET ? "0.0.0.0" : "::";
  return parse_udp_address(options.address.empty() ? any : options.address, options.udp_port,
                           "address");
}

/// What the headers below the transport packet, its own, and the ICRC leave of a route's MTU.
uint32_t payload_for(uint32_t mtu, bool is_v4) {
  const uint32_t overhead = (is_v4 ? 20 : 40) + 8 +
                            opcode_table[opcode_uc_write_only_immediate].header_bytes + icrc_bytes;
  return mtu > overhead ? (mtu - overhead) / 4 * 4 : 0;
}

}  // namespace

Result<std::unique_ptr<UdpPort>> UdpPort::make(const UdpPortOptions& options) {
  if (auto complaint = complaint_about(options)) return std::unexpected(std::move(*complaint));
  auto peers = make_peers(options);
  if (!peers) return std::unexpected(std::move(peers.error()));
  auto sockets = make_sockets(options, peers->front().name.any.sa_family);
  if (!sockets) return std::unexpected(std::move(sockets.error()));
  std::unique_ptr<UdpPort> port(new UdpPort(options, std::move(*sockets), std::move(*peers)));
  const auto wait_fd = port->make_wait_fd();
  if (!wait_fd) return std::unexpected(wait_fd.error());
  port->facts_.wait_fd = *wait_fd;
  return port;
}

/// One family serves all peers: IPv4 when nothing else is named, else IPv6 with IPv4 inside it.
Result<std::vector<UdpPort::Peer>> UdpPort::make_peers(const UdpPortOptions& options) {
  std::vector<Peer> peers;
  const auto local = local_address(options, AF_INET);
  if (!local) return std::unexpected(local.error());
  int family = local->is_v4() ? AF_INET : AF_INET6;
  for (const UdpPeerOptions& peer : options.peers) {
    const auto address = parse_udp_address(peer.address, peer.udp_port, "peers");
    if (!address) return std::unexpected(address.error());
    if (!options.address.empty() && address->is_v4() != local->is_v4()) {
      return failure("address: " + options.address + " and the peer " + peer.address +
                     " are not of one IP version; leave address out to have both");
    }
    if (peer.udp_port == 0 || peer.udp_port + options.paths - 1 > UINT16_MAX) {
      return failure("peers: the udp_port of " + peer.address + " leaves no room for " +
                     std::to_string(options.paths) + " paths");
    }
    if (!address->is_v4()) family = AF_INET6;
    peers.push_back({.address = *address, .name = {}, .name_bytes = 0});
  }
  for (Peer& peer : peers) peer.name_bytes = write_socket_name(peer.address, family, peer.name);
  return peers;
}

Result<std::vector<UdpSocket>> UdpPort::make_sockets(const UdpPortOptions& options, int family) {
  std::vector<UdpSocket> sockets;
  sockets.reserve(options.paths);
  auto local = local_address(options, family);
  if (!local) return std::unexpected(local.error());
  for (uint16_t path = 0; path < options.paths; ++path) {
    local->udp_port = static_cast<uint16_t>(options.udp_port + path);
    auto socket = UdpSocket::make(
        {.family = family,
         .local = *local,
         .rx_buffer_bytes = path == 0 ? options.socket_buffer_bytes : stray_buffer_bytes,
         .tx_buffer_bytes = options.socket_buffer_bytes,
         .gro = options.gro});
    if (!socket) return std::unexpected(std::move(socket.error()));
    sockets.push_back(std::move(*socket));
  }
  return sockets;
}

UdpPort::UdpPort(const UdpPortOptions& options, std::vector<UdpSocket> sockets,
                 std::vector<Peer> peers)
    : icrc_(options.icrc, options.crc32, options.payload_bytes_max),
      crc32_(options.crc32),
      sockets_(std::move(sockets)),
      peers_(std::move(peers)),
      frame_bytes_(static_cast<uint32_t>(limits::headers_bytes_max) + options.payload_bytes_max),
      pool_(options.packets),
      done_(options.packets),
      buffers_(options.packets, frame_bytes_ + limits::trailer_bytes_max),
      recvs_(options.gro ? gro_messages : limits::burst_packets_max,
             options.gro ? gro_message_bytes : frame_bytes_ + limits::trailer_bytes_max) {
  kept_.reserve(options.paths);
  for (uint16_t path = 0; path < options.paths; ++path) kept_.emplace_back(kept_packets_max);
  note_facts(options);
  note_buffers(options);
}

void UdpPort::note_facts(const UdpPortOptions& options) {
  facts_.name = "udp";
  facts_.payload_max = options.payload_bytes_max;
  for (const Peer& peer : peers_) {
    const uint32_t mtu = route_mtu(peer.address);
    if (mtu == 0) continue;  // no route yet
    facts_.payload_max = std::min(facts_.payload_max, payload_for(mtu, peer.address.is_v4()));
  }
  facts_.peers = static_cast<uint16_t>(peers_.size());
  facts_.paths = options.paths;
  facts_.packets = options.packets;
  facts_.icrc = options.icrc;
  facts_.external_payload = true;
}

void UdpPort::note_buffers(const UdpPortOptions& options) {
  status_.has_gso = options.gso && sockets_.front().has_gso();
  status_.has_gro = sockets_.front().has_gro();
  status_.rx_buffer_bytes = sockets_.front().rx_buffer_bytes();
  status_.tx_buffer_bytes = sockets_.front().tx_buffer_bytes();
  status_.has_capped_buffers =
      std::min(status_.rx_buffer_bytes, status_.tx_buffer_bytes) < options.socket_buffer_bytes;
}

/// One descriptor over all sockets, since a worker waits for one per port.
Result<int> UdpPort::make_wait_fd() const {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return failure(std::string("cannot make an epoll descriptor: ") + strerror(errno));
  for (const UdpSocket& socket : sockets_) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(fd, EPOLL_CTL_ADD, socket.fd(), &event) == 0) continue;
    const int error = errno;
    close(fd);
    return failure(std::string("cannot wait for UDP sockets: ") + strerror(error));
  }
  return fd;
}

UdpPort::~UdpPort() {
  if (facts_.wait_fd >= 0) close(facts_.wait_fd);
}

Packet* UdpPort::try_take() {
  Packet* packet = pool_.try_take();
  if (packet == nullptr) return nullptr;
  *packet = {};
  packet->data = buffers_.at(pool_.index_of(packet));
  packet->bytes_max = frame_bytes_;
  return packet;
}

size_t UdpPort::take_burst(std::span<Packet*> out) {
  size_t count = 0;
  while (count < out.size() && (out[count] = try_take()) != nullptr) ++count;
  return count;
}

void UdpPort::give_back(std::span<Packet* const> packets) {
  for (Packet* packet : packets) release(packet);
}

size_t UdpPort::take_done(std::span<uint64_t> out) {
  return done_.take(out, [this](Packet* packet) { pool_.give_back(packet); });
}

/// By one of its owners.
void UdpPort::release(Packet* packet) {
  if (!try_leave(*packet) && !done_.try_keep(*packet)) pool_.give_back(packet);
}

}  // namespace cw
