// Simulated ports and the network between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/port/sim/arrivals.h"
#include "dataplane/port/sim/network.h"
#include "tests/property/property.h"

namespace cw {
namespace {

// ---- arrivals ----

constexpr size_t lanes = 3;

/// What an Arrivals must do, by sorting.
class SortedArrivals {
 public:
  void push(const SimFrame& frame) { waiting_.emplace_back(frame.packet.at, frame.order); }
  uint64_t pop() {
    const auto first = std::min_element(waiting_.begin(), waiting_.end());
    const uint64_t order = first->second;
    waiting_.erase(first);
    return order;
  }
  Instant earliest() const {
    if (waiting_.empty()) return Instant::never();
    return std::min_element(waiting_.begin(), waiting_.end())->first;
  }
  bool is_empty() const { return waiting_.empty(); }

 private:
  std::vector<std::pair<Instant, uint64_t>> waiting_;
};

RC_GTEST_PROP(Arrivals, come_out_earliest_first_like_a_sorted_list,
              (const std::vector<uint8_t>& steps)) {
  Arrivals arrivals;
  SortedArrivals expected;
  std::vector<SimFrame> frames(steps.size());
  for (size_t lane = 0; lane < lanes; ++lane) RC_ASSERT(arrivals.add_lane() == lane);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] % 4 == 0 && !expected.is_empty()) {
      RC_ASSERT(arrivals.pop()->order == expected.pop());
    } else {
      frames[i].packet.at = Instant::from_ns(steps[i] / 4);
      frames[i].order = i;
      arrivals.push(i % lanes, &frames[i]);
      expected.push(frames[i]);
    }
    RC_ASSERT(arrivals.earliest() == expected.earliest());
  }
  while (!expected.is_empty()) RC_ASSERT(arrivals.pop()->order == expected.pop());
  RC_ASSERT(arrivals.count() == 0u);
  RC_ASSERT(arrivals.earliest() == Instant::never());
}

TEST(Arrivals, a_thousand_in_falling_order_come_out_rising) {
  Arrivals arrivals;
  arrivals.add_lane();
  std::vector<SimFrame> frames(1000);
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].packet.at = Instant::from_ns(int64_t(frames.size() - i));
    frames[i].order = i;
    arrivals.push(0, &frames[i]);
  }
  for (int64_t ns = 1; ns <= 1000; ++ns) ASSERT_EQ(arrivals.pop()->packet.at.ns(), ns);
}
using namespace literals;

// ---- sim ----

Instant at(int64_t ns) { return Instant::from_ns(ns); }

/// Two joined ports and the few motions that tests make with them.
struct Pair {
  explicit Pair(const Impairment& impairment = {}, const SimOptions& options = {})
      : network(options), a(network.add_port()), b(network.add_port()) {
    network.join(a, b, impairment);
  }

  void send(SimPort& port, const std::string& text, SimRoute route = {}, uint8_t ecn = 0) {
    Packet* packet = nullptr;
    ASSERT_EQ(port.take_burst({&packet, 1}), 1u);
    std::memcpy(packet->data, text.data(), text.size());
    packet->bytes = uint32_t(text.size());
    packet->peer = route.peer;
    packet->path = route.path;
    packet->ecn = ecn;
    ASSERT_EQ(port.tx_burst({&packet, 1}, network.now()), 1u);
  }

  /// What has arrived by now, as text.
  std::vector<std::string> receive(SimPort& port) {
    std::array<Packet*, 64> burst;
    std::vector<std::string> texts;
    while (const size_t count = port.rx_burst(burst, network.now())) {
      for (size_t i = 0; i < count; ++i) {
        texts.emplace_back(reinterpret_cast<const char*>(burst[i]->data), burst[i]->bytes);
        last = *burst[i];
      }
      port.give_back({burst.data(), count});
    }
    return texts;
  }

  /// Lets everything arrive.
  std::vector<std::string> receive_all(SimPort& port) {
    std::vector<std::string> all;
    while (network.next_event() != Instant::never()) {
      network.advance_to(std::max(network.now(), network.next_event()));
      for (std::string& text : receive(port)) all.push_back(std::move(text));
    }
    return all;
  }

