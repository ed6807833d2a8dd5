#include "dataplane/port/udp/udp_port.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "dataplane/base/assert.h"
#include "dataplane/port/udp/route_mtu.h"
#include "dataplane/port/udp/socket/udp_steering.h"
#include "dataplane/wire/outer/source_index.h"

namespace cw {
namespace {

/// Of sockets that only send: enough for complaints of the network.
constexpr uint32_t stray_buffer_bytes = 64 << 10;
/// Some bursts: the other paths go on for as long as a full one has room for its share of them.
constexpr size_t kept_packets_max = 4 * limits::burst_packets_max;

std::optional<Error> complain(std::string sentence) { return Error{std::move(sentence)}; }

/// As sentences name them; link 0 goes without saying.
std::string paths_text(uint16_t paths, uint16_t link) {
  const std::string text = std::to_string(paths) + " paths";
  return link == 0 ? text : text + " of link " + std::to_string(link);
}

/// The links of this port, each once, from the lowest.
std::vector<uint16_t> links_of(const UdpPortOptions& options) {
  std::vector<uint16_t> links;
  links.reserve(options.peers.size());
  for (const UdpPeerOptions& peer : options.peers) links.push_back(peer.link);
  std::ranges::sort(links);
  const auto rest = std::ranges::unique(links);
  links.erase(rest.begin(), rest.end());
  return links;
}

std::optional<Error> complaint_about_links(const UdpPortOptions& options) {
  CW_ASSERT(options.shard < options.shards && options.shards <= limits::links_max);
  const UdpShare share{.shard = options.shard, .shards = options.shards};
  std::array<size_t, limits::links_max> peers{};
  for (const UdpPeerOptions& peer : options.peers) {
    if (peer.link >= limits::links_max) {
      return complain("peers: link " + std::to_string(peer.link) + " of " + peer.address +
                      " named, 0 to " + std::to_string(limits::links_max - 1) + " accepted");
    }
    CW_ASSERT(share.has(peer.link));
    ++peers[peer.link];
  }
  const size_t most = std::ranges::max(peers);
  if (most > 0 && most <= limits::peers_max) return std::nullopt;
  return complain("peers: " + std::to_string(most) + " named, 1 to " +
                  std::to_string(limits::peers_max) + " accepted");
}

std::optional<Error> complaint_about(const UdpPortOptions& options) {
  if (auto complaint = complaint_about_links(options)) return complaint;
  if (options.paths == 0 || options.paths > limits::paths_max) {
    return complain("paths: " + std::to_string(options.paths) + " given, 1 to " +
                    std::to_string(limits::paths_max) + " accepted");
  }
  const uint16_t link = links_of(options).back();
  const int udp_port_max = UINT16_MAX - first_source_port(0, link) - options.paths + 1;
  if (options.udp_port == 0 || options.udp_port > udp_port_max) {
    return complain("udp_port: " + std::to_string(options.udp_port) + " given, 1 to " +
                    std::to_string(udp_port_max) + " accepted with " +
                    paths_text(options.paths, link));
  }
  if (options.payload_bytes_max < limits::payload_bytes_min ||
      options.payload_bytes_max > limits::payload_bytes_max) {
    return complain("payload_bytes_max: " + std::to_string(options.payload_bytes_max) + " given, " +
                    std::to_string(limits::payload_bytes_min) + " to " +
                    std::to_string(limits::payload_bytes_max) + " accepted");
  }
  if (options.icrc == IcrcMode::Hardware) return complain("icrc: a UDP socket has no hardware");
  CW_ASSERT(options.crc32 != nullptr && options.packets > 0);
  return std::nullopt;
}

/// Where the sockets are bound: the one that receives, then those that only send.
std::vector<uint16_t> udp_ports_of(const UdpPortOptions& options) {
  std::vector<uint16_t> udp_ports = {options.udp_port};
  for (const uint16_t link : links_of(options)) {
    for (uint16_t path = 0; path < options.paths; ++path) {
      if (link == 0 && path == 0) continue;
      udp_ports.push_back(static_cast<uint16_t>(first_source_port(options.udp_port, link) + path));
    }
  }
  return udp_ports;
}

/// Of the link with this place in `links`. Behind the socket that receives, which without link 0
/// sends for nobody.
uint16_t first_socket_of(std::span<const uint16_t> links, size_t place,
                         const UdpPortOptions& options) {
  return static_cast<uint16_t>((links.front() != 0) + place * options.paths);
}

/// The address to bind: any, unless one is given.
Result<UdpAddress> local_address(const UdpPortOptions& options, int family) {
  const char* any = family == AF_INET ? "0.0.0.0" : "::";
  return parse_udp_address(options.address.empty() ? any : options.address, options.udp_port,
                           "address");
}

bool is_any(const UdpAddress& address) {
  const auto ip = std::span(address.ip).subspan(address.is_v4() ? 12 : 0);
  return std::ranges::all_of(ip, [](uint8_t byte) { return byte == 0; });
}

/// What packets leave from, where that is given; else nobody asks.
UdpAddress own_address(const UdpPortOptions& options) {
  return local_address(options, AF_INET).value_or(UdpAddress());
}

}  // namespace

Result<std::unique_ptr<UdpPort>> UdpPort::make(const UdpPortOptions& options) {
  if (auto complaint = complaint_about(options)) return std::unexpected(std::move(*complaint));
  auto peers = make_peers(options);
  if (!peers) return std::unexpected(std::move(peers.error()));
  auto sockets = make_sockets(options, peers->front().name.any.sa_family);
  if (!sockets) return std::unexpected(std::move(sockets.error()));
  std::unique_ptr<UdpPort> port(new UdpPort(options, std::move(*sockets), std::move(*peers)));
  std::vector<int> fds;
  for (const UdpSocket& socket : port->sockets_) fds.push_back(socket.fd());
  const auto wait_fd = make_wait_fd(fds);
  if (!wait_fd) return std::unexpected(wait_fd.error());
  port->facts_.wait_fd = *wait_fd;
  return port;
}

/// One family serves all peers: IPv4 when nothing else is named, else IPv6 with IPv4 inside it.
/// Shards have one family whoever their peers are, since sockets of two do not share a UDP port.
Result<std::vector<UdpPort::Peer>> UdpPort::make_peers(const UdpPortOptions& options) {
  std::vector<Peer> peers;
  const auto local = local_address(options, AF_INET);
  if (!local) return std::unexpected(local.error());
  if (options.icrc == IcrcMode::Exact && (options.address.empty() || is_any(*local))) {
    return failure(
        "address: an exact ICRC covers it; say which address of this machine packets leave from");
  }
  const bool is_any_shard = options.shards > 1 && options.address.empty();
  int family = local->is_v4() && !(is_any_shard && has_ipv6()) ? AF_INET : AF_INET6;
  const std::vector<uint16_t> links = links_of(options);
  for (const UdpPeerOptions& peer : options.peers) {
    const auto rank = std::ranges::lower_bound(links, peer.link) - links.begin();
    peers.push_back(
        {.address = {},
         .link = peer.link,
         .source_port = 0,
         .own_source_port = static_cast<uint16_t>(first_source_port(options.udp_port, peer.link)),
         .first_socket = first_socket_of(links, static_cast<size_t>(rank), options),
         .name = {},
         .name_bytes = 0});
    if (peer.address.empty()) continue;
    const auto address = parse_udp_address(peer.address, peer.udp_port, "peers");
    if (!address) return std::unexpected(address.error());
    if (!options.address.empty() && address->is_v4() != local->is_v4()) {
      return failure("address: " + options.address + " and the peer " + peer.address +
                     " are not of one IP version; leave address out to have both");
    }
    const int source_port = first_source_port(peer.first_source(), peer.link);
    if (peer.udp_port == 0 || source_port + options.paths - 1 > UINT16_MAX) {
      const char* const key = peer.source_port != 0 ? "source_port" : "udp_port";
      return failure(std::string("peers: the ") + key + " of " + peer.address +
                     " leaves no room for " + paths_text(options.paths, peer.link));
    }
    if (!address->is_v4()) family = AF_INET6;
    peers.back().address = *address;
    peers.back().source_port = static_cast<uint16_t>(source_port);
  }
  for (Peer& peer : peers) {
    peer.name.any.sa_family = static_cast<sa_family_t>(family);
    if (is_nobody(peer)) continue;
    peer.name_bytes = write_socket_name(peer.address, family, peer.name);
  }
  return peers;
}

Result<std::vector<UdpSocket>> UdpPort::make_sockets(const UdpPortOptions& options, int family) {
  const std::vector<uint16_t> udp_ports = udp_ports_of(options);
  std::vector<UdpSocket> sockets;
  sockets.reserve(udp_ports.size());
  const auto local = local_address(options, family);
  if (!local) return std::unexpected(local.error());
  UdpSocketOptions wanted{.family = family,
                          .local = *local,
                          .rx_buffer_bytes = options.socket_buffer_bytes,
                          .tx_buffer_bytes = options.socket_buffer_bytes,
                          .gro = options.gro,
                          .zero_checksums = options.icrc == IcrcMode::Exact,
                          .share = {.shard = options.shard, .shards = options.shards},
                          .store = options.store};
  for (const uint16_t udp_port : udp_ports) {
    wanted.local.udp_port = udp_port;
    auto socket = UdpSocket::make(wanted);
    if (!socket) return std::unexpected(std::move(socket.error()));
    sockets.push_back(std::move(*socket));
    wanted.rx_buffer_bytes = stray_buffer_bytes;
    wanted.share = {};
    wanted.store = nullptr;
  }
  return sockets;
}

SourceIndex UdpPort::sources_of(std::span<const Peer> peers, uint16_t paths) {
  std::vector<SourceIndex::Source> sources;
  for (const Peer& peer : peers) {
    sources.push_back({peer.address.ip, peer.address.scope, peer.source_port});
  }
  return {sources, paths};
}

ControlSources UdpPort::controls_of(std::span<const Peer> peers) {
  std::vector<std::optional<ControlSources::Link>> links(peers.size());
  for (size_t i = 0; i < peers.size(); ++i) {
    if (is_nobody(peers[i])) continue;
    links[i] = {peers[i].address.ip, peers[i].address.scope, peers[i].link};
  }
  return ControlSources(links);
}

UdpPort::UdpPort(const UdpPortOptions& options, std::vector<UdpSocket> sockets,
                 std::vector<Peer> peers)
    : icrc_(Icrc(options.icrc, options.crc32, options.payload_bytes_max), options.crc32,
            options.payload_bytes_max, own_address(options), peers.size() * options.paths),
      udp_port_(options.udp_port),
      sockets_(std::move(sockets)),
      peers_(std::move(peers)),
      sources_(sources_of(peers_, options.paths)),
      controls_(controls_of(peers_)),
      family_(peers_.front().name.any.sa_family),
      packets_(options.packets, options.payload_bytes_max, counters_, status_),
      has_one_sender_(options.paths == 1 && links_of(options).size() == 1),
      receiver_(options.gro, packets_.datagram_bytes_max(), counters_, status_) {
  kept_.reserve(sockets_.size());
  for (size_t i = 0; i < sockets_.size(); ++i) kept_.emplace_back(kept_packets_max);
  overflow_drops_ = sockets_.front().overflow_drops();
  note_facts(options);
  note_socket(sockets_.front(), options.socket_buffer_bytes, options.gso, status_);
}

void UdpPort::note_facts(const UdpPortOptions& options) {
  facts_.name = "udp";
  facts_.payload_max = options.payload_bytes_max;
  for (const Peer& peer : peers_) {
    const uint32_t mtu = is_nobody(peer) ? 0 : route_mtu(peer.address);
    if (mtu == 0) continue;  // no route yet
    facts_.payload_max = std::min(facts_.payload_max, payload_for(mtu, peer.address.is_v4()));
  }
  facts_.peers = static_cast<uint16_t>(peers_.size());
  facts_.paths = options.paths;
  facts_.packets = options.packets;
  facts_.icrc = options.icrc;
  facts_.external_payload = true;
}

Result<UdpPeerTable> UdpPort::table_of(const UdpPortOptions& options,
                                       const UdpPortOptions& before) const {
  auto peers = make_peers(options);
  if (!peers) return std::unexpected(peers.error());
  CW_ASSERT(peers->size() == facts_.peers);
  for (size_t i = 0; i < peers->size(); ++i) {
    Peer& peer = (*peers)[i];
    if (is_nobody(peer)) continue;
    const std::string& named = options.peers[i].address;
    if (family_ == AF_INET && !peer.address.is_v4()) {
      return failure(named + " is of IPv6, and the sockets are of IPv4");
    }
    peer.name_bytes = write_socket_name(peer.address, family_, peer.name);
    if (before.peers[i].address == named) continue;
    const uint32_t mtu = route_mtu(peer.address);
    if (mtu == 0 || payload_for(mtu, peer.address.is_v4()) >= facts_.payload_max) continue;
    return failure(named + ": the route there carries packets of " + std::to_string(mtu) +
                   " bytes, and not of pair.mtu");
  }
  return UdpPeerTable(std::move(*peers), options.paths);
}

void UdpPort::exchange(UdpPeerTable& table) {
  std::swap(peers_, table.peers_);
  std::swap(sources_, table.sources_);
  std::swap(controls_, table.controls_);
  icrc_.forget();
}

UdpPort::~UdpPort() {
  if (facts_.wait_fd >= 0) close(facts_.wait_fd);
}

}  // namespace cw
