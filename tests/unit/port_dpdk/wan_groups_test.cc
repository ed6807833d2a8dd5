// Members of a group over DPDK: what is multicast is for all of it, and switches hear of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/collective/sdk/group_end.h"
#include "dataplane/port/dpdk/dpdk_driver.h"
#include "tests/unit/port_dpdk/dpdk_pair.h"

namespace cw::test {
namespace {

using namespace literals;

void belong(FrameWanOptions& options, const std::string& group) {
  options.groups = {{.address = group, .udp_port = 4800}};
}

void expect_heard_by_all_of_the_group(DpdkPair& pair) {
  ASSERT_TRUE(pair.meet());
  Packet* packet = make_packet(*pair.a, 1000, 7);
  packet->peer = group_peer_first;
  ASSERT_EQ(pair.a->tx_burst({&packet, 1}, clock_now()), 1u);
  const auto received = receive(*pair.b, 1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(is_made_packet(*received[0], 1000, 7));
  EXPECT_EQ(received[0]->peer, 0);
  pair.b->give_back(received);
  Packet* to_no_group = make_packet(*pair.a, 1000, 7);
  to_no_group->peer = group_peer_first + 1;
  ASSERT_EQ(pair.a->tx_burst({&to_no_group, 1}, clock_now()), 1u);
  EXPECT_EQ(pair.a->status().tx_unrouted, 1u);
}

TEST(FrameWanPort, sends_to_all_of_a_group_over_ipv4) {
  DpdkPair pair("192.0.2.1", "192.0.2.2", [](auto& options) { belong(options, "239.1.2.3"); });
  expect_heard_by_all_of_the_group(pair);
  // Twice unasked, one after the other.
  const auto has_said = [&] { return pair.a->status().reports >= 2; };
  pair.a->give_back(receive_until(*pair.a, has_said));
  EXPECT_TRUE(has_said());
}

TEST(FrameWanPort, sends_to_all_of_a_group_over_ipv6) {
  DpdkPair pair("2001:db8::1", "2001:db8::2", [](auto& options) { belong(options, "ff15::4"); });
  expect_heard_by_all_of_the_group(pair);
}

TEST(FrameWanPort, does_not_hear_a_group_that_it_does_not_belong_to) {
  bool is_first = true;
  DpdkPair pair("192.0.2.1", "192.0.2.2", [&](auto& options) {
    if (is_first) belong(options, "239.1.2.3");
    is_first = false;
  });
  ASSERT_TRUE(pair.meet());
  const uint64_t before = pair.b->status().rx_other;
  Packet* packet = make_packet(*pair.a, 1000, 7);
  packet->peer = group_peer_first;
  ASSERT_EQ(pair.a->tx_burst({&packet, 1}, clock_now()), 1u);
  const auto other = [&] { return pair.b->status().rx_other > before; };
  EXPECT_TRUE(receive_until(*pair.b, other).empty());
}

TEST(FrameWanPort, says_which_group_is_none) {
  start_small_eal();
  auto options = wan_options("net_null0", "192.0.2.1", "192.0.2.2");
  for (const char* address : {"192.0.2.9", "ff15::4"}) {
    belong(options, address);
    const auto made = FrameWanPort::make(dpdk_driver(), options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().sentence, std::string("groups: ") + address +
                                         " is no multicast address of the IP version of 192.0.2.1");
  }
}

group::GroupEndOptions member(uint16_t rank, Prng& prng) {
  static constexpr uint8_t key[] = "a secret that both members share";
  group::GroupEndOptions options;
  options.rank = rank;
  options.addresses = {"192.0.2.1", "192.0.2.2"};
  options.peers = {0, 0};
  options.key = key;
  options.random = RandomSource::of(prng);
  options.rate = Rate::from_gbps(1);
  options.bytes_max = 200'000;
  return options;
}

TEST(FrameWanPort, carries_a_group_s_operations) {
  DpdkPair pair("192.0.2.1", "192.0.2.2", [](auto& options) { belong(options, "239.1.2.3"); });
  ASSERT_TRUE(pair.meet());
  Prng prngs[] = {Prng(1), Prng(2)};
  group::GroupEnd a(*pair.a, member(0, prngs[0])), b(*pair.b, member(1, prngs[1]));
  const auto turn_until = [&](const auto& is_over) {
    const Instant start = clock_now();
    while (!is_over() && clock_now() - start < 20_s) a.turn(clock_now()), b.turn(clock_now());
    return is_over();
  };
  ASSERT_TRUE(turn_until([&] { return a.group().is_up() && b.group().is_up(); }));
  constexpr uint64_t part = 100'000;
  std::vector<uint8_t> of_a(2 * part), of_b(2 * part), wanted(2 * part);
  std::fill_n(wanted.begin(), part, 1);
  std::fill(wanted.begin() + part, wanted.end(), 2);
  std::fill_n(of_a.begin(), part, 1);
  std::fill(of_b.begin() + part, of_b.end(), 2);
  const auto post = [&](group::GroupEnd& end, std::vector<uint8_t>& memory) {
    return *end.group().post(
        {.operation = group::Operation::Allgather, .bytes = part, .memory = memory.data()},
        clock_now());
  };
  const auto step = post(a, of_a);
  ASSERT_EQ(post(b, of_b), step);
  const auto is_done = [&] {
    return a.group().stage(step) == group::Stage::Done &&
           b.group().stage(step) == group::Stage::Done;
  };
  ASSERT_TRUE(turn_until(is_done));
  EXPECT_EQ(of_a, wanted);
  EXPECT_EQ(of_b, wanted);
  EXPECT_TRUE(turn_until([&] { return a.group().try_release(step); }));
  EXPECT_TRUE(turn_until([&] { return b.group().try_release(step); }));
}

}  // namespace
}  // namespace cw::test
