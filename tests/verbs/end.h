// A port of an RNIC at a stand-in device, and what a link would do with it.
#pragma once

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/port/verbs/verbs_port.h"
#include "dataplane/wire/control/envelope.h"
#include "tests/verbs/stand_in.h"

namespace cw::stand_in {

/// One port, turned by hand.
class End {
 public:
  static constexpr uint32_t first = 0x1000;
  static constexpr size_t queue_count = 4;

  End(const std::string& device, const std::string& own, const std::string& peer) {
    VerbsPortOptions options;
    options.device = device;
    options.address = own;
    options.paths = 2;
    options.peers = {{.address = peer}};
    options.packets = 256;
    options.turn_packets = 128;
    options.windows = 64;
    auto made = VerbsPort::make(options);
    if (!made) std::fprintf(stderr, "%s\n", made.error().sentence.c_str());
    CW_ASSERT(made.has_value());
    port = std::move(*made);
  }

  struct Got {
    Arrival arrival;
    std::vector<uint8_t> payload;  // of a datagram
  };
  /// One turn; what came is added.
  void turn() {
    std::array<Arrival, limits::burst_packets_max> arrivals;
    const size_t count = port->receive(arrivals, clock.read());
    for (const Arrival& each : std::span(arrivals).first(count)) {
      Got& one = got.emplace_back(Got{each, {}});
      if (each.payload != nullptr) {
        one.payload.assign(each.payload, each.payload + each.head.payload_bytes);
      }
    }
    if (count > 0) port->end_arrivals();
    std::array<uint64_t, 64> cookies;
    const size_t done_count = port->take_done(cookies);
    done.insert(done.end(), cookies.begin(), cookies.begin() + static_cast<ptrdiff_t>(done_count));
  }
  bool try_open(std::span<uint32_t> numbers) { return port->try_open_queues(0, first, numbers); }

  /// A write to the peer's queue, from memory outside of packets.
  Send write(const SendQueue& queue, const Window& to, std::span<const uint8_t> payload,
             uint64_t cookie) const {
    Send send;
    send.form = Form::Write;
    send.head.target_qp = queue.target_qp;
    send.head.address = to.address;
    send.head.key = to.key;
    send.head.immediate = static_cast<uint32_t>(cookie);
    send.head.payload_bytes = static_cast<uint32_t>(payload.size());
    send.payload = payload.data();
    send.cookie = cookie;
    send.path = queue.path;
    return send;
  }
  /// One in a packet of the port's.
  std::optional<Send> datagram(uint32_t target_qp, const std::string& text) {
    Packet* packet = nullptr;
    if (port->take_burst({&packet, 1}) == 0) return std::nullopt;
    std::memcpy(packet->data, text.data(), text.size());
    Send send;
    send.form = Form::Datagram;
    send.head.target_qp = target_qp;
    send.head.key = control_qkey;
    send.head.payload_bytes = static_cast<uint32_t>(text.size());
    send.payload = packet->data;
    send.packet = packet;
    send.source_qp = control_qpn_default;
    return send;
  }
  bool send(const Send& what) { return port->send({&what, 1}, clock.read()) == 1; }
  /// How many packets it can lend.
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
