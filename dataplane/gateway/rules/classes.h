// Which class a packet is of, and what its frame will wait for. Rules are tried in the order of the
// config; each is a handful of masks and ranges compiled once, so that the usual dozen costs less
// than one miss of the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/gateway/ingress/ip_packet.h"
#include "dataplane/gateway/options.h"
#include "dataplane/gateway/rules/prefix.h"
#include "dataplane/wire/slot.h"

namespace cw::gateway {

class Classes {
 public:
  /// Errors: no class; more than limits::qps_max; a name or a qp twice; a match that nothing can
  /// fulfil (empty range of ports, DSCP above 63, prefixes of two IP versions, a wrong prefix).
  static Result<Classes> make(const std::vector<ClassOptions>& classes);

  static constexpr uint16_t none = UINT16_MAX;

  /// The index of the first class with a match, or `none`. Cost: hot.
  uint16_t class_of(const IpPacket& packet) const;
  /// What a frame of the class at `index` waits for.
  FrameOrder order_of(uint16_t index, const IpPacket& packet) const;

 private:
  /// An address as two words, compared under a mask; a mask of zeros holds for all.
  struct Half {
    uint64_t high = 0, low = 0;
  };
  struct AddressRule {
    Half mask, value;
    bool holds(const Half& address) const {
      return (((address.high & mask.high) ^ value.high) | ((address.low & mask.low) ^ value.low)) ==
             0;
    }
  };
  struct Rule {
    uint64_t dscps = ~uint64_t{0};  // bit d: DSCP d
    uint8_t kinds = 0xff;           // bit k: PacketKind k
    uint8_t versions = 3;           // bit 0: IPv4, bit 1: IPv6
    bool needs_ports = false;
    uint16_t class_index = 0;
    PortRange source_ports, target_ports;
    AddressRule source, target;
  };

  static Half half_of(const IpAddress& address) {
    const Key128 key = key_of<Key128>(address);
    return {static_cast<uint64_t>(key >> 64), static_cast<uint64_t>(key)};
  }
  static AddressRule address_rule_of(const Prefix& prefix);
  static Result<Rule> compile(const ClassMatch& match);

  std::vector<Rule> rules_;
  std::vector<OrderRule> orders_;
};

/// TCP, RC requests and READ and ATOMIC responses go in turn, as all that nobody knows better;
/// RC acknowledgements behind what they answer; datagrams, ICMP and CNPs at once.
FrameOrder order_by_kind(const IpPacket& packet);

}  // namespace cw::gateway
