// What stands between the hosts of a simulated site and its gateway of several cores: a NIC that
// takes every packet of a flow to the same queue, as RSS and TUN's steering do.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/port.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {

/// Around the hosts' port, whose peers are the queues of the gateway.
class FlowSpreader final : public PortAround {
 public:
  FlowSpreader(Port& hosts, size_t queues) : PortAround(hosts), queues_(queues) {}

  size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
    for (Packet* packet : packets) packet->peer = queue_of(*packet);
    return PortAround::tx_burst(packets, now);
  }

 private:
  /// By addresses and ports.
  uint16_t queue_of(const Packet& packet) const {
    const bool is_v6 = packet.bytes > 0 && packet.data[0] >> 4 == 6;
    const size_t begin = is_v6 ? 8 : 12, end = is_v6 ? 44 : 24;
    uint64_t hash = 0;
    for (size_t i = begin; i < end && i < packet.bytes; ++i) {
      hash = (hash ^ packet.data[i]) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 32;
    }
    return static_cast<uint16_t>(hash % queues_);
  }

  size_t queues_;
};

}  // namespace cw::sim