  SimNetwork network;
  SimPort& a;
  SimPort& b;
  Packet last;  // the latest received, its pointers stale
};

using Texts = std::vector<std::string>;

TEST(SimPort, delivers_at_the_instant_of_arrival_and_not_before) {
  Pair pair({.delay = 10_us});
  pair.send(pair.a, "hello");
  EXPECT_EQ(pair.network.next_event(), at(10'000));
  pair.network.advance_to(at(9'999));
  EXPECT_EQ(pair.receive(pair.b), Texts{});
  pair.network.advance_to(at(10'000));
  EXPECT_EQ(pair.receive(pair.b), Texts{"hello"});
  EXPECT_EQ(pair.last.at, at(10'000));
  EXPECT_EQ(pair.network.next_event(), Instant::never());
}

TEST(SimPort, sends_the_same_packet_on_that_it_received) {
  Pair pair;
  pair.send(pair.a, "ping");
  Packet* packet = nullptr;
  ASSERT_EQ(pair.b.rx_burst({&packet, 1}, at(0)), 1u);
  packet->data[1] = 'o';
  ASSERT_EQ(pair.b.tx_burst({&packet, 1}, at(0)), 1u);
  EXPECT_EQ(pair.receive(pair.a), Texts{"pong"});
  EXPECT_EQ(pair.a.lent_count() + pair.b.lent_count(), 0u);
}

TEST(SimPort, what_its_sender_keeps_is_not_damaged_on_the_way) {
  Pair pair({.corrupt = 1}, {.icrc = IcrcMode::None});
  Packet* packet = nullptr;
  ASSERT_EQ(pair.a.take_burst({&packet, 1}), 1u);
  std::memcpy(packet->data, "hello", 5);
  packet->bytes = 5;
  pair.a.share({&packet, 1});
  ASSERT_EQ(pair.a.tx_burst({&packet, 1}, at(0)), 1u);
  EXPECT_FALSE(pair.a.is_shared(*packet));
  const Texts arrived = pair.receive(pair.b);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_NE(arrived[0], "hello");
  EXPECT_EQ(std::memcmp(packet->data, "hello", 5), 0);
  EXPECT_EQ(pair.a.lent_count(), 1u);
  pair.a.give_back({&packet, 1});
  EXPECT_EQ(pair.a.lent_count(), 0u);
}

TEST(SimPort, each_direction_is_a_way_of_its_own) {
  Pair pair({.delay = 10_us});
  pair.network.set_impairment(pair.b, {}, {.delay = 30_us});
  pair.send(pair.a, "there");
  pair.send(pair.b, "back");
  pair.network.advance_to(at(10'000));
  EXPECT_EQ(pair.receive(pair.b), Texts{"there"});
  EXPECT_EQ(pair.network.next_event(), at(30'000));
}

TEST(SimPort, paths_have_a_skew_and_the_receiver_learns_the_path) {
  Pair pair({.delay = 10_us}, {.paths = 2});
  pair.network.set_impairment(pair.a, {.path = 1}, {.delay = 5_us});
  pair.send(pair.a, "slow", {.path = 0});
  pair.send(pair.a, "fast", {.path = 1});
  EXPECT_EQ(pair.receive_all(pair.b), (Texts{"fast", "slow"}));
  EXPECT_EQ(pair.last.path, 0);
}

TEST(SimPort, three_ports_know_each_other_by_numbers_of_their_own) {
  SimNetwork network({});
  SimPort& a = network.add_port();
  SimPort& b = network.add_port();
  SimPort& c = network.add_port();
  network.join(a, b);
  const SimPeers peers = network.join(a, c);
  EXPECT_EQ(peers.of_first, 1);
  EXPECT_EQ(peers.of_second, 0);
  Packet* packet = nullptr;
  c.take_burst({&packet, 1});
  packet->bytes = 1;
  packet->peer = peers.of_second;
  c.tx_burst({&packet, 1}, at(0));
  ASSERT_EQ(a.rx_burst({&packet, 1}, at(0)), 1u);
  EXPECT_EQ(packet->peer, peers.of_first);
  EXPECT_EQ(b.next_event(), Instant::never());
}

TEST(SimPort, carried_payload_may_be_changed_at_once_and_a_lent_one_comes_as_it_is) {
  for (const bool carry : {true, false}) {
    Pair pair({}, {.carry_bytes = carry});
    uint8_t payload[] = "payloads";
    Packet* packet = nullptr;
    pair.a.take_burst({&packet, 1});
    packet->data[0] = '>';
    packet->bytes = 1;
    packet->payload = payload;
    packet->payload_bytes = 8;
    packet->cookie = 5;
    pair.a.tx_burst({&packet, 1}, at(0));
    payload[0] = 'X';
    std::array<uint64_t, 2> done;
    ASSERT_EQ(pair.a.take_done(done), 1u);
    EXPECT_EQ(done[0], 5u);
    ASSERT_EQ(pair.b.rx_burst({&packet, 1}, at(0)), 1u);
    EXPECT_EQ(packet->bytes + packet->payload_bytes, 9u);
    if (carry) {
      EXPECT_EQ(std::memcmp(packet->data, ">payloads", 9), 0);
    } else {
      EXPECT_EQ(packet->payload, payload);
    }
    pair.b.give_back({&packet, 1});
    EXPECT_EQ(pair.b.take_done(done), 0u) << "nobody there has lent anything";
  }
}

TEST(SimPort, unchecked_damage_is_one_flipped_bit) {
  Pair pair({.corrupt = 1}, {.icrc = IcrcMode::None});
  pair.send(pair.a, "aaaa");
  const Texts texts = pair.receive(pair.b);
  ASSERT_EQ(texts.size(), 1u);
  int flipped = 0;
  for (const char c : texts[0]) flipped += std::popcount(uint8_t(c ^ 'a'));
  EXPECT_EQ(flipped, 1);
}

TEST(SimPort, checked_damage_is_found_out_and_counted) {
  Pair pair({.corrupt = 1});
  pair.send(pair.a, "aaaa");
  EXPECT_EQ(pair.receive(pair.b), Texts{});
  EXPECT_EQ(pair.b.counters().rx_malformed, 1u);
}

TEST(SimPort, duplicates_are_packets_of_their_own) {
  Pair pair({.duplicate = 1, .copies_max = 3});
  pair.send(pair.a, "thrice");
  EXPECT_EQ(pair.receive(pair.b), (Texts{"thrice", "thrice", "thrice"}));
}

TEST(SimPort, congestion_marks_only_packets_that_can_be_marked) {
  Pair pair({.rate = 1_Mbps, .mark_above = 1_ns});
  pair.send(pair.a, "first");
  pair.send(pair.a, "not capable", {}, 0);
  pair.receive_all(pair.b);
  EXPECT_EQ(pair.last.ecn, 0);
  pair.send(pair.a, "first");
  pair.send(pair.a, "capable", {}, 2);
  pair.receive_all(pair.b);
  EXPECT_EQ(pair.last.ecn, 3);
}

TEST(SimPort, takes_short_when_its_packets_are_all_lent) {
  Pair pair({}, {.port_packets = 3});
  std::array<Packet*, 4> burst;
  EXPECT_EQ(pair.a.take_burst(burst), 3u);
  EXPECT_EQ(pair.a.take_burst(burst), 0u);
}

TEST(SimPort, without_a_free_packet_loses_what_arrives) {
  Pair pair({}, {.port_packets = 1});
  pair.send(pair.a, "kept");
  pair.send(pair.a, "lost");
  std::array<Packet*, 2> burst;
  EXPECT_EQ(pair.b.rx_burst(burst, at(0)), 1u);
  EXPECT_EQ(pair.b.counters().rx_dropped, 1u);
  EXPECT_EQ(pair.network.counters().rx_no_packet, 1u);
}

TEST(SimNetwork, a_full_wire_loses_the_next_packet) {
  Pair pair({.delay = 1_ms}, {.wire_packets = 2});
  for (int i = 0; i < 3; ++i) pair.send(pair.a, "x");
  EXPECT_EQ(pair.network.counters().wire_full, 1u);
  EXPECT_EQ(pair.receive_all(pair.b).size(), 2u);
}

TEST(SimNetwork, a_route_to_nowhere_is_counted) {
  Pair pair;
  pair.send(pair.a, "x", {.peer = 1});
  pair.send(pair.a, "x", {.path = 1});
  EXPECT_EQ(pair.network.counters().unrouted, 2u);
}

TEST(SimNetwork, a_shorter_path_overtakes_what_is_under_way) {
  Pair pair({.delay = 1_ms});
  pair.send(pair.a, "long way");
  pair.network.set_all_impairments({.delay = 1_us});
  pair.send(pair.a, "short way");
  EXPECT_EQ(pair.receive_all(pair.b), (Texts{"short way", "long way"}));
}

// Rid of its jitter it is no shorter: who comes then has no way around those that it held up.
TEST(SimNetwork, the_same_path_keeps_its_order_when_its_jitter_ends) {
  Pair pair({.delay = 1_ms, .jitter_max = 100_ms});
  const Texts sent{"a", "b", "c", "d"};
  for (const std::string& text : sent) pair.send(pair.a, text.c_str());
  pair.network.set_all_impairments({.delay = 1_ms});
  pair.send(pair.a, "e");
  EXPECT_EQ(pair.receive_all(pair.b), (Texts{"a", "b", "c", "d", "e"}));
}

TEST(SimNetwork, targeted_packets_are_known_by_the_key_function) {
  const PacketKey first_byte = [](const Packet& packet) { return uint64_t{packet.data[0]}; };
  Pair pair({.targeted = {.first = 2, .resends = 1}}, {.key = first_byte});
  for (const char* text : {"a", "b", "c", "b", "b"}) pair.send(pair.a, text);
  EXPECT_EQ(pair.receive(pair.b), (Texts{"a", "c", "b"}));
}

TEST(SimNetwork, overhead_counts_toward_rate_and_mtu) {
  Pair pair({.rate = 8_Mbps}, {.overhead_bytes = 46});
  pair.send(pair.a, "1234");
  EXPECT_EQ(pair.network.next_event(), at(50'000));
}

Impairment rough() {
  return {.loss = 0.02,
          .corrupt = 0.01,
          .duplicate = 0.02,
          .delay = 100_us,
          .jitter_max = 20_us,
          .jitter_reorders = true,
          .reorder = 0.01,
          .reorder_delay = 50_us};
}

struct Run {
  uint64_t hash;
  SimCounters counters;
};

/// Both ends send a packet per microsecond and receive what has come.
Run run_rough(uint64_t seed, int packets = 5000) {
  Pair pair(rough(), {.seed = seed, .wire_packets = 300, .icrc = IcrcMode::None});
  for (int i = 0; i < packets; ++i) {
    pair.network.advance_to(at(i * 1000));
    pair.send(pair.a, "from a " + std::to_string(i));
    pair.send(pair.b, "from b " + std::to_string(i));
    pair.receive(pair.a);
    pair.receive(pair.b);
  }
  return {pair.network.trace_hash(), pair.network.counters()};
}

TEST(SimNetwork, one_seed_has_one_trace_hash_and_another_seed_another) {
  EXPECT_EQ(run_rough(7).hash, run_rough(7).hash);
  EXPECT_NE(run_rough(7).hash, run_rough(8).hash);
}

TEST(SimNetwork, every_packet_has_one_fate) {
  const SimCounters c = run_rough(7).counters;
  EXPECT_EQ(c.sent, 10'000u);
  EXPECT_GT(c.extra_copies, 0u);
  EXPECT_GT(c.in_flight, 0u);
  EXPECT_EQ(c.sent + c.extra_copies, c.delivered + c.lost + c.unrouted + c.wire_full +
                                         c.rx_no_packet + c.rx_damaged + c.in_flight);
}

}  // namespace

}  // namespace cw
