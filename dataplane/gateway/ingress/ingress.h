// The first half of a frame's way to the WAN: from a packet of the LAN to the peer and the class it
// goes to, or the reason why it goes nowhere. What follows per peer and class is send_lane.h.
//
//   parse -> may it be routed -> route, or group -> small enough -> class -> hops left -> bucket,
//   order
//
// All of it follows from a few words of a packet's headers (plain_packet.h) and from options; who
// has others has another of these. So what was worked out for them is kept, and the next packet of
// the flow needs only what is its own: length, checksum, hops. Only who may cross is kept; who may
// not, or who is not plain, goes the whole row each time, which knows the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "dataplane/base/memory/memo.h"
#include "dataplane/base/result.h"
#include "dataplane/core/counters.h"
#include "dataplane/gateway/ingress/flow.h"
#include "dataplane/gateway/ingress/icmp.h"
#include "dataplane/gateway/ingress/plain_packet.h"
#include "dataplane/gateway/options.h"
#include "dataplane/gateway/rules/classes.h"
#include "dataplane/gateway/rules/groups.h"
#include "dataplane/gateway/rules/routes.h"

namespace cw::gateway {

/// How all packets of a flow cross that are alike.
struct FlowRoute {
  uint16_t peer = 0;         ///< the number of its link at the WAN port; of a group: its index
  uint16_t class_index = 0;  ///< in GatewayOptions::classes
  uint16_t bucket = 0;
  FrameOrder order = FrameOrder::InTurn;
  uint8_t dscp : 6 = 0;
  /// Whoever sent it sends all again from a lost packet on, and slows down for a mark only.
  bool goes_back : 1 = false;
  bool is_group : 1 = false;  ///< it goes to several peers
};
static_assert(sizeof(FlowRoute) == sizeof(uint64_t));  // copied in one piece

/// A packet that may cross, and how.
struct Admitted : FlowRoute {
  uint16_t bytes = 0;  ///< of the frame: the IP packet without padding of the link
  uint8_t ecn = 0;
};

class Ingress {
 public:
  /// Errors: those of Classes, Routes and Groups, and an MTU that is no frame's.
  static Result<Ingress> make(const GatewayOptions& options);

  /// Looks at one packet, and takes one hop off it where the options say so; false with the reason
  /// when it goes nowhere, and then it has not been changed. Thread: one. Cost: hot; no allocation,
  /// and the result is written once, where the caller reads it.
  bool try_admit(std::span<uint8_t> packet, Admitted& admitted, DropReason& why);
  /// The number of the first link to the peer that it would go to, of a group the first; nothing:
  /// to none. Cost: a look at its headers and the routes.
  std::optional<uint16_t> peer_of(std::span<const uint8_t> packet) const;

  /// The same for one of the sites of its group.
  Admitted to_site(const Admitted& admitted, uint16_t site) const {
    Admitted one = admitted;
    one.peer = link_of(site, one.bucket);
    return one;
  }
  Groups& groups() { return groups_; }
  const Groups& groups() const { return groups_; }

 private:
  template <class Plain>
  using Known = Memo<std::tuple_size_v<typename Plain::Name>, FlowRoute>;
  /// Of flows, or halves of them, that send by turns; 32 bytes each, 56 over IPv6.
  static constexpr size_t known_max = 4096;

  template <class Plain>
  [[gnu::always_inline]] bool try_recall(const Known<Plain>& known, std::span<uint8_t> packet,
                                         Admitted& admitted) const;
  bool try_admit_new(std::span<uint8_t> packet, Admitted& admitted, DropReason& why);
  bool try_admit_any(std::span<uint8_t> packet, Admitted& admitted, DropReason& why) const;

  Ingress(const GatewayOptions& options, Classes classes, Routes routes, Groups groups);
  std::optional<uint16_t> target_of(const IpPacket& packet, bool is_to_group,
                                    DropReason& why) const;
  uint16_t class_of(const IpPacket& packet, bool is_to_group, uint16_t target) const;
  [[gnu::always_inline]] bool try_take_hop(std::span<uint8_t> packet, bool is_to_group,
                                           uint16_t target) const;
  /// The flow's among the links of the peer whose first this is.
  uint16_t link_of(uint16_t peer, uint16_t bucket) const {
    return static_cast<uint16_t>(peer + bucket % links_of_peer_[peer]);
  }

  Classes classes_;
  Routes routes_;
  Groups groups_;
  FlowHash hash_;
  std::vector<uint16_t> links_of_peer_;  // by the number of its first
  uint32_t lan_mtu_;
  bool decrement_ttl_;
  Known<PlainV4> known_v4_{known_max};
  Known<PlainV6> known_v6_{known_max};
};

/// What the sender of a packet refused for `reason` should hear; nothing for most.
std::optional<IcmpError> icmp_error_of(DropReason reason);

}  // namespace cw::gateway
