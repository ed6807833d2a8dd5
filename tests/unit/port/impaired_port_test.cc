#include "dataplane/port/impair/impaired_port.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/port/sim/network.h"

namespace cw {
namespace {
using namespace literals;

Instant at(int64_t ns) { return Instant::from_ns(ns); }

/// A perfect simulated wire from `peer` to `inner`, and the port under test around `inner`.
struct Wrapped {
  explicit Wrapped(const ImpairedPortOptions& impaired, const SimOptions& options = {})
      : network(options), peer(network.add_port()), inner(network.add_port()) {
    network.join(peer, inner);
    port = std::make_unique<ImpairedPort>(inner, impaired);
  }

  static size_t send(Port& port, char letter, Instant now) {
    Packet* packet = nullptr;
    if (port.take_burst({&packet, 1}) == 0) return 0;
    packet->data[0] = static_cast<uint8_t>(letter);
    packet->bytes = 1;
    const size_t taken = port.tx_burst({&packet, 1}, now);
    if (taken == 0) port.give_back({&packet, 1});
    return taken;
  }

  static std::string receive(Port& port, Instant now) {
    std::array<Packet*, 8> burst;
    std::string letters;
    while (const size_t count = port.rx_burst(burst, now)) {
      for (size_t i = 0; i < count; ++i) letters += static_cast<char>(burst[i]->data[0]);
      port.give_back({burst.data(), count});
    }
    return letters;
  }

