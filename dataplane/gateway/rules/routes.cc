#include "dataplane/gateway/rules/routes.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "dataplane/base/limits.h"

namespace cw::gateway {
namespace {

struct Route {
  Prefix prefix;
  const PeerRoutes* peer = nullptr;
};

template <class Key>
struct Range {
  Key first, last;
  uint8_t bits;
  uint16_t peer;
};

template <class Key>
Range<Key> range_of(const Route& route) {
  const Key first = key_of<Key>(route.prefix.address);
  return {first, static_cast<Key>(first | ~mask_of<Key>(route.prefix.bits)), route.prefix.bits,
          route.peer->peer};
}

template <class Key>
void add_start(RangeTable<Key>& table, Key start, uint16_t peer) {
  if (table.starts.back() == start) {
    table.peers.back() = peer;
  } else {
    table.starts.push_back(start);
    table.peers.push_back(peer);
  }
}

/// Walks the prefixes from the left. Those that are open lie inside each other, the longest on top;
/// where one ends, the one below it rules again.
template <class Key>
RangeTable<Key> cut(const std::vector<Route>& routes) {
  std::vector<Range<Key>> ranges;
  for (const Route& route : routes) {
    if (route.prefix.is_v6 == (sizeof(Key) == 16)) ranges.push_back(range_of<Key>(route));
  }
  std::ranges::sort(ranges, [](const Range<Key>& a, const Range<Key>& b) {
    return a.first != b.first ? a.first < b.first : a.bits < b.bits;
  });
  RangeTable<Key> table;
  std::vector<Range<Key>> open;
  const auto close_before = [&](const Range<Key>* next) {
    while (!open.empty() && (next == nullptr || open.back().last < next->first)) {
      const Key end = static_cast<Key>(open.back().last + 1);  // zero: behind the last address
      open.pop_back();
      if (end != 0) add_start(table, end, open.empty() ? table.none : open.back().peer);
    }
  };
  for (const Range<Key>& range : ranges) {
    close_before(&range);
    add_start(table, range.first, range.peer);
    open.push_back(range);
  }
  close_before(nullptr);
  return table;
}

std::unexpected<Error> alike(const Route& route, const Route& other) {
  if (route.peer->peer == Routes::own_side || other.peer->peer == Routes::own_side) {
    return failure("the prefix " + text_of(route.prefix) + " is this side's and a route of a peer");
  }
  return failure("the route " + text_of(route.prefix) + " is given to peer \"" + route.peer->name +
                 "\" and to peer \"" + other.peer->name + "\", which are preferred alike");
}

/// One route for each prefix, by the peer that is before the others.
Result<std::vector<Route>> chosen(std::vector<Route> routes) {
  for (const Route& route : routes) {
    if (auto sound = check(route.prefix); !sound) {
      return failure("peer \"" + route.peer->name + "\": " + sound.error().sentence);
    }
  }
  const auto key = [](const Route& route) {
    return std::tuple(route.prefix.is_v6, route.prefix.bits, route.prefix.address);
  };
  std::ranges::sort(routes, {}, [&key](const Route& route) {
    return std::tuple_cat(key(route), std::tuple(-int{route.peer->prefer}, route.peer->peer));
  });
  std::vector<Route> row;
  for (size_t i = 0; i < routes.size(); ++i) {
    const Route& route = routes[i];
    if (i == 0 || key(routes[i - 1]) != key(route)) {
      row.push_back(route);
      continue;
    }
    const Route& before = routes[i - 1];
    if (before.peer->peer == route.peer->peer) continue;
    const bool is_own = before.peer->peer == Routes::own_side;  // before all others
    if (is_own || before.peer->prefer == route.peer->prefer) return alike(before, route);
    if (route.peer->is_before(*row.back().peer)) row.back() = route;
  }
  return row;
}

}  // namespace

Result<Routes> Routes::make(const std::vector<PeerRoutes>& peers, const std::vector<Prefix>& own) {
  if (peers.size() > limits::peers_max) {
    return failure("there are " + std::to_string(peers.size()) + " peers: at most " +
                   std::to_string(limits::peers_max));
  }
  std::vector<Route> routes;
  for (const PeerRoutes& peer : peers) {
    if (peer.peer >= limits::peers_max) {
      return failure("peer \"" + peer.name + "\" has the number " + std::to_string(peer.peer) +
                     ": 0 to " + std::to_string(limits::peers_max - 1));
    }
    for (const Prefix& prefix : peer.routes) routes.push_back({prefix, &peer});
  }
  const PeerRoutes side = {
      .peer = own_side, .name = "this side", .routes = {}, .prefer = UINT16_MAX};
  for (const Prefix& prefix : own) routes.push_back({prefix, &side});
  const auto row = chosen(std::move(routes));
  if (!row) return std::unexpected(row.error());
  Routes made;
  made.v4_ = cut<Key32>(*row);
  made.v6_ = cut<Key128>(*row);
  return made;
}

}  // namespace cw::gateway
