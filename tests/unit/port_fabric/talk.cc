#include "tests/unit/port_fabric/talk.h"

#include <array>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw::test {

bool Talk::say(uint16_t host, uint16_t peer, const std::string& text, const How& how) {
  FabricPort& port = network.port(host);
  Packet* packet = nullptr;
  CW_ASSERT(port.take_burst({&packet, 1}) == 1);
  std::memcpy(packet->data, text.data(), text.size());
  packet->bytes = static_cast<uint32_t>(text.size());
  packet->peer = peer;
  packet->path = how.path;
  packet->ecn = how.ecn;
  packet->at = Instant::from_ns(how.at_ns);
  if (port.tx_burst({&packet, 1}, network.now()) == 1) return true;
  port.give_back({&packet, 1});
  return false;
}

std::vector<Heard> Talk::hear(uint16_t host) {
  FabricPort& port = network.port(host);
  std::array<Packet*, 64> burst;
  std::vector<Heard> heard;
  while (const size_t count = port.rx_burst(burst, network.now())) {
    for (size_t i = 0; i < count; ++i) {
      const Packet& packet = *burst[i];
      std::string text(reinterpret_cast<const char*>(packet.data), packet.bytes);
      text.append(reinterpret_cast<const char*>(packet.payload), packet.payload_bytes);
      heard.push_back({host, packet.peer, packet.path, packet.ecn, packet.at.ns(), text});
    }
    port.give_back({burst.data(), count});
  }
  return heard;
}

std::vector<Heard> Talk::hear_all() {
  std::vector<Heard> all;
  std::array<uint16_t, 8> hosts;
  do {
    network.run_until(Instant::never());
    const size_t count = network.take_ready(hosts);
    for (size_t i = 0; i < count; ++i) {
      for (Heard& heard : hear(hosts[i])) all.push_back(std::move(heard));
    }
  } while (network.has_ready() || network.next_event() != Instant::never());
  return all;
}

std::vector<std::string> texts_of(const std::vector<Heard>& heard) {
  std::vector<std::string> texts;
  for (const Heard& each : heard) texts.push_back(each.text);
  return texts;
}

bool adds_up(const FabricCounters& c) {
  return c.sent + c.copies == c.delivered + c.dropped + c.lost + c.unrouted + c.no_frame +
                                  c.rx_dropped + c.rx_damaged + c.in_flight;
}

Topology two_leaves(size_t hosts_each, size_t spines, const SwitchOptions& options) {
  return *make_leaf_spine({.hosts = 2 * hosts_each,
                           .leaves = 2,
                           .spines = spines,
                           .host_cable = slow_cable,
                           .spine_cable = slow_cable,
                           .leaf = options,
                           .spine = options});
}

}  // namespace cw::test
