// Two ports of RNICs at stand-in devices, and what a link would do with them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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
    EXPECT_TRUE(made) << (made ? "" : made.error().sentence);
    if (made) port = std::move(*made);
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
    port->end_arrivals();
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

/// Both, connected one way: a sends to b.
class Ends : public ::testing::Test {
 protected:
  Ends() {
    Fabric::the().reset();
    Fabric::the().add_device("rnic0", "10.9.0.1", IBV_MTU_1024);
    Fabric::the().add_device("rnic1", "10.9.0.2", IBV_MTU_1024);
    a.emplace("rnic0", "10.9.0.1", "10.9.0.2");
    b.emplace("rnic1", "10.9.0.2", "10.9.0.1");
  }

  template <class Done>
  bool turn_until(const Done& is_done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      if (is_done()) return true;
      a->turn();
      b->turn();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return is_done();
  }
  /// Two queues, by two paths each.
  void connect() {
    ASSERT_TRUE(turn_until([&] { return a->try_open(own_of_a); }));
    ASSERT_TRUE(turn_until([&] { return b->try_open(numbers); }));
    for (uint32_t i = 0; i < numbers.size(); ++i) {
      ways.push_back({numbers[i], static_cast<uint16_t>(i % 2)});
    }
    ASSERT_TRUE(turn_until([&] { return a->port->try_connect_queues(0, End::first, ways); }));
  }
  /// Sends `count` by each way, each to its place of the window; returns how many were taken.
  size_t send_rows(const Window& window, std::span<const uint8_t> bytes, size_t count) {
    size_t sent = 0;
    for (size_t i = 0; i < count; ++i) {
      for (const SendQueue& way : ways) {
        const size_t slot = sent % 16;
        const Window to{window.address + slot * slot_bytes, window.key};
        sent += a->send(a->write(way, to, bytes.subspan(slot * slot_bytes, slot_bytes), ++cookie));
      }
    }
    return sent;
  }

  static constexpr size_t slot_bytes = 256;
  std::array<uint32_t, End::queue_count> numbers{}, own_of_a{};
  std::vector<SendQueue> ways;
  uint64_t cookie = 0;
  std::optional<End> a, b;
};

}  // namespace cw::stand_in
