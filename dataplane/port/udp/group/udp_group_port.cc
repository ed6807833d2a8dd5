#include "dataplane/port/udp/group/udp_group_port.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "dataplane/base/assert.h"
#include "dataplane/port/udp/group/udp_multicast.h"
#include "dataplane/port/udp/route_mtu.h"
#include "dataplane/wire/opcode.h"

namespace cw {
namespace {

/// "192.0.2.1:5000" or "[2001:db8::1]:5000", or either without a port and its colon.
Result<UdpAddress> parse_member(const std::string& text, uint16_t udp_port) {
  const size_t colon = text.rfind(':');
  const bool is_bracketed = text.starts_with('[');
  const bool has_port =
      colon != text.npos && (is_bracketed ? text[colon - 1] == ']' : text.find(':') == colon);
  std::string address = has_port ? text.substr(0, colon) : text;
  if (is_bracketed && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  if (has_port) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + colon + 1, end, udp_port);
    if (read.ec != std::errc() || read.ptr != end || udp_port == 0) {
      return failure("members: \"" + text + "\" ends in no UDP port");
    }
  }
  return parse_udp_address(address, udp_port, "members");
}

Result<void> check(const UdpGroupPortOptions& options) {
  if (options.members.size() < 2 || options.members.size() > limits::group_members_max) {
    return failure("members: " + std::to_string(options.members.size()) + " named, 2 to " +
                   std::to_string(limits::group_members_max) + " accepted");
  }
  if (options.rank >= options.members.size()) {
    return failure("rank: " + std::to_string(options.rank) + " given, and there are " +
                   std::to_string(options.members.size()) + " members");
  }
  if (options.groups.empty() || options.groups.size() > UdpGroupPort::groups_max) {
    return failure("group: " + std::to_string(options.groups.size()) + " named, 1 to " +
                   std::to_string(UdpGroupPort::groups_max) + " accepted");
  }
  if (options.hops == 0 || options.hops > UdpGroupPort::hops_max) {
    return failure("ttl: " + std::to_string(options.hops) + " given, 1 to " +
                   std::to_string(UdpGroupPort::hops_max) + " accepted");
  }
  if (options.icrc == IcrcMode::Hardware) return failure("icrc: a UDP socket has no hardware");
  if (options.udp_port == 0) return failure("udp_port: 0 is none");
  CW_ASSERT(options.crc32 != nullptr && options.packets > 0);
  return {};
}

}  // namespace

/// What the options say, read.
struct UdpGroupPort::Plan {
  std::vector<UdpAddress> members, groups;
  uint32_t interface_index = 0;
  int family = AF_INET;
};

Result<UdpGroupPort::Plan> UdpGroupPort::make_plan(const UdpGroupPortOptions& options) {
  if (auto done = check(options); !done) return std::unexpected(done.error());
  Plan plan;
  std::set<std::pair<std::array<uint8_t, 16>, uint16_t>> seen;
  for (const std::string& text : options.members) {
    const auto member = parse_member(text, options.udp_port);
    if (!member) return std::unexpected(member.error());
    if (!plan.members.empty() && member->is_v4() != plan.members[0].is_v4()) {
      return failure("members: " + text + " is of another IP version than the first");
    }
    if (!seen.insert({member->ip, member->udp_port}).second) {
      return failure("members: " + text + " stands there twice");
    }
    plan.members.push_back(*member);
  }
  const UdpAddress& own = plan.members[options.rank];
  plan.family = own.is_v4() ? AF_INET : AF_INET6;
  const auto interface_index = find_interface(options.interface, own);
  if (!interface_index) return std::unexpected(interface_index.error());
  plan.interface_index = *interface_index;
  for (const std::string& text : options.groups) {
    auto group = parse_udp_address(text, options.udp_port, "group");
    if (!group) return std::unexpected(group.error());
    if (!is_multicast(*group) || group->is_v4() != own.is_v4()) {
      return failure("group: " + text + " is no multicast address of the members' IP version");
    }
    group->scope = plan.interface_index;
    plan.groups.push_back(*group);
  }
  return plan;
}

