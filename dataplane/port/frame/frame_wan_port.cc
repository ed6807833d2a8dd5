#include "dataplane/port/frame/frame_wan_port.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

/// What an IP packet has besides a payload: the headers around it, its own, and the ICRC.
uint32_t bytes_around(const HostAddress& own) {
  return (own.is_v4() ? 20 : 40) + 8 + opcode_table[opcode_uc_write_only_immediate].header_bytes +
         uint32_t{icrc_bytes};
}

/// The longest payload in IP packets of `mtu`.
uint32_t payload_for(uint32_t mtu, const HostAddress& own) {
  const uint32_t around = bytes_around(own);
  return mtu > around ? (mtu - around) / 4 * 4 : 0;
}

/// Of a link here or elsewhere.
template <class Link>
FramePeer frame_peer_of(const HostAddress& address, const Link& it) {
  return {
      .ip = address.ip, .udp_port = it.udp_port, .link = it.link, .source_port = it.source_port};
}

std::optional<Error> complaint_about(const FrameWanOptions& options) {
  const auto between = [](const char* key, size_t value, size_t least,
                          size_t most) -> std::optional<Error> {
    if (value >= least && value <= most) return std::nullopt;
    return Error{std::string(key) + ": " + std::to_string(value) + " given, " +
                 std::to_string(least) + " to " + std::to_string(most) + " accepted"};
  };
  CW_ASSERT(options.crc32 != nullptr && options.packets > 0);
  if (auto e = between("peers", options.peers.size(), 1, limits::peers_max)) return e;
  if (auto e = between("groups", options.groups.size(), 0, limits::groups_max)) return e;
  if (auto e = between("paths", options.paths, 1, limits::paths_max)) return e;
  const auto last = std::ranges::max_element(options.peers, {}, &FramePeerOptions::link);
  const auto ports = static_cast<size_t>(first_source_port(0, last->link)) + options.paths;
  if (auto e = between("udp_port", options.udp_port, 1, size_t{UINT16_MAX} + 1 - ports)) return e;
  if (auto e = between("payload_bytes_max", options.payload_bytes_max, limits::payload_bytes_min,
                       limits::payload_bytes_max)) {
    return e;
  }
  if (options.icrc == IcrcMode::Hardware) return Error{"icrc: a plain NIC knows no ICRC"};
  return std::nullopt;
}

}  // namespace

Result<FrameWanPort::Addresses> FrameWanPort::parse_addresses(const FrameWanOptions& options) {
  const auto own = parse_host_address(options.address, "address");
  if (!own) return std::unexpected(own.error());
  Addresses addresses{.own = *own, .peers = {}, .hops = {}};
  for (const FramePeerOptions& peer : options.peers) {
    const auto address = parse_host_address(peer.address, "peers");
    if (!address) return std::unexpected(address.error());
    if (address->version != own->version) {
      return failure("address: " + options.address + " and the peer " + peer.address +
                     " are not of one IP version");
    }
    const FramePeer frame_peer = frame_peer_of(*address, peer);
    const int first = first_source_port(frame_peer.first_source(), peer.link);
    if (peer.udp_port == 0 || first + options.paths - 1 > UINT16_MAX) {
      return failure(std::string("peers: the ") +
                     (peer.source_port != 0 ? "source_port" : "udp_port") + " of " + peer.address +
                     " leaves no room for " + std::to_string(options.paths) + " paths of link " +
                     std::to_string(peer.link));
    }
    const auto hop = parse_next_hop(peer.next_hop, *address);
    if (!hop) return std::unexpected(hop.error());
    addresses.peers.push_back(frame_peer);
    addresses.hops.push_back(*hop);
  }
  for (const FrameGroupOptions& group : options.groups) {
    const auto address = parse_host_address(group.address, "groups");
    if (!address) return std::unexpected(address.error());
    if (!is_group(*address) || address->version != own->version) {
      return failure("groups: " + group.address + " is no multicast address of the IP version of " +
                     options.address);
    }
    addresses.groups.push_back(*address);
  }
  for (const FrameLinkElsewhere& link : options.elsewhere) {
    const auto address = parse_host_address(link.address, "peers");
    if (!address) return std::unexpected(address.error());
    addresses.elsewhere.push_back(frame_peer_of(*address, link));
  }
  return addresses;
}

