#include "dataplane/gateway/ingress/ingress.h"

#include <string>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/gateway/ingress/addresses.h"
#include "dataplane/gateway/ingress/ip_packet.h"

namespace cw::gateway {

namespace {
constexpr uint32_t lan_mtu_min = 576;  // every host must take as much over IPv4

/// Whether it is of the right version and holds what makes a packet plain.
template <class Plain>
bool is_roomy(std::span<const uint8_t> packet) {
  return packet.size() >= Plain::bytes_min && packet.size() <= limits::frame_bytes_max &&
         packet[0] >> 4 == Plain::version;
}
}  // namespace

Result<Ingress> Ingress::make(const GatewayOptions& options) {
  if (options.lan_mtu < lan_mtu_min || options.lan_mtu > limits::frame_bytes_max) {
    return failure("lan_mtu is " + std::to_string(options.lan_mtu) + ": " +
                   std::to_string(lan_mtu_min) + " to " + std::to_string(limits::frame_bytes_max));
  }
  auto classes = Classes::make(options.classes);
  if (!classes) return std::unexpected(classes.error());
  auto routes = Routes::make(options.peers);
  if (!routes) return std::unexpected(routes.error());
  auto groups = Groups::make(options);
  if (!groups) return std::unexpected(groups.error());
  return Ingress(options, std::move(*classes), std::move(*routes), std::move(*groups));
}

Ingress::Ingress(const GatewayOptions& options, Classes classes, Routes routes, Groups groups)
    : classes_(std::move(classes)),
      routes_(std::move(routes)),
      groups_(std::move(groups)),
      hash_(options.hash_key),
      lan_mtu_(options.lan_mtu),
      decrement_ttl_(options.decrement_ttl) {
  for (const PeerRoutes& each : options.peers) {
    CW_ASSERT(each.links > 0);
    if (links_of_peer_.size() <= each.peer) links_of_peer_.resize(each.peer + size_t{1}, 1);
    links_of_peer_[each.peer] = each.links;
  }
}

bool Ingress::try_admit(std::span<uint8_t> packet, Admitted& admitted, DropReason& why) {
  const bool is_known =
      (is_roomy<PlainV4>(packet) && try_recall<PlainV4>(known_v4_, packet, admitted)) ||
      (is_roomy<PlainV6>(packet) && try_recall<PlainV6>(known_v6_, packet, admitted));
  return is_known || try_admit_new(packet, admitted, why);
}

/// False, and nothing changed: the packet is the first of its flow, or not as usual.
template <class Plain>
inline bool Ingress::try_recall(const Known<Plain>& known, std::span<uint8_t> packet,
                                Admitted& admitted) const {
  const Plain plain{packet.data()};
  const size_t bytes = plain.bytes();
  if (!plain.is_plain() || bytes > packet.size() || bytes > lan_mtu_ || !plain.is_sound()) {
    return false;
  }
  const FlowRoute* const route = known.find(plain.name());
  if (route == nullptr || !try_take_hop(packet, route->is_group, route->peer)) return false;
  static_cast<FlowRoute&>(admitted) = *route;
  admitted.bytes = static_cast<uint16_t>(bytes);
  admitted.ecn = plain.ecn();
  return true;
}

bool Ingress::try_admit_new(std::span<uint8_t> packet, Admitted& admitted, DropReason& why) {
  if (!try_admit_any(packet, admitted, why)) return false;
  const PlainV4 plain_v4{packet.data()};
  const PlainV6 plain_v6{packet.data()};
  if (is_roomy<PlainV4>(packet) && plain_v4.is_plain()) known_v4_.keep(plain_v4.name(), admitted);
  if (is_roomy<PlainV6>(packet) && plain_v6.is_plain()) known_v6_.keep(plain_v6.name(), admitted);
  return true;
}

bool Ingress::try_admit_any(std::span<uint8_t> packet, Admitted& admitted, DropReason& why) const {
  const auto refuse = [&why](DropReason reason) { return why = reason, false; };
  const auto parsed = parse_ip_packet(packet);
  if (!parsed) return refuse(DropReason::lan_malformed);
  if (!is_routable(parsed->source, parsed->target, parsed->is_v6)) {
    return refuse(DropReason::lan_unroutable);
  }
  const bool is_to_group = is_group(parsed->target, parsed->is_v6);
  const auto target = target_of(*parsed, is_to_group, why);
  if (!target) return false;
  if (parsed->bytes > lan_mtu_) return refuse(DropReason::lan_too_big);
  const uint16_t index = class_of(*parsed, is_to_group, *target);
  if (index == Classes::none) return refuse(DropReason::no_class);
  if (!try_take_hop(packet, is_to_group, *target)) return refuse(DropReason::ttl_expired);
  admitted.class_index = index;
  admitted.bytes = parsed->bytes;
  admitted.bucket = hash_.bucket_of(*parsed);
  admitted.peer = is_to_group ? *target : link_of(*target, admitted.bucket);
  admitted.is_group = is_to_group;
  admitted.order = classes_.order_of(index, *parsed);
  admitted.ecn = parsed->ecn;
  admitted.dscp = parsed->dscp & 63;
  admitted.goes_back = parsed->kind == PacketKind::RoceRc;
  return true;
}

/// The number of a peer, or of a group.
std::optional<uint16_t> Ingress::target_of(const IpPacket& packet, bool is_to_group,
                                           DropReason& why) const {
  why = DropReason::no_route;
  if (!is_to_group) return routes_.find(packet.target, packet.is_v6);
  const uint16_t group = groups_.find(packet.target, packet.is_v6);
  const auto refuse = [&why](DropReason reason) { return why = reason, std::nullopt; };
  if (group == Groups::none) return refuse(DropReason::multicast_unknown);
  const Groups::Side side = groups_.side_of(packet.source, packet.is_v6);
  if (side == Groups::Side::Remote) return refuse(DropReason::multicast_looped);
  if (side == Groups::Side::Unknown) return refuse(DropReason::multicast_source);
  if (groups_[group].sites.empty()) return std::nullopt;
  return group;
}

uint16_t Ingress::class_of(const IpPacket& packet, bool is_to_group, uint16_t target) const {
  const uint16_t given = is_to_group ? groups_[target].class_index : Groups::none;
  return given != Groups::none ? given : classes_.class_of(packet);
}

/// Of a group's packet one is taken wherever it comes from: a way in circles ends there.
inline bool Ingress::try_take_hop(std::span<uint8_t> packet, bool is_to_group,
                                  uint16_t target) const {
  if (is_to_group) return try_limit_ttl(packet, groups_[target].ttl);
  return !decrement_ttl_ || try_decrement_ttl(packet);
}

std::optional<uint16_t> Ingress::peer_of(std::span<const uint8_t> packet) const {
  const auto parsed = parse_ip_packet(packet);
  if (!parsed) return std::nullopt;
  if (!is_group(parsed->target, parsed->is_v6)) {
    return routes_.find(parsed->target, parsed->is_v6);
  }
  const uint16_t group = groups_.find(parsed->target, parsed->is_v6);
  if (group == Groups::none || groups_[group].sites.empty()) return std::nullopt;
  return groups_[group].sites.front();
}

std::optional<IcmpError> icmp_error_of(DropReason reason) {
  switch (reason) {
    case DropReason::lan_too_big:
      return IcmpError::TooBig;
    case DropReason::no_route:
      return IcmpError::NoRoute;
    case DropReason::ttl_expired:
      return IcmpError::HopLimit;
    default:
      return std::nullopt;
  }
}

}  // namespace cw::gateway
