// What gateways pass over any port, whatever it is made of: lines that lose, reorder, damage and
// copy, packets of every length, accounts that add up, stalls, swaps and restarts while hosts send.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "control/json/json.h"
#include "dataplane/base/limits.h"
#include "tests/integration/two_gateways.h"
#include "tests/lab/pings.h"
#include "tests/lab/restarts/tcp_file.h"

namespace cw::lab {
namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

const Arguments good_line{"--rtt", "25ms", "--rate", "200Mbit/s"};
const Arguments near_line{"--rtt", "1ms", "--rate", "200Mbit/s"};

constexpr DatagramsOptions from_b{.from = At::HostB,
                                  .to = At::HostA,
                                  .source = site_b.host,
                                  .target = site_a.host,
                                  .udp_port = 7001};

// ---- lines ----

struct Line {
  const char* name;
  const char* policy;
  Arguments options;
  Ports ports = Ports::Sockets;
  friend void PrintTo(const Line& it, std::ostream* out) { *out << it.name; }
};
class GatewayLines : public TwoGateways, public testing::WithParamInterface<Line> {};

TEST_P(GatewayLines, lose_nothing) {
  const std::string classes = std::string("[[class]]\nname = \"all\"\npolicy = \"") +
                              GetParam().policy + "\"\n" + patient_class;
  build_over(GetParam().ports, {.classes = classes}, GetParam().options);
  expect_all(exchange({.per_second = 6000}, seconds(2)));
  expect_kernels_undisturbed();
  const Json line = Json::parse(sites().part());
  const Json& one_way = line["a_to_b"];
  tell("the line lost " + one_way["lost"]["total"].dump() + " of " + one_way["received"].dump());
  EXPECT_GT(one_way["lost"]["total"].get<uint64_t>() + one_way.value("reordered", uint64_t{0}) +
                one_way.value("duplicated", uint64_t{0}),
            0u);
}

const Arguments bursts{"--rtt", "25ms", "--gilbert", "8,1%", "--rate", "200Mbit/s"};
const Arguments a_cloud{"--rtt", "25ms", "--profile", "google:1%"};
const Arguments reordering{"--rtt", "25ms", "--loss", "0.5%", "--reorder", "5%,3ms"};
const Arguments jitter{"--rtt", "25ms", "--loss", "0.5%", "--jitter", "2ms,1ms,reorders"};
const Arguments copies{"--rtt", "25ms", "--duplicate", "20%,2", "--corrupt", "0.5%"};
const Arguments one_percent{"--rtt", "25ms", "--loss", "1%"};
const std::vector<Line> lines = {
    {"bursts", "selective_repeat", bursts},
    {"a_cloud", "selective_repeat", a_cloud},
    {"reordering", "selective_repeat", reordering},
    {"jitter", "selective_repeat", jitter},
    {"copies", "selective_repeat", copies},
    {"erasure", "erasure", one_percent},
    {"hybrid", "hybrid", one_percent},
    {"layered_bursts", "layered_interleave", bursts},
    {"bursts_over_xdp", "selective_repeat", bursts, Ports::Xdp},
    {"reordering_over_xdp", "selective_repeat", reordering, Ports::Xdp},
    {"jitter_over_xdp", "selective_repeat", jitter, Ports::Xdp},
    {"copies_over_xdp", "selective_repeat", copies, Ports::Xdp},
    {"erasure_over_xdp", "erasure", one_percent, Ports::Xdp}};

INSTANTIATE_TEST_SUITE_P(All, GatewayLines, testing::ValuesIn(built_in(lines)),
                         [](const auto& each) { return std::string(each.param.name); });

// ---- lengths ----

class GatewayOfEveryLength : public TwoGateways, public testing::WithParamInterface<Ports> {};

TEST_P(GatewayOfEveryLength, carry_each_there_and_back) {
  const uint32_t mtu = GetParam() == Ports::Xdp ? limits::af_xdp_mtu_max : 1500;
  build_over(GetParam(), {.lan_mtu = mtu}, near_line, {.lan_mtu = mtu});
  for (const char* target : {site_b.host, site_b.host_v6}) {
    ASSERT_TRUE(meet(target)) << target;
    Pings pings(sites().space(At::HostA), target);
    const size_t shortest = target == site_b.host ? 36 : 56;
    for (size_t bytes = shortest; bytes <= mtu; ++bytes) {
      ASSERT_TRUE(pings.ping(bytes, seconds(10))) << target << ", " << bytes << " bytes";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayOfEveryLength, testing::ValuesIn(every_port()),
                         [](const auto& each) { return name_of(each.param); });

// ---- accounts ----

class GatewayAccounts : public TwoGateways, public testing::WithParamInterface<Ports> {
 protected:
  /// Packets of A's hosts that found its port full: told by the port, or of a tun device, whose
  /// queue is the kernel's, by the kernel.
  uint64_t without_room() {
    const uint64_t told = number(a().status()["lan"], "rx_dropped");
    if (GetParam() == Ports::Xdp) return told;
    const Outcome device =
        sites().space(At::GatewayA).run({"ip", "-j", "-s", "link", "show", "dev", "causeway0"});
    return told + number(Json::parse(device.out)[0]["stats64"]["tx"], "dropped");
  }

  using Reasons = std::initializer_list<const char*>;
  /// Of packets from the hosts.
  static constexpr Reasons from_hosts = {
      "lan_malformed",    "lan_unroutable",   "no_route",       "multicast_unknown",
      "multicast_looped", "multicast_source", "lan_too_big",    "no_class",
      "ttl_expired",      "peer_down",        "wan_queue_full", "wan_queue_codel",
      "wan_queue_old",    "wan_places_full",  "stream_broken"};
  static constexpr Reasons of_the_wan = {"peer_down", "wan_queue_full", "wan_queue_codel",
                                         "wan_queue_old", "wan_places_full"};
  static uint64_t dropped(const Json& status, Reasons reasons) {
    uint64_t sum = 0;
    for (const char* reason : reasons) {
      if (status["drops"].contains(reason)) sum += number(status["drops"][reason], "count");
    }
    return sum;
  }

  /// Packets that a LAN port has taken, those that have no way there included.
  static uint64_t to_lan(const Json& lan) {
    uint64_t sum = number(lan, "tx_packets");
    for (const char* lost : {"tx_lost", "tx_unrouted", "tx_unresolved", "tx_link_down"}) {
      if (lan.contains(lost)) sum += number(lan, lost);
    }
    return sum;
  }

  /// Every packet from the hosts has one fate, and so has every frame from the peer.
  static void expect_balanced(const Json& status) {
    const Json &counters = status["counters"], &lane = status["classes"][0];
    EXPECT_EQ(number(status["lan"], "rx_packets"), number(counters, "lan_in"));
    EXPECT_EQ(number(counters, "lan_in"),
              number(counters, "lan_sent") + dropped(status, from_hosts) + number(lane, "waiting"));
    EXPECT_EQ(number(lane, "sent"), number(counters, "lan_sent"));
    const Json& in = lane["received"];
    EXPECT_EQ(number(in, "seen"), number(in, "out") + number(in, "held") + number(in, "queued") +
                                      number(in, "dropped"));
    EXPECT_GE(number(in, "dropped"), number(in, "late") + number(in, "duplicate"));
    EXPECT_EQ(number(in, "out"), number(counters, "frames_out"));
    EXPECT_EQ(number(in, "out") + number(counters, "icmp_sent"), to_lan(status["lan"]));
  }
};

TEST_P(GatewayAccounts, add_up_when_there_is_too_much) {
  build_over(GetParam(), {.rate = "20 Mbit/s", .classes = "[[class]]\nname = \"all\"\n"},
             {"--rtt", "25ms", "--loss", "1%"});
  const auto out_of_b = [&] {
    return number(b().status()["classes"][0]["received"], "out");  // what was said before, too
  };
  const uint64_t before = out_of_b();
  Datagrams stream(sites(), {.per_second = 4000});
  stream.start();
  for (int i = 0; i < 10; ++i) {  // in the middle of it as well
    std::this_thread::sleep_for(milliseconds(150));
    expect_balanced(a().status());
    expect_balanced(b().status());
  }
  stream.stop();
  stream.settle();
  const DatagramCounts counts = stream.counts();
  tell(text_of(counts));
  expect_sound(counts);
  const Json at_a = a().status(), at_b = b().status();
  expect_balanced(at_a);
  expect_balanced(at_b);
  const uint64_t full = dropped(at_a, {"wan_queue_full", "wan_queue_codel"});
  tell(std::to_string(full) + " refused by A's queue");
  EXPECT_GT(full, 0u);
  const Json &sent = at_a["classes"][0], &received = at_b["classes"][0]["received"];
  // None are given up but when this machine keeps a gateway waiting for longer than `hold`.
  const uint64_t given_up = number(received, "given_up");
  EXPECT_EQ(number(sent, "sent"), number(received, "out") + given_up);
  EXPECT_EQ(number(received, "out") - before, counts.arrived);
  EXPECT_EQ(counts.lost(), full + number(at_a["lan"], "rx_dropped") + given_up);
}

// What comes while A stands still, and finds no room, is told of, packet by packet.
TEST_P(GatewayAccounts, tell_what_was_lost_while_one_stood_still) {
  build_over(GetParam(), {.lan_more = "queue = \"10 ms\"\n"}, good_line);
  const uint64_t before = without_room();
  Datagrams stream(sites(), {.per_second = 8000});
  stream.start();
  std::this_thread::sleep_for(milliseconds(300));
  a().program().signal(SIGSTOP);
  std::this_thread::sleep_for(seconds(1));
  a().program().signal(SIGCONT);
  std::this_thread::sleep_for(milliseconds(300));
  stream.stop();
  stream.settle(seconds(1));
  const DatagramCounts counts = stream.counts();
  tell(text_of(counts));
  expect_sound(counts);
  const Json after = a().status();
  expect_balanced(after);
  const uint64_t refused = without_room() - before;
  tell(std::to_string(refused) + " found no room");
  EXPECT_GT(refused, 0u);
  const uint64_t told = refused + dropped(after, of_the_wan) +
                        number(b().status()["classes"][0]["received"], "given_up");
  EXPECT_LE(counts.lost(), told);
  // A tun device counts what its own kernel says of its groups there, too.
  const uint64_t of_the_kernel = GetParam() == Ports::Xdp ? 0 : 5;
  EXPECT_GE(counts.lost() + of_the_kernel, told);
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayAccounts, testing::ValuesIn(every_port()),
                         [](const auto& each) { return name_of(each.param); });

// ---- stalls ----
// A gateway that stands still while its hosts and the peer send: what comes meanwhile waits for it.

class GatewayStalls : public TwoGateways, public testing::WithParamInterface<Ports> {};

TEST_P(GatewayStalls, of_50_ms_lose_nothing) {
  build_over(GetParam(), {}, good_line);
  Datagrams there(sites(), {}), back(sites(), from_b);
  there.start();
  back.start();
  for (int i = 0; i < 10; ++i) {
    for (Gateway* each : {&a(), &b()}) {
      std::this_thread::sleep_for(milliseconds(100));
      each->program().signal(SIGSTOP);
      std::this_thread::sleep_for(milliseconds(50));
      each->program().signal(SIGCONT);
    }
  }
  for (Datagrams* each : {&there, &back}) {
    each->stop();
    each->settle();
    tell(text_of(each->counts()));
    expect_all(each->counts());
  }
  for (Gateway* each : {&a(), &b()}) EXPECT_EQ(each->status()["counters"]["epochs"], 1);
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayStalls, testing::ValuesIn(every_port()),
                         [](const auto& each) { return name_of(each.param); });

// ---- swaps ----

// Datagrams all the while, and a line so short that a swap takes little else than packets. A long
// story, and one of policies: over the port alone that takes most from the kernel.

constexpr size_t swaps_in_a_row = 1000;

struct LongStory {
  Ports ports;
  friend void PrintTo(const LongStory& it, std::ostream* out) { *out << name_of(it.ports); }
};
const std::vector<LongStory> long_stories = {{Ports::Xdp}};

class GatewaySwaps : public TwoGateways, public testing::WithParamInterface<LongStory> {
 protected:
  static GatewayFile file_with(const std::string& policy) {
    return {.rtt = "10 ms",
            .classes =
                "[[class]]\nname = \"all\"\npolicies = [\"hybrid\", \"go_back_n\", "
                "\"selective_repeat\"]\npolicy = \"" +
                policy + "\"\n" + patient_class};
  }
  /// How many A has told of since it started.
  size_t told() {
    const std::string log = a().program().err_so_far();
    for (size_t at = log.find(sign, seen_); at != log.npos; at = log.find(sign, seen_)) {
      seen_ = at + sign.size();
      ++told_;
    }
    return told_;
  }

 private:
  const std::string sign = "info swapped ";
  size_t seen_ = 0, told_ = 0;
};

TEST_P(GatewaySwaps, a_thousand_of_them_lose_no_datagram) {
  build_over(GetParam().ports, file_with("selective_repeat"), near_line);
  Datagrams there(sites(), {}), back(sites(), from_b);
  there.start();
  back.start();
  const auto begin = Time::now();
  for (size_t i = 0; i < swaps_in_a_row; ++i) {
    const char* const policies[] = {"hybrid", "go_back_n", "selective_repeat"};
    a().configure(over(GetParam().ports, file_with(policies[i % 3])));
    a().program().signal(SIGHUP);
    const auto end = Time::now() + seconds(20);
    while (told() <= i) {
      ASSERT_LT(Time::now(), end) << i << a().program().err_so_far();
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  const std::chrono::duration<double> passed = Time::now() - begin;
  tell(std::to_string(swaps_in_a_row) + " swaps in " + std::to_string(passed.count()) + " s");
  for (Datagrams* each : {&there, &back}) {
    each->stop();
    each->settle();
    tell(text_of(each->counts()));
    expect_all(each->counts());
  }
  EXPECT_EQ(a().status()["counters"]["epochs"], 1);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GatewaySwaps);
INSTANTIATE_TEST_SUITE_P(Over, GatewaySwaps, testing::ValuesIn(built_in(long_stories)),
                         [](const auto& each) { return name_of(each.param.ports); });

// ---- restarts ----

class GatewayRestarts : public TwoGateways, public testing::WithParamInterface<LongStory> {};

TEST_P(GatewayRestarts, spoil_no_byte_of_the_hosts_tcp) {
  build_over(GetParam().ports, {}, {"--rtt", "10ms", "--rate", "200Mbit/s"});
  TcpFile tcp(sites(), 1'000'000);
  Datagrams there(sites(), {.per_second = 500});
  there.start();
  for (int i = 0; i < 6; ++i) {
    Gateway& each = i % 3 == 2 ? b() : a();
    EXPECT_EQ(each.stop().status, 0);
    each.start();
    ASSERT_TRUE(each.wait_up()) << each.program().err_so_far();
    ASSERT_TRUE(there.wait_for_arrival(Time::now(), seconds(20))) << i;
  }
  const TcpFileCounts bytes = tcp.finish(seconds(60));
  tell(std::to_string(bytes.received) + " bytes of TCP");
  EXPECT_TRUE(bytes.is_whole()) << bytes.received << " of " << bytes.sent << bytes.trouble;
  there.stop();
  there.settle(seconds(1));
  tell(text_of(there.counts()));
  expect_sound(there.counts());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GatewayRestarts);
INSTANTIATE_TEST_SUITE_P(Over, GatewayRestarts, testing::ValuesIn(built_in(long_stories)),
                         [](const auto& each) { return name_of(each.param.ports); });

}  // namespace
}  // namespace cw::lab
