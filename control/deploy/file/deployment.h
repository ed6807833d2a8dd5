// A deployment's file: all sites, what joins them, and what is the same at all of them. Its words
// are those of a gateway's file, whose schema its own is made from.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "control/config/text/read.h"
#include "control/deploy/file/tree.h"
#include "dataplane/base/units.h"
#include "dataplane/gateway/options.h"

namespace cw::deploy {

inline constexpr size_t sites_max = 64;

struct SiteRow {
  std::string name;
  std::string address;              ///< where the others reach its gateway
  std::vector<std::string> routes;  ///< what lies behind it
  uint16_t prefer =
      gateway::PeerRoutes::prefer_default;  ///< of those with a route alike, its twins
  std::string public_key, next_public_key;
  std::string ask;  ///< "https://192.0.2.1:9443"; empty: by its sockets, or api.listen
  Node row;         ///< all that was written
};

struct LinkRow {
  std::vector<std::string> between;  ///< two names
  Duration rtt;                      ///< zero: pair.rtt
  uint32_t mtu = 0;                  ///< 0: pair.mtu
  Rate rate;                         ///< each way; zero: the peer's share of wan.rate
  Node row;
};

enum class Mesh : uint8_t { Full, Listed };

struct Deployment {
  std::deque<SiteRow> sites;
  std::deque<LinkRow> links;
  Mesh mesh = Mesh::Full;
  Duration rtt;      ///< of links that say nothing; zero: each says its own
  uint32_t mtu = 0;  ///< the same; 0: 1500
  Node tree;         ///< [defaults], [pair] and [[class]] are taken from it as they are

  /// Null: there is none.
  const SiteRow* site(std::string_view name) const;
  /// What is written of this pair; null: nothing.
  const LinkRow* link(const std::string& a, const std::string& b) const;
  /// Never twins: they stand before the same hosts.
  bool are_linked(const std::string& a, const std::string& b) const;
  Duration rtt_of(const std::string& a, const std::string& b) const;
  uint32_t mtu_of(const std::string& a, const std::string& b) const;
};

/// Whether both have a prefix, the same.
bool are_twins(const SiteRow& a, const SiteRow& b);

/// Stores what is right. Mistakes: in the keys that are a deployment's own, and in how those of
/// gateways are called and written; a syntax error is the only one. Never throws.
config::Mistakes read_deployment(Deployment& deployment, std::string_view text);

/// Every key, as a file that could be edited.
std::string all_keys();

}  // namespace cw::deploy
