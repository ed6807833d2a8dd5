// Hosts on a fabric: when packets arrive, who is told, and what becomes of those that do not.
#include "dataplane/port/sim/fabric/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "tests/sim/checkers/heap_watch.h"
#include "tests/unit/port_fabric/talk.h"

namespace cw::test {
namespace {

using namespace literals;

Instant at(int64_t ns) { return Instant::from_ns(ns); }

TEST(FabricNetwork, each_hop_takes_the_packet_whole_and_then_its_length) {
  Talk talk(two_leaves());
  talk.say(0, 1, hundred_bytes);
  talk.say(2, 1, hundred_bytes);
  const auto heard = talk.hear_all();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0], (Heard{.host = 1, .from = 0, .at_ns = 2 * 600, .text = hundred_bytes}));
  EXPECT_EQ(heard[1], (Heard{.host = 1, .from = 2, .at_ns = 4 * 600, .text = hundred_bytes}));
}

TEST(FabricNetwork, who_meets_another_at_a_switch_waits_behind_it) {
  Talk talk(two_leaves(3));
  talk.say(0, 1, hundred_bytes);
  talk.say(2, 1, std::string(30, 'y'));
  const auto heard = talk.hear_all();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].from, 2) << "is at the switch at 530";
  EXPECT_EQ(heard[0].at_ns, 530 + 530);
  EXPECT_EQ(heard[1].at_ns, 600 + 600);
  talk.say(0, 1, hundred_bytes);
  talk.say(2, 1, hundred_bytes);
  const int64_t start = heard[1].at_ns;
  const auto again = talk.hear_all();
  EXPECT_EQ(again[0].at_ns - start, 1200);
  EXPECT_EQ(again[1].at_ns - start, 1300);
}

TEST(FabricNetwork, layers_below_take_their_part_of_each_link) {
  Talk talk(two_leaves(), {.overhead_bytes = 66});
  talk.say(0, 1, hundred_bytes);
  EXPECT_EQ(talk.hear_all()[0].at_ns, 2 * 666);
}

TEST(FabricNetwork, the_clock_stops_where_a_host_is_ready_and_not_before) {
  Talk talk(two_leaves());
  talk.say(0, 1, hundred_bytes);
  talk.say(0, 3, hundred_bytes);
  EXPECT_EQ(talk.network.next_event(), at(600));
  EXPECT_EQ(talk.network.run_until(at(1199)), at(1199));
  EXPECT_FALSE(talk.network.has_ready());
  EXPECT_TRUE(talk.hear(1).empty());
  EXPECT_EQ(talk.network.run_until(at(9000)), at(1200));
  EXPECT_EQ(talk.network.run_until(at(9000)), at(1200)) << "while somebody is ready";
  std::array<uint16_t, 4> hosts;
  ASSERT_EQ(talk.network.take_ready(hosts), 1u);
  EXPECT_EQ(hosts[0], 1);
  EXPECT_EQ(talk.hear(1).size(), 1u);
  EXPECT_EQ(talk.network.run_until(at(9000)), at(2500)) << "the second left at 200";
}

TEST(FabricNetwork, all_that_arrives_at_an_instant_has_arrived_then_and_each_host_is_named_once) {
  Talk talk(two_leaves(3));
  talk.say(0, 1, hundred_bytes);
  talk.say(3, 4, hundred_bytes);
  talk.say(1, 0, hundred_bytes);
  EXPECT_EQ(talk.network.run_until(at(9000)), at(1200));
  std::array<uint16_t, 2> hosts;
  ASSERT_EQ(talk.network.take_ready(hosts), 2u);
  EXPECT_EQ(hosts, (std::array<uint16_t, 2>{1, 4}));
  ASSERT_EQ(talk.network.take_ready(hosts), 1u);
  EXPECT_EQ(hosts[0], 0);
  EXPECT_EQ(talk.network.take_ready(hosts), 0u);
}

