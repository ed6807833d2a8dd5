// What a gateway is made from: checked by whoever reads the config, plain data here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/units.h"

namespace cw::gateway {

/// Flows are told apart by the bucket that their hash falls into; its number is 16 bits of a frame.
inline constexpr size_t bucket_count = 65'536;

/// An IPv4 or IPv6 prefix; IPv4 uses the first four bytes.
struct Prefix {
  std::array<uint8_t, 16> address{};
  uint8_t bits = 0;
  bool is_v6 = false;

  bool operator==(const Prefix&) const = default;
};

/// An inclusive range of UDP or TCP ports.
struct PortRange {
  uint16_t first = 0, last = 0xffff;
};

/// Kinds of packets that differ in how their order matters (protocol: "Order").
enum class PacketKind : uint8_t {
  Tcp,
  Udp,
  Icmp,
  RoceRc,  ///< RoCEv2 reliable connection, requests and responses
  RoceUd,  ///< RoCEv2 datagrams and congestion notifications
  Other,
};

/// All that is set must hold.
struct ClassMatch {
  std::optional<PacketKind> kind;
  std::optional<uint8_t> dscp;
  std::optional<PortRange> source_ports, target_ports;
  std::optional<Prefix> source, target;
};

/// What frames of a flow wait for.
enum class OrderRule : uint8_t {
  ByKind,  ///< TCP, RC and whatever is neither UDP, ICMP nor datagram: in turn; the others at once
  Always,  ///< everything in turn
  Never,   ///< everything at once
};

/// A class: which frames, on which SDR QP of every peer they travel, and what becomes of them when
/// there is too much. The policy belongs to the QP (sdr::QpOptions).
struct ClassOptions {
  std::string name;
  std::vector<ClassMatch> matches;  ///< any of them; none: every frame
  uint16_t qp = 0;
  uint32_t weight = 1;  ///< of the link's rate, when classes compete
  OrderRule order = OrderRule::ByKind;
  Duration hold = Duration::from_ms(250);  ///< a frame is given up when it is this old
  std::optional<Duration> queue;  ///< of frames that wait for the link, at most; none: by the RTT
  bool fair = false;              ///< flows take turns
  /// Where the policy codes: a block closes when its oldest slot is this old.
  Duration block_age = Duration::from_ms(2);
  bool mark = true;   ///< CE in place of an early drop, for those who can
  bool pads = false;  ///< slots leave full, with zeros where there are no frames
};

/// What may wait for the link where a class does not say. Who is told by loss gives up three tenths
/// of its window, and what a policy mends comes an RTT later, all of the row behind it at once:
/// two RTTs are one of his, and only who had as much waiting as is on the way fills the line
/// meanwhile; half of the queue may stand. Never so long that it is too old to be mended.
constexpr Duration queue_by_rtt(Duration rtt, Duration hold) {
  return std::min(std::max(rtt * 4, Duration::from_ms(50)), hold / 2);
}

/// How much is to be expected of a peer; the most comes first.
enum class Standing : uint8_t {
  Up,
  Draining,   ///< it carries, and asks for others to be taken
  Returning,  ///< it carries again, and has not done so for long
  Down,       ///< or it does not answer
};

/// A peer gateway as the LAN side sees it. What goes to it is spread over its links by flows.
struct PeerRoutes {
  uint16_t peer = 0;  ///< the number of its first link at the WAN port; the others follow
  std::string name;
  std::vector<Prefix> routes;
  uint16_t links = 1;
  /// Of peers that share a route the one of the best standing gets the packets, and of several the
  /// one that is preferred most.
  Standing standing = Standing::Up;
  uint16_t prefer = prefer_default;
  static constexpr uint16_t prefer_default = 100;

  bool is_before(const PeerRoutes& other) const {
    return standing != other.standing ? standing < other.standing : prefer > other.prefer;
  }
};

/// A multicast group whose frames cross, each once to every one of its sites.
struct GroupOptions {
  std::array<uint8_t, 16> address{};  ///< IPv4: the first four bytes
  bool is_v6 = false;
  std::vector<std::string> peers;  ///< whose hosts get them; empty: of all
  std::optional<uint16_t>
      class_index;            ///< in GatewayOptions::classes; none: the first that matches
  uint8_t ttl = ttl_default;  ///< with which they leave at most; 2 at least
  static constexpr uint8_t ttl_default = 4;
};

struct GatewayOptions {
  std::vector<ClassOptions> classes;  ///< the first that matches; the last should match everything
  std::vector<PeerRoutes> peers;
  std::vector<GroupOptions> groups;
  std::vector<Prefix> own_prefixes;  ///< of this side's hosts, who alone may send to groups
  size_t links() const {
    size_t all = 0;
    for (const PeerRoutes& each : peers) all += each.links;
    return all;
  }
  uint32_t lan_mtu = 1500;     ///< largest IP packet taken from the LAN
  bool decrement_ttl = false;  ///< false where the kernel routes, as on tun
  Rate release_rate;           ///< of what leaves to the LAN; zero: 1.25 times the link's
  Duration lan_queue = Duration::from_ms(10);  ///< then frames are dropped; CE above half of it
  /// Of frames that wait for the links, beyond what streams have at hand, were there one class and
  /// one peer; more have half as much again together.
  Bytes queue_memory = Bytes(8 << 20);
  uint64_t hash_key[2] = {};  ///< of the flow hash: secret, and the same in each life of a site
  size_t full_links = 1;  ///< that the line carries at full rate together: memory is for so many
};

}  // namespace cw::gateway