Result<std::vector<UdpSocket>> UdpGroupPort::make_sockets(const UdpGroupPortOptions& options,
                                                          const Plan& plan) {
  std::vector<UdpSocket> sockets;
  sockets.reserve(1 + plan.groups.size());
  const auto open = [&](const UdpAddress& local, bool is_group) -> Result<void> {
    auto socket = UdpSocket::make({.family = plan.family,
                                   .local = local,
                                   .rx_buffer_bytes = options.socket_buffer_bytes,
                                   .tx_buffer_bytes = options.socket_buffer_bytes,
                                   .gro = options.gro,
                                   .zero_checksums = options.icrc == IcrcMode::Exact,
                                   .shares_address = is_group});
    if (!socket) return std::unexpected(socket.error());
    sockets.push_back(std::move(*socket));
    return {};
  };
  if (auto done = open(plan.members[options.rank], false); !done) {
    return std::unexpected(done.error());
  }
  const MulticastWay way{.interface_index = plan.interface_index,
                         .hops = options.hops,
                         .is_heard_here = has_member_here(plan.members, options.rank)};
  if (auto done = set_multicast_way(sockets.front(), plan.family, way); !done) {
    return std::unexpected(done.error());
  }
  for (const UdpAddress& group : plan.groups) {
    if (auto done = open(group, true); !done) return std::unexpected(done.error());
    if (auto done = join_group(sockets.back(), group, plan.interface_index); !done) {
      return std::unexpected(done.error());
    }
  }
  return sockets;
}

Result<std::unique_ptr<UdpGroupPort>> UdpGroupPort::make(const UdpGroupPortOptions& options) {
  const auto plan = make_plan(options);
  if (!plan) return std::unexpected(plan.error());
  auto sockets = make_sockets(options, *plan);
  if (!sockets) return std::unexpected(sockets.error());
  std::unique_ptr<UdpGroupPort> port(new UdpGroupPort(options, *plan, std::move(*sockets)));
  std::vector<int> fds;
  for (const Inlet& inlet : port->inlets_) fds.push_back(inlet.socket.fd());
  const auto wait_fd = make_wait_fd(fds);
  if (!wait_fd) return std::unexpected(wait_fd.error());
  port->facts_.wait_fd = *wait_fd;
  return port;
}

UdpGroupPort::UdpGroupPort(const UdpGroupPortOptions& options, const Plan& plan,
                           std::vector<UdpSocket> sockets)
    : members_(plan.members.size()),
      sources_(plan.members),
      packets_(options.packets, options.payload_bytes_max, counters_, status_),
      receiver_(options.gro, packets_.datagram_bytes_max(), counters_, status_) {
  for (const auto* row : {&plan.members, &plan.groups}) {
    for (const UdpAddress& address : *row) {
      Target& target = targets_.emplace_back(Target{.address = address});
      target.name_bytes = write_socket_name(address, plan.family, target.name);
    }
  }
  const Icrc icrc(options.icrc, options.crc32, options.payload_bytes_max);
  for (size_t i = 0; i < sockets.size(); ++i) {
    const UdpAddress& own = i == 0 ? plan.members[options.rank] : plan.groups[i - 1];
    inlets_.push_back(
        {.socket = std::move(sockets[i]),
         .icrc = UdpIcrc(icrc, options.crc32, options.payload_bytes_max, own, targets_.size()),
         .own = own,
         .overflow_drops = 0});
    inlets_.back().overflow_drops = inlets_.back().socket.overflow_drops();
  }
  note_facts(options, plan.interface_index);
}

void UdpGroupPort::note_facts(const UdpGroupPortOptions& options, uint32_t interface_index) {
  facts_.name = "udp";
  facts_.payload_max = options.payload_bytes_max;
  for (const Target& target : targets_) {
    const bool is_group = is_multicast(target.address);  // whose routes nobody asks
    const uint32_t mtu = is_group ? interface_mtu(interface_index) : route_mtu(target.address);
    if (mtu == 0) continue;  // no route yet
    facts_.payload_max = std::min(facts_.payload_max, payload_for(mtu, target.address.is_v4()));
  }
  facts_.peers = static_cast<uint16_t>(members_);
  facts_.packets = options.packets;
  facts_.icrc = options.icrc;
  facts_.external_payload = true;
  note_socket(inlets_.front().socket, options.socket_buffer_bytes, options.gso, status_);
}

UdpGroupPort::~UdpGroupPort() {
  if (facts_.wait_fd >= 0) close(facts_.wait_fd);
}

// ---- in ----

/// Each inlet in turn goes first, so that none starves.
size_t UdpGroupPort::rx_burst(std::span<Packet*> out, Instant now) {
  size_t count = unpack(out, now);
  for (size_t i = 0; i < inlets_.size() && count < out.size(); ++i) {
    inlet_ = (inlet_ + 1) % inlets_.size();
    if (receiver_.try_receive(inlets_[inlet_].socket)) count += unpack(out.subspan(count), now);
  }
  return count;
}

