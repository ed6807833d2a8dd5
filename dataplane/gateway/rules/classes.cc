#include "dataplane/gateway/rules/classes.h"

#include <string>

#include "dataplane/base/limits.h"

namespace cw::gateway {
namespace {

constexpr unsigned dscp_count = 64;

Result<void> check_ports(const char* key, const std::optional<PortRange>& range) {
  if (!range || range->first <= range->last) return {};
  return failure(std::string(key) + " run from " + std::to_string(range->first) + " to " +
                 std::to_string(range->last) + ": the first must not be above the last");
}

Result<void> check_match(const ClassMatch& match) {
  if (match.dscp && *match.dscp >= dscp_count) {
    return failure("dscp is " + std::to_string(*match.dscp) + ": 0 to 63");
  }
  if (auto ports = check_ports("source_ports", match.source_ports); !ports) return ports;
  if (auto ports = check_ports("target_ports", match.target_ports); !ports) return ports;
  for (const auto& prefix : {match.source, match.target}) {
    if (!prefix) continue;
    if (auto sound = check(*prefix); !sound) return sound;
  }
  if (match.source && match.target && match.source->is_v6 != match.target->is_v6) {
    return failure("source " + text_of(*match.source) + " and target " + text_of(*match.target) +
                   " are of two IP versions: no packet has both");
  }
  return {};
}

Result<void> check_unique(const std::vector<ClassOptions>& classes) {
  for (size_t i = 0; i < classes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (classes[i].name == classes[j].name) {
        return failure("two classes are called \"" + classes[i].name +
                       "\": give each its own name");
      }
      if (classes[i].qp == classes[j].qp) {
        return failure("classes \"" + classes[j].name + "\" and \"" + classes[i].name +
                       "\" have the same qp, " + std::to_string(classes[i].qp) +
                       ": each class needs its own");
      }
    }
  }
  return {};
}

}  // namespace

Classes::AddressRule Classes::address_rule_of(const Prefix& prefix) {
  // IPv4 lies in the first four of the sixteen bytes, so its prefix counts from the same end.
  const Key128 mask = mask_of<Key128>(prefix.bits);
  return {{static_cast<uint64_t>(mask >> 64), static_cast<uint64_t>(mask)},
          half_of(prefix.address)};
}

Result<Classes::Rule> Classes::compile(const ClassMatch& match) {
  if (auto sound = check_match(match); !sound) return std::unexpected(sound.error());
  Rule rule;
  if (match.kind) rule.kinds = static_cast<uint8_t>(1u << static_cast<unsigned>(*match.kind));
  if (match.dscp) rule.dscps = uint64_t{1} << *match.dscp;
  rule.needs_ports = match.source_ports || match.target_ports;
  if (match.source_ports) rule.source_ports = *match.source_ports;
  if (match.target_ports) rule.target_ports = *match.target_ports;
  if (match.source) rule.source = address_rule_of(*match.source);
  if (match.target) rule.target = address_rule_of(*match.target);
  if (match.source || match.target) {
    rule.versions = (match.source ? *match.source : *match.target).is_v6 ? 2 : 1;
  }
  return rule;
}

Result<Classes> Classes::make(const std::vector<ClassOptions>& classes) {
  if (classes.empty()) return failure("there is no class: at least one must take the traffic");
  if (classes.size() > limits::qps_max) {
    return failure("there are " + std::to_string(classes.size()) + " classes: 1 to " +
                   std::to_string(limits::qps_max));
  }
  if (auto unique = check_unique(classes); !unique) return std::unexpected(unique.error());
  Classes made;
  for (const ClassOptions& options : classes) {
    const auto index = static_cast<uint16_t>(made.orders_.size());
    made.orders_.push_back(options.order);
    std::vector<ClassMatch> matches = options.matches;
    if (matches.empty()) matches.emplace_back();
    for (const ClassMatch& match : matches) {
      auto rule = compile(match);
      if (!rule) return failure("class \"" + options.name + "\": " + rule.error().sentence);
      rule->class_index = index;
      made.rules_.push_back(*rule);
    }
  }
  return made;
}

uint16_t Classes::class_of(const IpPacket& packet) const {
  const auto kind = static_cast<unsigned>(packet.kind);
  const unsigned version = packet.is_v6 ? 1 : 0;
  const Half source = half_of(packet.source), target = half_of(packet.target);
  const auto is_in = [](uint16_t port, const PortRange& range) {
    return range.first <= port && port <= range.last;
  };
  for (const Rule& rule : rules_) {
    const bool holds = (rule.kinds >> kind & 1) && (rule.dscps >> packet.dscp & 1) &&
                       (rule.versions >> version & 1) && (!rule.needs_ports || packet.has_ports) &&
                       is_in(packet.source_port, rule.source_ports) &&
                       is_in(packet.target_port, rule.target_ports) && rule.source.holds(source) &&
                       rule.target.holds(target);
    if (holds) return rule.class_index;
  }
  return none;
}

FrameOrder Classes::order_of(uint16_t index, const IpPacket& packet) const {
  switch (orders_[index]) {
    case OrderRule::Always:
      return FrameOrder::InTurn;
    case OrderRule::Never:
      return FrameOrder::AtOnce;
    case OrderRule::ByKind:
      break;
  }
  return order_by_kind(packet);
}

FrameOrder order_by_kind(const IpPacket& packet) {
  switch (packet.kind) {
    case PacketKind::RoceRc:
      return packet.is_roce_acknowledgement() ? FrameOrder::Behind : FrameOrder::InTurn;
    case PacketKind::Udp:
    case PacketKind::Icmp:
    case PacketKind::RoceUd:
      return FrameOrder::AtOnce;
    case PacketKind::Tcp:
    case PacketKind::Other:
      break;
  }
  return FrameOrder::InTurn;
}

}  // namespace cw::gateway
