// A port of an RNIC at a stand-in device with nothing but a group on it, turned by hand.
#pragma once

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/port/verbs/verbs_port.h"
#include "dataplane/wire/group/datagram_inline.h"
#include "tests/verbs/stand_in.h"

namespace cw::stand_in {

inline constexpr uint16_t group_peer = group_peer_first;

class GroupEnd {
 public:
  /// `own` is one of `members`.
  GroupEnd(const std::string& device, const std::string& own,
           const std::vector<std::string>& members, const std::string& group = "239.1.2.3") {
    VerbsPortOptions options;
    options.device = device;
    options.address = own;
    options.packets = 256;
    options.turn_packets = 128;
    options.groups = {.members = members, .addresses = {group}};
    auto made = VerbsPort::make(options);
    if (!made) std::fprintf(stderr, "%s\n", made.error().sentence.c_str());
    CW_ASSERT(made.has_value());
    port = std::move(*made);
  }

  struct Got {
    Arrival arrival;
    std::vector<uint8_t> prefix, payload;
    bool is_aligned = false;  ///< the payload, to a cache line
  };
  /// One turn; what came is added.
  void turn() {
    std::array<Arrival, limits::burst_packets_max> arrivals;
    const size_t count = port->receive(arrivals, clock.read());
    for (const Arrival& each : std::span(arrivals).first(count)) {
      Got& one = got.emplace_back(Got{.arrival = each});
      one.payload.assign(each.payload, each.payload + each.head.payload_bytes);
      one.is_aligned = reinterpret_cast<uintptr_t>(each.payload) % 64 == 0;
      const bool has_prefix = each.form == Form::DatagramImmediate && each.prefix != nullptr;
      if (has_prefix) one.prefix.assign(each.prefix, each.prefix + limits::group_header_bytes);
    }
    if (count > 0) port->end_arrivals();
    std::array<uint64_t, 64> cookies;
    const size_t done_count = port->take_done(cookies);
    done.insert(done.end(), cookies.begin(), cookies.begin() + static_cast<ptrdiff_t>(done_count));
  }

  /// A slot to a group, or to a member by the number that it has said.
  static Send slot(uint16_t peer, uint32_t target_qp, const uint8_t* prefix,
                   std::span<const uint8_t> payload, uint64_t cookie) {
    Send send;
    send.form = Form::DatagramImmediate;
    send.head.target_qp = target_qp;
    send.head.key = control_qkey;
    send.head.immediate = static_cast<uint32_t>(cookie);
    send.head.payload_bytes = static_cast<uint32_t>(payload.size());
    send.payload = payload.data();
    set_prefix(send, prefix);
    send.cookie = cookie;
    send.source_qp = group::qpn_default;
    send.peer = peer;
    return send;
  }
  bool multicast(const uint8_t* prefix, std::span<const uint8_t> payload, uint64_t cookie) {
    return send(slot(group_peer, group::multicast_qp, prefix, payload, cookie));
  }
  /// An envelope to a member.
  bool say(uint16_t peer, const std::string& text) {
    Packet* packet = nullptr;
    if (port->take_burst({&packet, 1}) == 0) return false;
    std::memcpy(packet->data, text.data(), text.size());
    Send send;
    send.form = Form::Datagram;
    send.head.target_qp = group::qpn_default;
    send.head.key = control_qkey;
    send.head.payload_bytes = static_cast<uint32_t>(text.size());
    send.payload = packet->data;
    send.packet = packet;
    send.source_qp = group::qpn_default;
    send.peer = peer;
    if (port->send({&send, 1}, clock.read()) == 1) return true;
    port->give_back({&packet, 1});
    return false;
  }
  bool send(const Send& what) { return port->send({&what, 1}, clock.read()) == 1; }
  size_t free_packets() {
    std::vector<Packet*> packets(512);
    const size_t count = port->take_burst(packets);
    port->give_back(std::span(packets).first(count));
    return count;
  }

  MonotonicClock clock;
  std::unique_ptr<VerbsPort> port;
  std::vector<Got> got;
  std::vector<uint64_t> done;
};

}  // namespace cw::stand_in