size_t UdpGroupPort::unpack(std::span<Packet*> out, Instant now) {
  Inlet& inlet = inlets_[inlet_];
  return receiver_.unpack(
      out, [&](const UdpArrival& arrival) { return begin_arrival(inlet, arrival); },
      [&](std::span<const uint8_t> datagram) { return accept(inlet, datagram, now); });
}

/// False: it is from no member.
bool UdpGroupPort::begin_arrival(Inlet& inlet, const UdpArrival& arrival) {
  // Only once it has dropped something, a socket says so.
  if (arrival.overflow_drops != 0) {
    counters_.rx_dropped += arrival.overflow_drops - inlet.overflow_drops;
    inlet.overflow_drops = arrival.overflow_drops;
  }
  arrival_source_ = read_socket_name(*arrival.source);
  const auto rank = sources_.find(arrival_source_);
  arrival_rank_ = rank.value_or(0);
  return rank.has_value();
}

/// A packet with the datagram, or null when it is refused or there is no packet.
Packet* UdpGroupPort::accept(Inlet& inlet, std::span<const uint8_t> datagram, Instant now) {
  const UdpWay way = {
      .number = arrival_rank_, .far = arrival_source_, .own_udp_port = inlet.own.udp_port};
  Packet* const packet = packets_.accept(datagram, receiver_.tos(), now,
                                         [&] { return inlet.icrc.is_right(way, datagram); });
  if (packet != nullptr) packet->peer = arrival_rank_;
  return packet;
}

// ---- out ----

size_t UdpGroupPort::tx_burst(std::span<Packet* const> packets, Instant) {
  const auto has_target = [this](const Packet* packet) { return target_of(*packet) != nullptr; };
  size_t done = 0;
  while (done < packets.size()) {
    if (!has_target(packets[done])) {
      ++status_.tx_unrouted;
      packets_.release(packets[done++]);
      continue;
    }
    const auto rest =
        packets.subspan(done, std::min(packets.size() - done, limits::burst_packets_max));
    const auto end = std::ranges::find_if_not(rest, has_target);
    const auto row = rest.first(static_cast<size_t>(end - rest.begin()));
    const size_t sent = sender_.send(
        inlets_.front().socket, row,
        [this](Packet& packet, UdpSendBatch& batch, bool may_join) {
          append(packet, batch, may_join);
        },
        [this](std::span<Packet* const> some, bool has_left) { packets_.settle(some, has_left); });
    done += sent;
    if (sent < row.size()) break;
  }
  counters_.tx_refused += packets.size() - done;
  return done;
}

/// Null: nobody is there, or no such path.
const UdpGroupPort::Target* UdpGroupPort::target_of(const Packet& packet) const {
  const bool is_group = packet.peer >= group_peer_first;
  const size_t index = is_group ? members_ + (packet.peer - group_peer_first) : packet.peer;
  const bool is_there = index < targets_.size() && (is_group || index < members_);
  return is_there && packet.path == 0 ? &targets_[index] : nullptr;
}

/// Pad, where the payload is elsewhere, and ICRC are written behind the packet's own bytes.
void UdpGroupPort::append(Packet& packet, UdpSendBatch& batch, bool may_join) {
  CW_ASSERT(packet.bytes >= sizeof(Bth) && packet.bytes <= packet.bytes_max);
  const Target& target = *target_of(packet);
  const std::span<const uint8_t> own(packet.data, packet.bytes);
  const std::span<const uint8_t> payload(packet.payload,
                                         packet.payload != nullptr ? packet.payload_bytes : 0);
  const size_t pad_bytes = pad_bytes_for(payload.size());
  uint8_t* const pad = packet.data + packet.bytes;
  std::memset(pad, 0, pad_bytes);
  const size_t place =
      batch.append({.target = &target.name,
                    .target_bytes = target.name_bytes,
                    .headers = own,
                    .payload = payload,
                    .trailer = {pad, pad_bytes + icrc_bytes},
                    .tos = static_cast<uint8_t>(packet.dscp << 2 | (packet.ecn & 3))},
                   may_join);
  Inlet& from = inlets_.front();
  const UdpWay way = {.number = static_cast<size_t>(&target - targets_.data()),
                      .far = target.address,
                      .own_udp_port = from.own.udp_port};
  const uint32_t icrc = from.icrc.of(way, place, own, payload);
  Icrc::write(icrc, std::span<uint8_t, icrc_bytes>(pad + pad_bytes, icrc_bytes));
}

}  // namespace cw
