#include "dataplane/wire/outer/peer_frames.h"

#include <algorithm>

#include "dataplane/wire/outer/ip_layout.h"

namespace cw {
namespace {

/// What gateways send in circles ends [SPEC.md 18.1].
constexpr uint8_t group_hop_limit = 4;

}  // namespace

std::vector<SourceIndex::Source> sources_of(std::span<const FramePeer> peers) {
  std::vector<SourceIndex::Source> sources;
  for (const FramePeer& peer : peers) {
    const int first = first_source_port(peer.first_source(), peer.link);
    sources.push_back({.ip = peer.ip, .udp_port = static_cast<uint16_t>(first)});
  }
  return sources;
}

std::vector<std::optional<ControlSources::Link>> links_of(std::span<const FramePeer> peers) {
  std::vector<std::optional<ControlSources::Link>> links;
  for (const FramePeer& peer : peers) links.push_back({{.ip = peer.ip, .link = peer.link}});
  return links;
}

PeerFrames::PeerFrames(const PeerFramesOptions& options, const Icrc& icrc)
    : options_(options),
      icrc_(icrc),
      sources_(sources_of(options.peers), options.paths),
      controls_(links_of(options.peers)),
      routes_((options.peers.size() + options.groups.size()) * options.paths) {
  for (const FramePeer& peer : options.peers) {
    peers_.push_back({.address = peer,
                      .form = FrameForm({.ip_version = options.ip_version,
                                         .source_ip = peer.ip,
                                         .target_ip = options.ip,
                                         .target_udp_port = options.udp_port})});
  }
}

// ---- in -----------------------------------------------------------------------------------------

PeerFrames::Kind PeerFrames::read(std::span<const uint8_t> bytes, PeerFrame& frame,
                                  bool leaves_icrc) {
  frame.is_icrc_due = false;
  if (try_read_formed(bytes, frame)) {
    frame.is_icrc_due = leaves_icrc;
    if (leaves_icrc) return Kind::Right;
  } else if (const Kind kind = read_any(bytes, frame); kind != Kind::Right) {
    return kind;
  }
  const auto outer = bytes.subspan(frame.ip_offset, frame.transport_offset - frame.ip_offset);
  const auto covered = bytes.subspan(frame.transport_offset, frame.transport_bytes + icrc_bytes);
  return icrc_.is_right(outer, covered) ? Kind::Right : Kind::Malformed;
}

bool PeerFrames::is_icrc_right(std::span<const uint8_t> transport) const {
  const FrameForm& form = peers_.front().form;
  const size_t outer_bytes = form.transport_offset() - form.ip_offset();
  return icrc_.is_right({transport.data() - outer_bytes, outer_bytes},
                        {transport.data(), transport.size() + icrc_bytes});
}

/// The same as read_any(), sooner, of what it finds right nearly always. Frames come in rows.
inline bool PeerFrames::try_read_formed(std::span<const uint8_t> bytes, PeerFrame& frame) {
  if (try_read_of(last_source_, bytes, frame)) return true;
  const auto source = source_at(bytes);
  return source && try_read_of(source->peer, bytes, frame);
}

/// Whose the frame is if it is formed as all that are right.
std::optional<SourceIndex::Found> PeerFrames::source_at(std::span<const uint8_t> bytes) const {
  if (peers_.empty()) return std::nullopt;
  const FrameForm& form = peers_.front().form;
  if (bytes.size() < form.transport_offset()) return std::nullopt;
  const uint8_t* const ip = bytes.data() + form.ip_offset();
  const uint8_t* const udp = bytes.data() + form.transport_offset() - ip_layout::udp::bytes;
  const bool is_v4 = options_.ip_version == IpVersion::V4;
  return sources_.find({.ip = is_v4 ? ipv4_at(ip + ip_layout::v4::addresses)
                                    : ipv6_at(ip + ip_layout::v6::addresses),
                        .udp_port = ip_layout::load<be16>(udp)});
}

inline bool PeerFrames::try_read_of(size_t index, std::span<const uint8_t> bytes,
                                    PeerFrame& frame) {
  const FrameForm& form = peers_[index].form;
  FormedFrame formed;
  if (!form.try_read(bytes, formed)) return false;
  if (!try_note_source(index, formed.source_udp_port, frame)) return false;
  frame.dscp = formed.dscp;
  frame.ecn = formed.ecn;
  frame.ip_offset = static_cast<uint32_t>(form.ip_offset());
  frame.transport_offset = static_cast<uint32_t>(form.transport_offset());
  frame.transport_bytes = formed.transport_bytes;
  return true;
}

/// Which peer and path the frame came from, unless that peer has no such path.
inline bool PeerFrames::try_note_source(size_t index, uint16_t source_port, PeerFrame& frame) {
  const FramePeer& peer = peers_[index].address;
  const int path = source_port - first_source_port(peer.first_source(), peer.link);
  if (path < 0 || path >= options_.paths) return false;
  note_source({static_cast<uint16_t>(index), static_cast<uint16_t>(path)}, frame);
  return true;
}

inline void PeerFrames::note_source(SourceIndex::Found found, PeerFrame& frame) {
  last_source_ = found.peer;
  frame.peer = found.peer;
  frame.path = found.path;
}

PeerFrames::Kind PeerFrames::read_any(std::span<const uint8_t> bytes, PeerFrame& frame) {
  const auto parsed = parse_frame(bytes, FrameStart::Ethernet);
  if (!parsed) {
    const WireError error = parsed.error();
    const bool is_foreign = error == WireError::FrameType || error == WireError::IpProtocol ||
                            error == WireError::IpExtension;
    return is_foreign ? Kind::Foreign : Kind::Malformed;
  }
  const FrameAddress& address = parsed->address;
  if (address.ip_version != options_.ip_version || !is_for_us(address)) return Kind::Elsewhere;
  if (!find_source(*parsed, bytes, frame)) return Kind::Unknown;
  if (parsed->transport_bytes < sizeof(Bth)) return Kind::Malformed;
  frame.dscp = address.dscp;
  frame.ecn = address.ecn;
  frame.ip_offset = parsed->ip_offset;
  frame.transport_offset = parsed->transport_offset;
  frame.transport_bytes = parsed->transport_bytes;
  return Kind::Right;
}

bool PeerFrames::is_for_us(const FrameAddress& address) const {
  if (address.target_ip == options_.ip) return address.target_udp_port == options_.udp_port;
  return std::ranges::any_of(options_.groups, [&](const FrameGroup& group) {
    return address.target_ip == group.ip && address.target_udp_port == group.udp_port;
  });
}

bool PeerFrames::find_source(const Frame& parsed, std::span<const uint8_t> bytes,
                             PeerFrame& frame) {
  const FrameAddress& from = parsed.address;
  const SourceIndex::Source source{.ip = from.source_ip, .udp_port = from.source_udp_port};
  if (const auto found = sources_.find(source)) return note_source(*found, frame), true;
  unknown_ = {.source = source, .control_link = {}};
  if (source.udp_port < rnic_source_port_min) return false;
  const auto link = control_link_of(parsed.transport_of(bytes));  // [C-65]
  if (!link) return false;
  const auto peer = controls_.find({.ip = source.ip, .link = *link});
  if (!peer) return unknown_.control_link = link, false;
  note_source({.peer = *peer, .path = 0}, frame);
  return true;
}

// ---- out ----------------------------------------------------------------------------------------

PeerFrames::Route& PeerFrames::route_to(size_t peer, uint16_t path, const MacAddress& hop) {
  Route& route = routes_[peer * options_.paths + path];
  if (!route.is_made || route.hop_mac != hop) {
    const FramePeer& to = peers_[peer].address;
    route = {.headers = OuterHeaders(headers_to(to, path, hop)), .hop_mac = hop, .is_made = true};
  }
  return route;
}

PeerFrames::Route& PeerFrames::route_to_group(size_t index, uint16_t path) {
  Route& route = routes_[(peers_.size() + index) * options_.paths + path];
  if (route.is_made) return route;
  const FrameGroup& group = options_.groups[index];
  FrameAddress headers = headers_to({.ip = group.ip, .udp_port = group.udp_port}, path, group.mac);
  headers.hop_limit = group_hop_limit;
  route = {.headers = OuterHeaders(headers), .hop_mac = group.mac, .is_made = true};
  return route;
}

FrameAddress PeerFrames::headers_to(const FramePeer& to, uint16_t path,
                                    const MacAddress& hop) const {
  const auto source_port =
      static_cast<uint16_t>(first_source_port(options_.udp_port, to.link) + path);
  return {
      .target_mac = hop,
      .source_mac = options_.mac,
      .ip_version = options_.ip_version,
      .source_ip = options_.ip,
      .target_ip = to.ip,
      .flow_label = source_port,  // SPEC 2.3
      .source_udp_port = source_port,
      .target_udp_port = to.udp_port,
  };
}

size_t PeerFrames::wrap(Route& route, std::span<uint8_t> transport, uint8_t dscp,
                        uint8_t ecn) const {
  const OuterHeaders& headers = route.headers;
  uint8_t* const front = transport.data() - headers.bytes();
  headers.write(front, transport.size(), dscp, ecn);
  if (transport.size() != route.transport_bytes) {
    route.transport_bytes = transport.size();
    route.icrc_start = icrc_.start(headers.ip_and_udp_of(front));
  }
  const std::span<uint8_t, icrc_bytes> end(transport.data() + transport.size(), icrc_bytes);
  Icrc::write(icrc_.finish(route.icrc_start, transport), end);
  return headers.bytes();
}

}  // namespace cw