Result<std::vector<PathFlow>> FrameWanPort::flows_of(const FrameWanOptions& options) {
  const auto addresses = parse_addresses(options);
  if (!addresses) return std::unexpected(addresses.error());
  return flows_of(options, *addresses);
}

/// For shard 0, whose links are the port's peers.
std::vector<PathFlow> FrameWanPort::flows_of(const FrameWanOptions& options,
                                             const Addresses& addresses) {
  std::vector<PathFlow> flows, of_any_port;
  const auto add = [&](const FramePeer& peer, uint16_t shard) {
    PathFlow flow = {.ip_version = addresses.own.version,
                     .source = peer.ip,
                     .target = addresses.own.ip,
                     .source_udp_port = 0,
                     .target_udp_port = options.udp_port,
                     .shard = shard};
    const int first_port = first_source_port(peer.first_source(), peer.link);
    // One of these serves all links of a peer, whose control packets are then handed over.
    if (peer.link == 0 && first_port >= rnic_source_port_min) of_any_port.push_back(flow);
    for (uint16_t path = 0; path < options.paths; ++path) {
      flow.source_udp_port = static_cast<uint16_t>(first_port + path);
      flows.push_back(flow);
    }
  };
  for (const FramePeer& peer : addresses.peers) add(peer, 0);
  for (size_t i = 0; i < options.elsewhere.size(); ++i) {
    add(addresses.elsewhere[i], options.elsewhere[i].shard);
  }
  flows.insert(flows.end(), of_any_port.begin(), of_any_port.end());
  return flows;
}

Result<std::unique_ptr<FrameWanPort>> FrameWanPort::make(const FrameDriver& driver,
                                                         const FrameWanOptions& asked) {
  if (auto complaint = complaint_about(asked)) return std::unexpected(std::move(*complaint));
  if (asked.device.empty())
    return failure(std::string("device: missing; such as ") + driver.example());
  const auto addresses = parse_addresses(asked);
  if (!addresses) return std::unexpected(addresses.error());
  FrameWanOptions options = asked;
  // Buffers of what cannot cross are a waste, and some drivers have no long ones.
  const uint32_t payload_most = payload_for(driver.mtu_of(asked.device), addresses->own);
  options.payload_bytes_max = std::min(asked.payload_bytes_max, payload_most);
  auto device = driver.make({
      .device = options.device,
      .shards = options.shards,
      .queues = options.queues,
      .descriptors = options.descriptors,
      .ip_bytes_max = bytes_around(addresses->own) + options.payload_bytes_max,
      .packet_bytes = uint32_t{limits::headers_bytes_max} + options.payload_bytes_max,
      .packets = options.packets,
      .shares = true,
      .flows = flows_of(options, *addresses),
  });
  if (!device) return std::unexpected(std::move(device.error()));
  return make_over(std::move(*device), options, *addresses);
}

Result<std::unique_ptr<FrameWanPort>> FrameWanPort::make_beside(const FrameWanPort& first,
                                                                const FrameWanOptions& asked,
                                                                uint16_t shard) {
  if (auto complaint = complaint_about(asked)) return std::unexpected(std::move(*complaint));
  const auto addresses = parse_addresses(asked);
  if (!addresses) return std::unexpected(addresses.error());
  FrameWanOptions options = asked;
  options.payload_bytes_max = std::min(asked.payload_bytes_max, first.facts_.payload_max);
  return make_over(first.device_->beside(shard), options, *addresses);
}

Result<std::unique_ptr<FrameWanPort>> FrameWanPort::make_over(std::unique_ptr<FrameDevice> device,
                                                              const FrameWanOptions& options,
                                                              const Addresses& addresses) {
  std::unique_ptr<FrameWanPort> port(new FrameWanPort(options, addresses, std::move(device)));
  if (auto done = port->join(options, addresses.hops); !done) return std::unexpected(done.error());
  return port;
}

