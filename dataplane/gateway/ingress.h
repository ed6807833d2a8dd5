// The first half of a frame's way to the WAN: from a packet of the LAN to the peer and the class it
// goes to, or the reason why it goes nowhere. What follows per peer and class is send_lane.h.
//
//   parse -> may it be routed -> route -> small enough -> class -> hops left -> bucket, order
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "dataplane/base/result.h"
#include "dataplane/core/counters.h"
#include "dataplane/gateway/classes.h"
#include "dataplane/gateway/flow.h"
#include "dataplane/gateway/icmp.h"
#include "dataplane/gateway/options.h"
#include "dataplane/gateway/routes.h"

namespace cw::gateway {

/// A packet that may cross, and how.
struct Admitted {
  uint16_t peer = 0;         ///< its number at the WAN port
  uint16_t class_index = 0;  ///< in GatewayOptions::classes
  uint16_t bytes = 0;        ///< of the frame: the IP packet without padding of the link
  uint16_t bucket = 0;
  FrameOrder order = FrameOrder::InTurn;
  uint8_t ecn = 0, dscp = 0;
};

class Ingress {
 public:
  /// Errors: those of Classes and Routes, and an MTU that is no frame's.
  static Result<Ingress> make(const GatewayOptions& options);

  /// Looks at one packet, and takes one hop off it where the options say so; false with the reason
  /// when it goes nowhere, and then it has not been changed. Cost: hot; no allocation, and the
  /// result is written once, where the caller reads it.
  bool try_admit(std::span<uint8_t> packet, Admitted& admitted, DropReason& why) const;

 private:
  Ingress(const GatewayOptions& options, Classes classes, Routes routes)
      : classes_(std::move(classes)),
        routes_(std::move(routes)),
        hash_(options.hash_key),
        lan_mtu_(options.lan_mtu),
        decrement_ttl_(options.decrement_ttl) {}

  Classes classes_;
  Routes routes_;
  FlowHash hash_;
  uint32_t lan_mtu_;
  bool decrement_ttl_;
};

/// What the sender of a packet refused for `reason` should hear; nothing for most.
std::optional<IcmpError> icmp_error_of(DropReason reason);

}  // namespace cw::gateway
