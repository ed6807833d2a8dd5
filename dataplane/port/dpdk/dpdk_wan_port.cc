#include "dataplane/port/dpdk/dpdk_wan_port.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/device/device_obstacle.h"

namespace cw {
namespace {

constexpr uint32_t udp_bytes = 8;

uint32_t ip_bytes_of(const HostAddress& address) { return address.is_v4() ? 20 : 40; }

/// What the headers around it, its own, and the ICRC leave of an MTU.
uint32_t payload_for(uint32_t mtu, const HostAddress& own) {
  const uint32_t around = ip_bytes_of(own) + udp_bytes +
                          opcode_table[opcode_uc_write_only_immediate].header_bytes + icrc_bytes;
  return mtu > around ? (mtu - around) / 4 * 4 : 0;
}

uint32_t ip_packet_bytes(const DpdkWanOptions& options, const HostAddress& own) {
  return ip_bytes_of(own) + udp_bytes + opcode_table[opcode_uc_write_only_immediate].header_bytes +
         options.payload_bytes_max + icrc_bytes;
}

/// What a peer's frames to us look like.
FrameForm form_of(const HostAddress& peer, const HostAddress& own, uint16_t udp_port) {
  return FrameForm({.ip_version = own.version,
                    .source_ip = peer.ip,
                    .target_ip = own.ip,
                    .target_udp_port = udp_port});
}

std::optional<Error> complaint_about(const DpdkWanOptions& options) {
  const auto between = [](const char* key, size_t value, size_t least,
                          size_t most) -> std::optional<Error> {
    if (value >= least && value <= most) return std::nullopt;
    return Error{std::string(key) + ": " + std::to_string(value) + " given, " +
                 std::to_string(least) + " to " + std::to_string(most) + " accepted"};
  };
  CW_ASSERT(options.crc32 != nullptr && options.packets > 0);
  if (auto e = between("peers", options.peers.size(), 1, limits::peers_max)) return e;
  if (auto e = between("paths", options.paths, 1, limits::paths_max)) return e;
  if (auto e = between("udp_port", options.udp_port, 1, size_t{UINT16_MAX} + 1 - options.paths)) {
    return e;
  }
  if (auto e = between("payload_bytes_max", options.payload_bytes_max, limits::payload_bytes_min,
                       limits::payload_bytes_max)) {
    return e;
  }
  if (options.device.empty()) return Error{"device: missing; such as \"net_memif0,role=client\""};
  if (options.icrc == IcrcMode::Hardware) return Error{"icrc: a plain NIC knows no ICRC"};
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<DpdkWanPort>> DpdkWanPort::make(const DpdkWanOptions& asked) {
  if (auto complaint = complaint_about(asked)) return std::unexpected(std::move(*complaint));
  const auto own = parse_host_address(asked.address, "address");
  if (!own) return std::unexpected(own.error());
  DpdkWanOptions options = asked;
  // Buffers of what cannot cross are a waste; net_af_xdp has none that are longer than a page.
  const uint32_t payload_most = payload_for(shared_mtu(asked.device), *own);
  options.payload_bytes_max = std::min(asked.payload_bytes_max, payload_most);
  auto device = DpdkDevice::make({
      .device = options.device,
      .queues = options.queues,
      .descriptors = options.descriptors,
      .ip_bytes_max = ip_packet_bytes(options, *own),
      .packet_bytes = uint32_t{limits::headers_bytes_max} + options.payload_bytes_max,
      .packets = options.packets,
      .shares = true,
  });
  if (!device) return std::unexpected(std::move(device.error()));
  std::unique_ptr<DpdkWanPort> port(new DpdkWanPort(options, *own, std::move(*device)));
  if (!port->device_->interface().empty()) {  // the kernel knows the routes
    if (auto done = port->join_kernel(); !done) return std::unexpected(done.error());
  }
  if (port->kernel_answers_) {
    auto silence = silence_udp_port(*own, options.udp_port);
    if (!silence) return std::unexpected(std::move(silence.error()));
    port->silence_ = std::move(*silence);
  }
  auto peers = make_peers(options, *own, port->kernel_ ? &*port->kernel_ : nullptr);
  if (!peers) return std::unexpected(std::move(peers.error()));
  port->peers_ = std::move(*peers);
  return port;
}

DpdkWanPort::DpdkWanPort(const DpdkWanOptions& options, const HostAddress& own,
                         std::unique_ptr<DpdkDevice> device)
    : DpdkPort(std::move(device)),
      self_{.ip = own, .mac = mac_},
      udp_port_(options.udp_port),
      icrc_(options.icrc, options.crc32, options.payload_bytes_max),
      kernel_answers_(device_->is_heard_by_kernel()),
      routes_(options.peers.size() * options.paths) {
  facts_.payload_max = std::min(options.payload_bytes_max, payload_for(device_->mtu(), own));
  facts_.peers = static_cast<uint16_t>(options.peers.size());
  facts_.paths = options.paths;
  facts_.packets = options.packets;
  facts_.icrc = options.icrc;
}

/// Whom packets for a peer are handed to.
Result<Neighbour> DpdkWanPort::make_hop(const DpdkPeerOptions& peer, const HostAddress& address,
                                        KernelNet* kernel) {
  Neighbour hop{.ip = address};
  if (looks_like_mac(peer.next_hop)) {
    const auto mac = parse_mac(peer.next_hop, "next_hop");
    if (!mac) return std::unexpected(mac.error());
    hop.mac = *mac;
    hop.is_known = hop.is_fixed = true;
  } else if (!peer.next_hop.empty()) {
    const auto router = parse_host_address(peer.next_hop, "next_hop");
    if (!router) return std::unexpected(router.error());
    if (router->version != address.version) {
      return failure("next_hop: " + peer.next_hop + " and " + peer.address +
                     " are not of one IP version");
    }
    hop.ip = *router;
  } else if (kernel != nullptr) {
    hop.ip = kernel->next_hop(address).value_or(address);
  }
  return hop;
}

Result<DpdkWanPort::Peers> DpdkWanPort::make_peers(const DpdkWanOptions& options,
                                                   const HostAddress& own, KernelNet* kernel) {
  Peers peers;
  for (const DpdkPeerOptions& peer : options.peers) {
    const auto address = parse_host_address(peer.address, "peers");
    if (!address) return std::unexpected(address.error());
    if (address->version != own.version) {
      return failure("address: " + options.address + " and the peer " + peer.address +
                     " are not of one IP version");
    }
    if (peer.udp_port == 0 || peer.udp_port + options.paths - 1 > UINT16_MAX) {
      return failure("peers: the udp_port of " + peer.address + " leaves no room for " +
                     std::to_string(options.paths) + " paths");
    }
    const auto hop = make_hop(peer, *address, kernel);
    if (!hop) return std::unexpected(hop.error());
    const auto same = [&hop](const Neighbour& it) { return !hop->is_fixed && it.ip == hop->ip; };
    const auto found = std::ranges::find_if(peers.hops, same);
    const auto index = static_cast<size_t>(found - peers.hops.begin());
    if (found == peers.hops.end()) peers.hops.push_back(*hop);
    peers.all.push_back({.address = *address,
                         .udp_port = peer.udp_port,
                         .hop = index,
                         .form = form_of(*address, own, options.udp_port)});
  }
  return peers;
}

DpdkWanStatus DpdkWanPort::status() const {
  DpdkWanStatus now = status_;
  now.device = device_status();
  for (const Neighbour& hop : peers_.hops) {
    if (!hop.is_known) now.unresolved.push_back(text_of(hop.ip));
  }
  return now;
}

// ---- in -----------------------------------------------------------------------------------------

size_t DpdkWanPort::rx_burst(std::span<Packet*> out, Instant now) {
  if (const Look seen = try_look(now); seen != Look::NotDue) look_after(seen, now);
  try_flush();
  return rx_accepted(out, [&](Packet& packet) { return accept(packet, now); });
}

/// Strips the frame to the transport packet when it is from a peer and right.
DpdkWanPort::Fate DpdkWanPort::accept(Packet& packet, Instant now) {
  const std::span<const uint8_t> bytes(packet.data, packet.bytes);
  Inside inside;
  if (!try_read_formed(packet, inside) && !try_read(packet, inside, now)) return Fate::Dropped;
  const auto outer = bytes.subspan(inside.ip_offset, inside.transport_offset - inside.ip_offset);
  const auto covered = bytes.subspan(inside.transport_offset, inside.transport_bytes + icrc_bytes);
  if (!icrc_.is_right(outer, covered)) return ++counters_.rx_malformed, Fate::Dropped;
  packet.data += inside.transport_offset;
  packet.bytes_max -= inside.transport_offset;
  packet.bytes = inside.transport_bytes;
  packet.at = now;
  ++counters_.rx_packets;
  counters_.rx_bytes += packet.bytes;
  return Fate::Taken;
}

/// The same as try_read(), sooner, of what it accepts nearly always. Frames come in rows.
inline bool DpdkWanPort::try_read_formed(Packet& packet, Inside& inside) {
  if (try_read_of(last_source_, packet, inside)) return true;
  for (size_t index = 0; index < peers_.all.size(); ++index) {
    if (try_read_of(index, packet, inside)) return true;
  }
  return false;
}

/// Which peer and path the packet came from, unless that peer has no such path.
inline bool DpdkWanPort::try_note_source(size_t index, uint16_t source_port, Packet& packet) {
  const int path = source_port - peers_.all[index].udp_port;
  if (path < 0 || path >= facts_.paths) return false;
  last_source_ = index;
  packet.peer = static_cast<uint16_t>(index);
  packet.path = static_cast<uint16_t>(path);
  return true;
}

inline bool DpdkWanPort::try_read_of(size_t index, Packet& packet, Inside& inside) {
  const Peer& peer = peers_.all[index];
  FormedFrame frame;
  if (!peer.form.try_read({packet.data, packet.bytes}, frame)) return false;
  if (!try_note_source(index, frame.source_udp_port, packet)) return false;
  packet.ecn = frame.ecn;
  packet.dscp = frame.dscp;
  inside.ip_offset = static_cast<uint32_t>(peer.form.ip_offset());
  inside.transport_offset = static_cast<uint32_t>(peer.form.transport_offset());
  inside.transport_bytes = frame.transport_bytes;
  return true;
}

bool DpdkWanPort::try_read(Packet& packet, Inside& inside, Instant now) {
  const std::span<const uint8_t> bytes(packet.data, packet.bytes);
  const auto frame = parse_frame(bytes, FrameStart::Ethernet);
  if (!frame) {
    const WireError error = frame.error();
    const bool is_other = error == WireError::FrameType || error == WireError::IpProtocol ||
                          error == WireError::IpExtension;
    if (is_other) return on_other(bytes, now), false;
    return ++counters_.rx_malformed, false;
  }
  const FrameAddress& address = frame->address;
  if (address.ip_version != self_.ip.version || address.target_ip != self_.ip.ip ||
      address.target_udp_port != udp_port_) {
    return ++status_.rx_other, false;
  }
  if (!find_source(address, packet)) {
    ++status_.rx_unknown;
    return ++counters_.rx_malformed, false;
  }
  if (frame->transport_bytes < sizeof(Bth)) return ++counters_.rx_malformed, false;
  packet.ecn = address.ecn;
  packet.dscp = address.dscp;
  inside = {frame->ip_offset, frame->transport_offset, frame->transport_bytes};
  return true;
}

bool DpdkWanPort::find_source(const FrameAddress& address, Packet& packet) {
  for (size_t index = 0; index < peers_.all.size(); ++index) {
    if (address.source_ip == peers_.all[index].address.ip &&
        try_note_source(index, address.source_udp_port, packet)) {
      return true;
    }
  }
  return false;
}

// ---- neighbours ---------------------------------------------------------------------------------

/// A frame that is no UDP over IP. Where no kernel hears it, neighbours are listened to and
/// answered.
void DpdkWanPort::on_other(std::span<const uint8_t> frame, Instant now) {
  ++status_.rx_other;
  if (kernel_answers_ || !may_be_neighbour_message(frame)) return;
  const auto message = parse_neighbour_message(frame);
  if (!message || message->sender.version != self_.ip.version) return;
  for (Neighbour& hop : peers_.hops) {
    if (hop.ip == message->sender) hop.hear(message->sender_mac, now);
  }
  if (!message->is_question || message->target != self_.ip || message->sender.ip == IpAddress{}) {
    return;
  }
  uint8_t answer[neighbour_message_bytes_max];
  send_frame({answer, encode_neighbour_answer(self_, *message, answer)});
}

void DpdkWanPort::look_after(Look seen, Instant now) {
  if (seen == Look::Down) return drop_frames();
  for (Neighbour& hop : peers_.hops) {
    if (seen == Look::CameUp) hop.doubt();
    if (hop.try_ask(now)) resolve(hop, now);
  }
}

void DpdkWanPort::resolve(Neighbour& hop, Instant now) {
  if (kernel_answers_) {
    if (const auto mac = kernel_->mac_of(hop.ip)) hop.hear(*mac, now);
    return;
  }
  uint8_t question[neighbour_message_bytes_max];
  send_frame({question, encode_neighbour_question(self_, hop.ip, question)});
}

}  // namespace cw