FrameWanPort::FrameWanPort(const FrameWanOptions& options, const Addresses& addresses,
                           std::unique_ptr<FrameDevice> device)
    : FramePort(std::move(device)),
      self_{.ip = addresses.own, .mac = mac_},
      kernel_answers_(device_->is_heard_by_kernel()),
      neighbours_(addresses.own),
      frames_({.ip_version = addresses.own.version,
               .ip = addresses.own.ip,
               .mac = mac_,
               .udp_port = options.udp_port,
               .paths = options.paths,
               .peers = addresses.peers,
               .groups = frame_groups(options, addresses.groups)},
              Icrc(options.icrc, options.crc32, options.payload_bytes_max)),
      groups_(addresses.groups),
      group_count_(addresses.groups.size()),
      elsewhere_(sources_of(addresses.elsewhere), options.paths),
      controls_elsewhere_(links_of(addresses.elsewhere)) {
  for (const FrameLinkElsewhere& link : options.elsewhere)
    shard_of_elsewhere_.push_back(link.shard);
  facts_.payload_max =
      std::min(options.payload_bytes_max, payload_for(device_->mtu(), addresses.own));
  facts_.peers = static_cast<uint16_t>(options.peers.size());
  facts_.paths = options.paths;
  facts_.packets = options.packets;
  facts_.icrc = options.icrc;
}

std::vector<FrameGroup> FrameWanPort::frame_groups(const FrameWanOptions& options,
                                                   std::span<const HostAddress> groups) {
  std::vector<FrameGroup> frames;
  frames.reserve(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    frames.push_back({.ip = groups[i].ip,
                      .mac = mac_of_group(groups[i]),
                      .udp_port = options.groups[i].udp_port});
  }
  return frames;
}

Result<void> FrameWanPort::join_groups() {
  if (kernel_answers_) return groups_.join_by_kernel(device_->interface());
  const NeighbourSelf nobody{.ip = {{}, IpVersion::V6}, .mac = mac_};
  groups_.join(self_.ip.is_v4() ? self_ : NeighbourSelf{.ip = {}, .mac = mac_}, nobody,
               number_of(mac_));
  return {};
}

/// Where the kernel owns the interface, it knows the routes. Where it hears the frames too, it
/// knows the neighbours, and must not mind our packets.
Result<void> FrameWanPort::join(const FrameWanOptions& options, std::span<const Neighbour> hops) {
  if (!device_->interface().empty()) {
    if (auto done = join_kernel(); !done) return done;
  }
  if (kernel_answers_ && device_->shard() == 0) {
    auto silence = silence_udp_port(self_.ip, options.udp_port);
    if (!silence) return std::unexpected(std::move(silence.error()));
    silence_ = std::move(*silence);
  }
  if (device_->shard() == 0) {
    if (auto joined = join_groups(); !joined) return joined;
  }
  for (size_t peer = 0; peer < hops.size(); ++peer) {
    Neighbour hop = hops[peer];
    const bool is_routed = kernel_ && options.peers[peer].next_hop.empty();
    if (is_routed) hop.ip = kernel_->next_hop(hop.ip).value_or(hop.ip);
    neighbours_.add_peer(hop);
  }
  return {};
}

FrameWanStatus FrameWanPort::status() const {
  FrameWanStatus now = status_;
  now.device = device_status();
  now.unresolved = neighbours_.unresolved();
  return now;
}

// ---- in -----------------------------------------------------------------------------------------

size_t FrameWanPort::rx_burst(std::span<Packet*> out, Instant now) {
  if (const Look seen = try_look(now); seen != Look::NotDue) look_after(seen, now);
  try_flush();
  return rx_accepted(out, [&](Packet& packet, From from) { return accept(packet, from, now); });
}

