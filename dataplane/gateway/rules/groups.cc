#include "dataplane/gateway/rules/groups.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "dataplane/base/limits.h"
#include "dataplane/gateway/ingress/addresses.h"

namespace cw::gateway {
namespace {

/// As it may leave its LAN, and one that the far side takes a hop off still leaves there.
constexpr uint8_t ttl_min = 2;

std::string name_of(const GroupOptions& group) {
  const auto bits = static_cast<uint8_t>(group.is_v6 ? 128 : 32);
  const std::string text = text_of(Prefix{group.address, bits, group.is_v6});
  return "group " + text.substr(0, text.find('/'));
}

Result<void> check(const GroupOptions& group, const GatewayOptions& options) {
  const auto fail = [&](const std::string& why) { return failure(name_of(group) + ": " + why); };
  if (!is_group(group.address, group.is_v6)) return fail("no multicast address");
  if (is_link_local(group.address, group.is_v6)) return fail("it is of one link alone");
  if (group.ttl < ttl_min) {
    return fail("ttl is " + std::to_string(group.ttl) + ": " + std::to_string(ttl_min) + " to 255");
  }
  if (group.class_index && *group.class_index >= options.classes.size()) {
    return fail("there is no class " + std::to_string(*group.class_index));
  }
  for (const std::string& name : group.peers) {
    if (std::ranges::find(options.peers, name, &PeerRoutes::name) == options.peers.end()) {
      return fail("there is no peer \"" + name + "\"");
    }
  }
  return {};
}

bool is_meant(const GroupOptions& group, const PeerRoutes& peer) {
  if (group.peers.empty()) return !peer.name.empty();
  return std::ranges::find(group.peers, peer.name) != group.peers.end();
}

bool lead_to_same(const PeerRoutes& one, const PeerRoutes& other) {
  return std::ranges::find_first_of(one.routes, other.routes) != one.routes.end();
}

std::vector<uint16_t> sites_of(const GroupOptions& group, const std::vector<PeerRoutes>& peers) {
  std::vector<uint16_t> sites;
  for (const PeerRoutes& each : peers) {
    const auto takes_its_place = [&](const PeerRoutes& other) {
      return is_meant(group, other) && other.is_before(each) && lead_to_same(each, other);
    };
    if (!is_meant(group, each) || std::ranges::any_of(peers, takes_its_place)) continue;
    sites.push_back(each.peer);
  }
  return sites;
}

auto key_of_group(const Groups::Group& group) { return std::tuple(group.is_v6, group.address); }

}  // namespace

Result<Groups> Groups::make(const GatewayOptions& options) {
  if (options.groups.size() > limits::groups_max) {
    return failure("there are " + std::to_string(options.groups.size()) + " groups: at most " +
                   std::to_string(limits::groups_max));
  }
  Groups made;
  for (const GroupOptions& each : options.groups) {
    if (auto sound = check(each, options); !sound) return std::unexpected(sound.error());
    if (made.find(each.address, each.is_v6) != none) {
      return failure(name_of(each) + " is there twice");
    }
    made.all_.push_back({.address = each.address,
                         .is_v6 = each.is_v6,
                         .class_index = each.class_index.value_or(none),
                         .ttl = each.ttl,
                         .sites = sites_of(each, options.peers)});
    std::ranges::sort(made.all_, {}, key_of_group);
  }
  auto sides = Routes::make(options.peers, options.own_prefixes);
  if (!sides) return std::unexpected(sides.error());
  made.sides_ = std::move(*sides);
  return made;
}

uint16_t Groups::find(const IpAddress& address, bool is_v6) const {
  const auto wanted = std::tuple(is_v6, address);
  const auto found = std::ranges::lower_bound(all_, wanted, {}, key_of_group);
  if (found == all_.end() || key_of_group(*found) != wanted) return none;
  return static_cast<uint16_t>(found - all_.begin());
}

Groups::Side Groups::side_of(const IpAddress& source, bool is_v6) const {
  const auto side = sides_.find(source, is_v6);
  if (!side) return Side::Unknown;
  return *side == Routes::own_side ? Side::Own : Side::Remote;
}

void Groups::take_counts(const Groups& other) {
  for (Group& each : all_) {
    const uint16_t before = other.find(each.address, each.is_v6);
    if (before == none) continue;
    each.frames = other[before].frames;
    each.bytes = other[before].bytes;
  }
}

}  // namespace cw::gateway