TEST(FabricNetwork, a_clock_that_leaps_over_arrivals_leaves_their_instants_on_them) {
  Talk talk(two_leaves());
  for (int i = 0; i < 3; ++i) talk.say(0, 1, hundred_bytes);
  talk.network.advance_to(at(50'000));
  const auto heard = talk.hear(1);
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[0].at_ns, 1200);
  EXPECT_EQ(heard[2].at_ns, 1400);
  EXPECT_EQ(talk.network.next_event(), Instant::never());
}

TEST(FabricNetwork, a_packet_stamped_ahead_of_the_turn_leaves_at_that_instant) {
  Talk talk(two_leaves());
  talk.say(0, 1, hundred_bytes, {.at_ns = 250});
  EXPECT_EQ(talk.hear_all()[0].at_ns, 250 + 1200);
}

TEST(FabricNetwork, what_is_sent_while_others_are_under_way_comes_in_its_own_time) {
  // Given arrivals that are known already, some later than what is sent at the first of them.
  Talk talk(two_leaves(3));
  talk.say(0, 1, hundred_bytes);
  for (int i = 0; i < 20; ++i) talk.say(2, 5, hundred_bytes);
  talk.network.run_until(at(9000));
  ASSERT_EQ(talk.network.now(), at(1200));
  talk.say(1, 0, hundred_bytes);
  std::vector<int64_t> instants;
  for (const Heard& heard : talk.hear_all()) instants.push_back(heard.at_ns);
  EXPECT_TRUE(std::ranges::is_sorted(instants));
  EXPECT_EQ(instants[1], 2400);
  EXPECT_EQ(instants[2], 2400) << "the answer, and the first of the twenty";
}

TEST(FabricNetwork, cables_without_length_keep_the_order_of_what_happens_at_once) {
  const CableOptions none{.rate = 8_Gbps, .delay = {}};
  Talk talk(*make_leaf_spine(
      {.hosts = 4, .leaves = 2, .spines = 1, .host_cable = none, .spine_cable = none}));
  for (int i = 0; i < 5; ++i) talk.say(0, 3, std::to_string(i));
  EXPECT_EQ(texts_of(talk.hear_all()), (std::vector<std::string>{"0", "1", "2", "3", "4"}));
}

TEST(FabricPort, knows_hosts_by_their_numbers_and_tells_the_path) {
  Talk talk(two_leaves());
  EXPECT_EQ(talk.network.port(2).facts().peers, 4);
  talk.say(3, 0, "there", {.path = 7});
  const auto heard = talk.hear_all();
  EXPECT_EQ(heard[0].from, 3);
  EXPECT_EQ(heard[0].path, 7);
}

TEST(FabricPort, takes_what_its_queue_has_room_for_and_says_when_to_come_again) {
  Talk talk(two_leaves(), {.nic_queue = 250_B});
  EXPECT_TRUE(talk.say(0, 1, hundred_bytes));
  EXPECT_EQ(talk.network.port(0).next_due(), Instant::never());
  EXPECT_TRUE(talk.say(0, 1, hundred_bytes));
  EXPECT_FALSE(talk.say(0, 1, hundred_bytes));
  EXPECT_EQ(talk.network.port(0).next_due(), at(100));
  EXPECT_EQ(talk.network.port(0).counters().tx_refused, 1u);
  talk.network.advance_to(at(99));
  EXPECT_FALSE(talk.say(0, 1, hundred_bytes));
  talk.network.advance_to(at(100));
  EXPECT_TRUE(talk.say(0, 1, hundred_bytes));
  EXPECT_EQ(talk.network.port(0).next_due(), Instant::never());
  EXPECT_EQ(talk.hear_all().size(), 3u);
  EXPECT_EQ(talk.network.counters().sent, 3u) << "what is refused was not sent";
  EXPECT_EQ(talk.network.port(0).lent_count(), 0u);
}

TEST(FabricPort, a_way_to_nowhere_is_counted) {
  Talk talk(two_leaves());
  talk.say(0, 4, "no such host");
  talk.say(0, 1, "no such path", {.path = 16});
  talk.say(0, 0, "to itself");
  talk.say(0, 0xf000, "no such group");
  EXPECT_EQ(talk.network.counters().unrouted, 4u);
  EXPECT_TRUE(adds_up(talk.network.counters()));
  EXPECT_EQ(talk.network.next_event(), Instant::never());
}

TEST(FabricPort, too_many_under_way_lose_the_next) {
  Talk talk(two_leaves(), {.frames = 2});
  for (int i = 0; i < 3; ++i) talk.say(0, 1, hundred_bytes);
  EXPECT_EQ(talk.network.counters().no_frame, 1u);
  EXPECT_EQ(talk.hear_all().size(), 2u);
}

TEST(FabricPort, what_waits_too_long_at_a_host_fills_its_ring) {
  Talk talk(two_leaves(), {.rx_packets = 2});
  for (int i = 0; i < 3; ++i) talk.say(0, 1, std::to_string(i));
  talk.network.advance_to(at(9000));
  EXPECT_EQ(talk.network.port(1).waiting_count(), 2u);
  EXPECT_EQ(texts_of(talk.hear(1)), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(talk.network.port(1).counters().rx_dropped, 1u);
  EXPECT_EQ(talk.network.counters().rx_dropped, 1u);
  EXPECT_TRUE(adds_up(talk.network.counters()));
}

TEST(FabricPort, without_a_packet_of_its_own_leaves_what_came_for_later) {
  Talk talk(two_leaves(), {.port_packets = 1});
  talk.say(0, 1, "first");
  talk.say(2, 1, "second");
  talk.network.advance_to(at(9000));
  std::array<Packet*, 4> burst;
  ASSERT_EQ(talk.network.port(1).rx_burst(burst, at(9000)), 1u);
  EXPECT_EQ(talk.network.port(1).waiting_count(), 1u);
  talk.network.port(1).give_back({burst.data(), 1});
  EXPECT_EQ(texts_of(talk.hear(1)), std::vector<std::string>{"second"});
}

TEST(FabricPort, packets_longer_than_a_frame_arrive_whole) {
  Talk talk(two_leaves());
  const std::string text = [] {
    std::string all;
    for (int i = 0; i < 1000; ++i) all += std::to_string(i) + ' ';
    return all;
  }();
  talk.say(0, 3, text);
  EXPECT_EQ(texts_of(talk.hear_all()), std::vector<std::string>{text});
  EXPECT_EQ(talk.network.counters().in_flight, 0u);
}

TEST(FabricPort, carried_payload_may_be_changed_at_once_and_a_lent_one_comes_as_it_is) {
  for (const bool carries : {true, false}) {
    Talk talk(two_leaves(), {.carry_bytes = carries});
    std::string payload = "payloads";
    Packet* packet = nullptr;
    talk.network.port(0).take_burst({&packet, 1});
    packet->data[0] = '>';
    packet->bytes = 1;
    packet->payload = reinterpret_cast<const uint8_t*>(payload.data());
    packet->payload_bytes = 8;
    packet->cookie = 5;
    packet->peer = 3;
    ASSERT_EQ(talk.network.port(0).tx_burst({&packet, 1}, at(0)), 1u);
    payload[0] = 'X';
    std::array<uint64_t, 2> done;
    ASSERT_EQ(talk.network.port(0).take_done(done), 1u);
    EXPECT_EQ(done[0], 5u);
    EXPECT_EQ(talk.network.port(0).lent_count(), 0u);
    EXPECT_EQ(talk.hear_all()[0].text, carries ? ">payloads" : ">Xayloads");
    EXPECT_EQ(talk.network.port(3).take_done(done), 0u) << "nobody there has lent anything";
  }
}

TEST(FabricPort, what_its_sender_keeps_is_sent_as_it_was_then) {
  Talk talk(two_leaves());
  Packet* packet = nullptr;
  FabricPort& port = talk.network.port(0);
  port.take_burst({&packet, 1});
  std::memcpy(packet->data, "hello", 5);
  packet->bytes = 5;
  packet->peer = 1;
  port.share({&packet, 1});
  ASSERT_EQ(port.tx_burst({&packet, 1}, at(0)), 1u);
  EXPECT_FALSE(port.is_shared(*packet));
  std::memcpy(packet->data, "later", 5);
  EXPECT_EQ(texts_of(talk.hear_all()), std::vector<std::string>{"hello"});
  EXPECT_EQ(port.lent_count(), 1u);
  port.give_back({&packet, 1});
  EXPECT_EQ(port.lent_count(), 0u);
}

TEST(FabricNetwork, a_full_queue_drops_and_a_long_one_marks_who_can_be_marked) {
  Talk talk(two_leaves(4, 1, {.port_limit = 200_B, .mark_above = 100_B}));
  for (const uint16_t host : {0, 2, 3}) talk.say(host, 1, hundred_bytes, {.ecn = 2});
  const auto heard = talk.hear_all();
  ASSERT_EQ(heard.size(), 2u) << "three come to the switch at once";
  EXPECT_EQ(heard[0].ecn, 2);
  EXPECT_EQ(heard[1].ecn, 3);
  for (const uint16_t host : {0, 2}) talk.say(host, 1, hundred_bytes);
  EXPECT_EQ(talk.hear_all()[1].ecn, 0);
  const uint32_t to_1 = Topology::back(talk.network.routes().link_from(1));
  EXPECT_EQ(talk.network.counters_of(to_1).drops, 1u);
  EXPECT_EQ(talk.network.counters_of(to_1).marks, 1u);
  EXPECT_EQ(talk.network.counters_of(to_1).queue_bytes_max, 200u);
  EXPECT_EQ(talk.network.counters().dropped, 1u);
  EXPECT_EQ(talk.network.counters().marked, 1u);
  EXPECT_TRUE(adds_up(talk.network.counters()));
}

// The README's figures. 4 hosts, 6 cables.
TEST(FabricNetwork, takes_as_much_memory_for_frames_and_packets_as_is_said) {
  const auto bytes_of = [](const Topology& topology, const FabricOptions& options) {
    const int64_t before = sim::HeapWatch::live_bytes();
    const FabricNetwork network(topology, options);
    return double(sim::HeapWatch::live_bytes() - before);
  };
  const Topology few = two_leaves();
  (void)bytes_of(few, {.frames = 100});  // what is allocated once for all
  const double plain = bytes_of(few, {.frames = 10'000, .port_packets = 100});
  const double frames = bytes_of(few, {.frames = 20'000, .port_packets = 100});
  const double packets = bytes_of(few, {.frames = 10'000, .port_packets = 200});
  EXPECT_NEAR((frames - plain) / 10'000, 320, 2);
  EXPECT_NEAR((packets - plain) / 400, 4096 + 128 + 200, 40);
  EXPECT_NEAR(plain - 10'000 * 320 - 400 * 4424, 133'000, 25'000);
}

TEST(FabricNetwork, allocates_nothing_once_it_is_put_together) {
  Talk talk(two_leaves(8, 2, {.buffer = 2000_B}), {.frames = 500});
  for (uint16_t host = 0; host < 16; ++host) talk.network.join(host, 0xf000);
  std::array<uint16_t, 16> ready;
  std::array<Packet*, 64> burst;
  const uint64_t before = sim::HeapWatch::allocation_count();
  {
    const sim::HeapWatch watch;
    for (int round = 0; round < 300; ++round) {
      for (uint16_t host = 0; host < 16; ++host) {
        talk.say(host, round % 7 == 0 ? 0xf000 : (host + 3 + round) % 16, hundred_bytes);
      }
      talk.network.run_until(talk.network.now() + 400_ns);
      const size_t count = talk.network.take_ready(ready);
      for (size_t i = 0; i < count; ++i) {
        FabricPort& port = talk.network.port(ready[i]);
        port.give_back({burst.data(), port.rx_burst(burst, talk.network.now())});
      }
    }
  }
  EXPECT_EQ(sim::HeapWatch::allocation_count() - before, 0u);
  EXPECT_GT(talk.network.counters().dropped, 0u);
  EXPECT_GT(talk.network.counters().delivered, 1000u);
}

}  // namespace
}  // namespace cw::test