/// Strips the frame to the transport packet when it is from a peer and right.
FrameWanPort::Fate FrameWanPort::accept(Packet& packet, From from, Instant now) {
  const std::span<const uint8_t> bytes(packet.data, packet.bytes);
  PeerFrame frame;
  const auto kind = frames_.read(bytes, frame, leaves_icrcs_);
  if (kind != PeerFrames::Kind::Right) {
    if (kind == PeerFrames::Kind::Unknown) return on_unknown(packet, from);
    return on_other(kind, bytes, from, now), Fate::Dropped;
  }
  packet.peer = frame.peer;
  packet.path = frame.path;
  packet.dscp = frame.dscp;
  packet.ecn = frame.ecn;
  packet.is_icrc_due = frame.is_icrc_due;
  packet.data += frame.transport_offset;
  packet.bytes_max -= frame.transport_offset;
  packet.bytes = frame.transport_bytes;
  packet.at = now;
  ++counters_.rx_packets;
  counters_.rx_bytes += packet.bytes;
  return Fate::Taken;
}

bool FrameWanPort::is_icrc_right(const Packet& packet) {
  CW_DCHECK(packet.is_icrc_due);
  const bool is_right = frames_.is_icrc_right({packet.data, packet.bytes});
  if (!is_right) ++counters_.rx_malformed;
  return is_right;
}

/// Which of another shard's links the frame is of that was just found to be unknown.
std::optional<uint16_t> FrameWanPort::link_elsewhere() const {
  const PeerFrames::Stranger& stranger = frames_.unknown();
  if (const auto link = elsewhere_.find(stranger.source)) return link->peer;
  if (!stranger.control_link) return std::nullopt;
  return controls_elsewhere_.find({.ip = stranger.source.ip, .link = *stranger.control_link});
}

/// Another shard's, or nobody's.
FrameWanPort::Fate FrameWanPort::on_unknown(Packet& packet, From from) {
  const auto link = from == From::Wire ? link_elsewhere() : std::nullopt;
  if (link) return hand_over(packet, shard_of_elsewhere_[*link]);
  ++status_.rx_unknown;
  ++counters_.rx_malformed;
  return Fate::Dropped;
}

void FrameWanPort::on_other(PeerFrames::Kind kind, std::span<const uint8_t> frame, From from,
                            Instant now) {
  using Kind = PeerFrames::Kind;
  if (kind == Kind::Foreign) on_foreign(frame, from, now);
  if (kind == Kind::Malformed) return (void)++counters_.rx_malformed;
  if (from == From::Wire) ++status_.rx_other;
}

// ---- neighbours ---------------------------------------------------------------------------------

/// Where no kernel hears the frames, neighbours are listened to; who has them from the wire answers
/// and tells the other shards.
void FrameWanPort::on_foreign(std::span<const uint8_t> frame, From from, Instant now) {
  if (kernel_answers_) return;
  if (const auto query = may_be_group_query(frame) ? parse_group_query(frame) : std::nullopt) {
    ++status_.rx_query;
    return groups_.hear(*query, now);
  }
  if (!may_be_neighbour_message(frame)) return;
  const auto message = parse_neighbour_message(frame);
  if (!message) return;
  if (from == From::Wire) tell_others(frame);
  const bool is_for_us = neighbours_.hear(*message, now);
  if (!is_for_us || from == From::Shard) return;
  uint8_t answer[neighbour_message_bytes_max];
  send_frame({answer, encode_neighbour_answer(self_, *message, answer)});
}

void FrameWanPort::look_after(Look seen, Instant now) {
  if (seen == Look::Down) return drop_frames();
  if (seen == Look::CameUp) {
    neighbours_.doubt_all();
    groups_.join_anew(device_->interface());
  }
  speak_of_groups(seen == Look::CameUp, now);
  while (Neighbour* const hop = neighbours_.next_to_ask(now)) resolve(*hop, now);
}

void FrameWanPort::speak_of_groups(bool is_new, Instant now) {
  uint8_t report[group_message_bytes_max];
  const size_t bytes = groups_.next_report(is_new, now, report);
  if (bytes == 0) return;
  send_frame({report, bytes});
  ++status_.reports;
}

void FrameWanPort::resolve(Neighbour& hop, Instant now) {
  if (kernel_answers_) {
    if (const auto mac = kernel_->mac_of(hop.ip)) hop.hear(*mac, now);
    return;
  }
  uint8_t question[neighbour_message_bytes_max];
  send_frame({question, encode_neighbour_question(self_, hop.ip, question)});
}

}  // namespace cw