  SimNetwork network;
  SimPort& peer;
  SimPort& inner;
  std::unique_ptr<ImpairedPort> port;
};

TEST(ImpairedPort, holds_a_received_packet_until_its_time) {
  Wrapped wrapped({.rx = {.delay = 10_us}});
  Wrapped::send(wrapped.peer, 'x', at(0));
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(0)), "");
  EXPECT_EQ(wrapped.port->next_due(), at(10'000));
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(9'999)), "");
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(10'000)), "x");
  EXPECT_EQ(wrapped.inner.lent_count(), 0u);
}

TEST(ImpairedPort, holds_a_sent_packet_until_its_time) {
  Wrapped wrapped({.tx = {.delay = 10_us}});
  EXPECT_EQ(Wrapped::send(*wrapped.port, 'x', at(0)), 1u);
  Wrapped::receive(*wrapped.port, at(9'999));
  EXPECT_EQ(Wrapped::receive(wrapped.peer, at(9'999)), "");
  Wrapped::receive(*wrapped.port, at(10'000));
  EXPECT_EQ(Wrapped::receive(wrapped.peer, at(10'000)), "x");
  EXPECT_EQ(wrapped.inner.lent_count(), 0u);
}

TEST(ImpairedPort, reads_lent_payload_when_the_packet_leaves_and_says_so_once) {
  for (const Impairment& impairment :
       {Impairment{.delay = 10_us}, Impairment{.duplicate = 1, .delay = 10_us}}) {
    Wrapped wrapped({.tx = impairment});
    std::string elsewhere = "....";
    Packet* packet = nullptr;
    ASSERT_EQ(wrapped.port->take_burst({&packet, 1}), 1u);
    packet->bytes = 4;
    packet->payload = reinterpret_cast<const uint8_t*>(elsewhere.data());
    packet->payload_bytes = 4;
    packet->cookie = 3;
    ASSERT_EQ(wrapped.port->tx_burst({&packet, 1}, at(0)), 1u);
    std::array<uint64_t, 4> done;
    EXPECT_EQ(wrapped.port->take_done(done), 0u) << "it has not left";
    Wrapped::receive(*wrapped.port, at(10'000));
    EXPECT_EQ(wrapped.port->take_done(done), 1u) << "copies have theirs in themselves";
    EXPECT_EQ(done[0], 3u);
    ASSERT_EQ(wrapped.peer.rx_burst({&packet, 1}, at(10'000)), 1u);
    EXPECT_EQ(std::string(packet->data + 4, packet->data + 8), "....");
    wrapped.peer.give_back({&packet, 1});
  }
}

TEST(ImpairedPort, says_done_of_a_packet_that_it_loses) {
  Wrapped wrapped({.tx = {.loss = 1}});
  const std::string elsewhere = "....";
  Packet* packet = nullptr;
  ASSERT_EQ(wrapped.port->take_burst({&packet, 1}), 1u);
  packet->bytes = 4;
  packet->payload = reinterpret_cast<const uint8_t*>(elsewhere.data());
  packet->payload_bytes = 4;
  packet->cookie = 3;
  ASSERT_EQ(wrapped.port->tx_burst({&packet, 1}, at(0)), 1u);
  std::array<uint64_t, 4> done;
  EXPECT_EQ(wrapped.port->take_done(done), 1u);
  EXPECT_EQ(wrapped.inner.lent_count(), 0u);
}

TEST(ImpairedPort, equal_times_keep_the_order_of_arrival) {
  Wrapped wrapped({.rx = {.delay = 1_us}});
  for (const char letter : std::string("abcdefgh")) Wrapped::send(wrapped.peer, letter, at(0));
  Wrapped::receive(*wrapped.port, at(0));
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(1'000)), "abcdefgh");
}

TEST(ImpairedPort, lost_packets_go_back_to_the_inner_port) {
  Wrapped wrapped({.rx = {.loss = 1}, .tx = {.loss = 1}});
  Wrapped::send(wrapped.peer, 'x', at(0));
  Wrapped::send(*wrapped.port, 'y', at(0));
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(0)), "");
  EXPECT_EQ(Wrapped::receive(wrapped.peer, at(0)), "");
  EXPECT_EQ(wrapped.inner.lent_count(), 0u);
  EXPECT_EQ(wrapped.port->rx_counters(0).lost_total(), 1u);
  EXPECT_EQ(wrapped.port->tx_counters(0).lost_total(), 1u);
}

TEST(ImpairedPort, duplicates_are_packets_of_their_own_in_both_directions) {
  const Impairment twice{.duplicate = 1, .copies_max = 2};
  Wrapped wrapped({.rx = twice, .tx = twice});
  Wrapped::send(wrapped.peer, 'x', at(0));
  Wrapped::send(*wrapped.port, 'y', at(0));
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(0)), "xx");
  EXPECT_EQ(Wrapped::receive(wrapped.peer, at(0)), "yy");
  EXPECT_EQ(wrapped.inner.lent_count(), 0u);
}

TEST(ImpairedPort, without_a_free_packet_a_duplicate_is_left_out_and_counted) {
  Wrapped wrapped({.rx = {.duplicate = 1}}, {.port_packets = 1});
  Wrapped::send(wrapped.peer, 'x', at(0));
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(0)), "x");
  EXPECT_EQ(wrapped.port->copies_missed(), 1u);
}

TEST(ImpairedPort, refuses_to_send_what_it_cannot_hold_and_leaves_the_rest_below) {
  const Impairment slow{.delay = 1_ms};
  Wrapped wrapped({.rx = slow, .tx = slow, .held_packets_max = 2});
  for (int i = 0; i < 3; ++i) Wrapped::send(wrapped.peer, 'x', at(0));
  EXPECT_EQ(Wrapped::send(*wrapped.port, 'y', at(0)), 1u);
  EXPECT_EQ(Wrapped::send(*wrapped.port, 'y', at(0)), 1u);
  EXPECT_EQ(Wrapped::send(*wrapped.port, 'y', at(0)), 0u);
  EXPECT_EQ(wrapped.port->counters().tx_refused, 1u);
  Wrapped::receive(*wrapped.port, at(0));
  EXPECT_EQ(wrapped.port->held_count(), 4u);
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(1'000'000)), "xx");
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(2'000'000)), "x");
}

TEST(ImpairedPort, damage_is_found_out_by_a_checksum_and_delivered_without_one) {
  for (const IcrcMode icrc : {IcrcMode::Exact, IcrcMode::None}) {
    Wrapped wrapped({.rx = {.corrupt = 1}}, {.icrc = icrc});
    Wrapped::send(wrapped.peer, 'x', at(0));
    const std::string received = Wrapped::receive(*wrapped.port, at(0));
    if (icrc == IcrcMode::Exact) {
      EXPECT_EQ(received, "");
      EXPECT_EQ(wrapped.port->counters().rx_malformed, 1u);
    } else {
      ASSERT_EQ(received.size(), 1u);
      EXPECT_EQ(std::popcount(uint8_t(received[0] ^ 'x')), 1);
    }
  }
}

TEST(ImpairedPort, gives_back_what_it_holds_when_it_ends) {
  Wrapped wrapped({.rx = {.delay = 1_ms}, .tx = {.delay = 1_ms}});
  Wrapped::send(wrapped.peer, 'x', at(0));
  Wrapped::send(*wrapped.port, 'y', at(0));
  Wrapped::receive(*wrapped.port, at(0));
  EXPECT_EQ(wrapped.inner.lent_count(), 2u);
  wrapped.port.reset();
  EXPECT_EQ(wrapped.inner.lent_count(), 0u);
}

TEST(ImpairedPort, faults_can_end) {
  Wrapped wrapped({.rx = {.loss = 1}});
  wrapped.port->set_rx_impairment(0, {});
  Wrapped::send(wrapped.peer, 'x', at(0));
  EXPECT_EQ(Wrapped::receive(*wrapped.port, at(0)), "x");
}

TEST(ImpairedPort, each_path_is_impaired_for_itself) {
  Wrapped wrapped({}, {.paths = 2});
  wrapped.port->set_tx_impairment(1, {.loss = 1});
  for (const uint16_t path : {0, 1}) {
    Packet* packet = nullptr;
    ASSERT_EQ(wrapped.port->take_burst({&packet, 1}), 1u);
    packet->data[0] = static_cast<uint8_t>('0' + path);
    packet->bytes = 1;
    packet->path = path;
    wrapped.port->tx_burst({&packet, 1}, at(0));
  }
  EXPECT_EQ(Wrapped::receive(wrapped.peer, at(0)), "0");
}

TEST(ImpairedPort, owns_exactly_what_it_holds_whatever_happens) {
  const Impairment everything{.rate = 1_Gbps,
                              .queue_time = 20_us,
                              .loss = 0.05,
                              .corrupt = 0.05,
                              .duplicate = 0.3,
                              .copies_max = 4,
                              .delay = 20_us,
                              .jitter_max = 10_us,
                              .jitter_reorders = true};
  Wrapped wrapped({.rx = everything, .tx = everything, .held_packets_max = 30},
                  {.port_packets = 50});
  for (int i = 0; i < 20'000; ++i) {
    wrapped.network.advance_to(at(i * 300));
    Wrapped::send(wrapped.peer, 'x', wrapped.network.now());
    Wrapped::send(*wrapped.port, 'y', wrapped.network.now());
    if (i % 7 == 0) Wrapped::receive(*wrapped.port, wrapped.network.now());
    Wrapped::receive(wrapped.peer, wrapped.network.now());
    ASSERT_EQ(wrapped.inner.lent_count(), wrapped.port->held_count()) << i;
  }
  EXPECT_GT(wrapped.port->copies_missed(), 0u);
  EXPECT_GT(wrapped.port->counters().tx_refused, 0u);
}

/// A port that takes one packet per call.
class ReluctantPort final : public Port {
 public:
  explicit ReluctantPort(Port& inner) : inner_(inner) {}
  const PortFacts& facts() const override { return inner_.facts(); }
  PortCounters counters() const override { return inner_.counters(); }
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    return inner_.rx_burst(out, now);
  }
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
    return inner_.tx_burst(packets.first(packets.empty() ? 0 : 1), now);
  }
  size_t take_burst(std::span<Packet*> out) override { return inner_.take_burst(out); }
  void give_back(std::span<Packet* const> packets) override { inner_.give_back(packets); }
  Instant next_due() const override { return due; }

  Instant due = Instant::never();

 private:
  Port& inner_;
};

TEST(ImpairedPort, is_due_when_the_inner_port_is) {
  SimNetwork network({});
  SimPort& inner = network.add_port();
  ReluctantPort reluctant(inner);
  ImpairedPort port(reluctant, {});
  EXPECT_EQ(port.next_due(), Instant::never());
  reluctant.due = at(7);
  EXPECT_EQ(port.next_due(), at(7));
}

TEST(ImpairedPort, what_the_inner_port_does_not_take_stays_held) {
  SimNetwork network({});
  SimPort& peer = network.add_port();
  SimPort& inner = network.add_port();
  network.join(peer, inner);
  ReluctantPort reluctant(inner);
  ImpairedPort port(reluctant, {.tx = {.delay = 1_us}});
  for (const char letter : {'a', 'b', 'c'}) Wrapped::send(port, letter, at(0));
  // given: more than a burst, all due at once
  std::string expected = "abc";
  for (int i = 0; i < 80; ++i) {
    Wrapped::send(port, char('A' + i % 26), at(0));
    expected += char('A' + i % 26);
  }
  // expect: one leaves per turn, in order
  for (size_t left = expected.size(); left > 0; --left) {
    EXPECT_EQ(port.held_count(), left);
    Wrapped::receive(port, at(1'000));
  }
  EXPECT_EQ(Wrapped::receive(peer, at(1'000)), expected);
}

}  // namespace
}  // namespace cw
