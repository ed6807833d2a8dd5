// Two gateways as processes: what they carry, by which paths, and what they keep.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control/json/json.h"
#include "dataplane/base/limits.h"
#include "dataplane/wire/opcode.h"
#include "tests/integration/two_gateways.h"
#include "tests/lab/connections.h"
#include "tests/lab/hostile.h"
#include "tests/lab/pings.h"

namespace cw::lab {
namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

// ---- gateways ----
// Two gateways from their files, real traffic between two hosts, and a bad line between them.

class Gateways : public TwoGateways {
 protected:
  struct Tcp {
    double bytes = 0;
    int retransmits = 0;  ///< segments that the sender sent again
  };
  /// What becomes of so much by one TCP connection of iperf3 from host A to host B.
  Tcp run_tcp(const char* source, const char* target, const char* how_much) {
    Program server(sites().namespace_of(At::HostB), {"iperf3", "-s", "-1", "--forceflush"});
    sites().space(At::HostB).wait_for_listener(5201);
    const Outcome outcome =
        sites().space(At::HostA).run({"iperf3", "-B", source, "-c", target, "-n", how_much, "-C",
                                      "cubic", "--json", "--connect-timeout", "20000"});
    const Json report = Json::parse_or_null(outcome.out);
    if (outcome.status != 0 || !report.is_object()) return {};
    const Json &sent = report["end"]["sum_sent"], &received = report["end"]["sum_received"];
    const Tcp tcp{received["bytes"].get<double>(), sent["retransmits"].get<int>()};
    tell(std::string("TCP to ") + target + ": " + std::to_string(tcp.retransmits) +
         " segments again, " + std::to_string(received["bits_per_second"].get<double>() * 1e-6) +
         " Mbit/s");
    return tcp;
  }
};

const Arguments bad_line{"--rtt", "25ms", "--loss", "1%", "--rate", "200Mbit/s"};

#ifdef CW_HAVE_DPDK
TEST_F(Gateways, carry_ping_and_udp_over_dpdk_and_a_line_that_loses) {
  prepare({}, {}, bad_line);
  for (const auto& [gateway, interface] : {std::pair(&a(), "wa"), std::pair(&b(), "wb")}) {
    GatewayFile file;
    file.wan_more = std::string("port = \"dpdk\"\ndevice = \"net_af_packet0,iface=") + interface +
                    ",blocksz=65536,framesz=2048,framecnt=1024\"\n";
    gateway->configure(file);
    gateway->start();
  }
  for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
  Pings pings(sites().space(At::HostA), site_b.host);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(pings.ping(100, seconds(10))) << i;
  expect_all(exchange({.per_second = 2000}, seconds(1)));
  const Json wan = a().status()["wan"];
  EXPECT_EQ(wan["driver"], "net_af_packet");
  EXPECT_EQ(wan["rx_malformed"], 0);
}
#endif

TEST_F(Gateways, carry_ping_and_udp_in_both_families_over_a_line_that_loses) {
  build({}, {}, bad_line);
  for (const char* target : {site_b.host, site_b.host_v6}) {
    Pings pings(sites().space(At::HostA), target);
    for (int i = 0; i < 20; ++i) {
      const auto time = pings.ping(100, seconds(10));
      ASSERT_TRUE(time) << target << ", ping " << i;
      EXPECT_GE(*time, milliseconds(25));
    }
  }
  expect_all(exchange({.per_second = 5000}, seconds(1)));
  expect_all(exchange({.source = site_a.host_v6, .target = site_b.host_v6}, seconds(1)));
  expect_all(
      exchange({.from = At::HostB, .to = At::HostA, .source = site_b.host, .target = site_a.host},
               seconds(1)));
}

// How fast depends on the machine, and ./demo tells; here it is counted what TCP finds lost.
TEST_F(Gateways, carry_tcp_in_both_families_and_leave_it_less_to_send_again) {
  build({}, {}, bad_line);
  sites().route_beside();
  const Tcp plain = run_tcp(site_a.beside, site_b.beside, "4M");
  EXPECT_GT(plain.retransmits, 10);  // of some 2,900 segments
  for (const auto& [source, target] :
       {std::pair{site_a.host, site_b.host}, std::pair{site_a.host_v6, site_b.host_v6}}) {
    const Tcp mended = run_tcp(source, target, "4M");
    EXPECT_GE(mended.bytes, 1e6) << target;
    EXPECT_LT(mended.retransmits, plain.retransmits) << target;
  }
}

TEST_F(Gateways, carry_two_hundred_connections_at_once) {
  build({}, {}, bad_line);
  const ConnectionCounts counts =
      run_connections(sites(), {.connections = 200, .bytes = 20'000}, seconds(60));
  tell(std::to_string(counts.whole) + " connections whole, " + std::to_string(counts.failed) +
       " failed");
  EXPECT_EQ(counts.whole, 200u);
  EXPECT_EQ(counts.wrong, 0u);
}

/// Shards through which a site's packets of this kind have gone.
size_t busy_shards(const Json& status, const char* packets, uint64_t least) {
  return static_cast<size_t>(std::ranges::count_if(status["shards"], [&](const Json& shard) {
    return shard.value(packets, uint64_t{0}) >= least;
  }));
}

// Two threads at one site and four at the other. A connection is spoiled by a packet out of order
// no more than by a lost one, but a flow that went by two links would be slower; and what the line
// loses must be mended on each.
TEST_F(Gateways, of_several_threads_each_carry_what_one_does) {
  prepare({}, {.shards = 2, .links = 4}, bad_line);
  b().configure(GatewayFile{.shards = 4, .links = 4});
  for (Gateway* each : {&a(), &b()}) each->start();
  for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
  const ConnectionCounts counts =
      run_connections(sites(), {.connections = 200, .bytes = 20'000}, seconds(60));
  EXPECT_EQ(counts.whole, 200u);
  EXPECT_EQ(counts.wrong, 0u);
  for (uint16_t i = 0; i < 4; ++i) {
    const auto udp_port = static_cast<uint16_t>(7000 + i);
    expect_all(exchange({.udp_port = udp_port, .per_second = 2000}, milliseconds(300)));
  }
  expect_all(exchange({.source = site_a.host_v6, .target = site_b.host_v6}, milliseconds(300)));
  const Json at_a = a().status(), at_b = b().status();
  EXPECT_EQ(at_a["peers"][0]["links"].size(), 4u);
  for (const char* packets : {"from_lan", "to_lan", "from_wan", "to_wan"}) {
    EXPECT_EQ(busy_shards(at_a, packets, 500), 2u) << packets << at_a["shards"].dump();
    EXPECT_EQ(busy_shards(at_b, packets, 500), 4u) << packets << at_b["shards"].dump();
  }
  for (Gateway* each : {&a(), &b()}) EXPECT_EQ(each->stop().status, 0);
}

TEST_F(Gateways, talk_to_each_other_over_ipv6) {
  build({}, {.is_wan_v6 = true}, bad_line);
  expect_all(exchange({}, seconds(1)));
  expect_all(exchange({.source = site_a.host_v6, .target = site_b.host_v6}, seconds(1)));
}

struct Lengths {
  uint32_t lan_mtu, wan_mtu;
  Ports ports = Ports::Sockets;
  friend void PrintTo(const Lengths& it, std::ostream* out) { *out << it.lan_mtu; }
};
class GatewayLengths : public Gateways, public testing::WithParamInterface<Lengths> {};

TEST_P(GatewayLengths, carry_packets_of_every_length_that_the_lan_allows) {
  const auto [lan_mtu, wan_mtu, ports] = GetParam();
  build_over(ports, {.lan_mtu = lan_mtu, .wan_mtu = wan_mtu}, bad_line,
             {.lan_mtu = lan_mtu, .wan_mtu = wan_mtu});
  for (const size_t bytes : {size_t{24}, size_t{lan_mtu / 2}, size_t{lan_mtu - 28}}) {
    expect_all(exchange({.bytes = bytes, .per_second = 500}, milliseconds(400)));
  }
  expect_all(exchange({.source = site_a.host_v6,
                       .target = site_b.host_v6,
                       .bytes = lan_mtu - 48,
                       .per_second = 500},
                      milliseconds(400)));
  EXPECT_GE(run_tcp(site_a.host, site_b.host, "8M").bytes, 1e6);
}

/// The most that AF_XDP has in one piece.
constexpr uint32_t page = limits::af_xdp_mtu_max;
const std::vector<Lengths> lengths = {{1280, 1280},
                                      {9000, 9000},
                                      {9000, 1500},
                                      {1280, 1280, Ports::Xdp},
                                      {page, page, Ports::Xdp},
                                      {page, 1500, Ports::Xdp},
                                      {9000, 9000, Ports::Xdp}};

INSTANTIATE_TEST_SUITE_P(Mtu, GatewayLengths, testing::ValuesIn(built_in(lengths)),
                         [](const auto& each) {
                           const Lengths& it = each.param;
                           return "lan_" + std::to_string(it.lan_mtu) + "_wan_" +
                                  std::to_string(it.wan_mtu) +
                                  (it.ports == Ports::Xdp ? "_over_xdp" : "");
                         });

// ---- gateway paths ----
// One of several paths dies in the middle of what hosts send, or loses long packets alone, and
// comes back: no host notices, and nothing but questions goes there meanwhile.

/// Of the UDP source port's, the third.
constexpr uint16_t port = 4793, path = 2;

/// Of site A's frames by the path, at the moment of the call and for a time after it.
struct Seen {
  size_t data = 0, other = 0;
};

class GatewayPaths : public TwoGateways {
 protected:
  void build_four() {
    control_ = folder().path("wan");
    build({},
          {.rate = "280 Mbit/s",
           .wan_more = "paths = 4\n",
           .classes = std::string("[[class]]\nname = \"all\"\npolicy = \"selective_repeat\"\n") +
                      patient_class},
          {"--rtt", "25ms", "--rate", "300Mbit/s", "--queue", "50ms", "--control", control_});
  }
  /// The line, both ways.
  void set(const std::string& option) {
    const Outcome outcome =
        sites().space(At::Between).run({CW_WAN_PROGRAM, "set", control_, option});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }
  Seen watch(milliseconds time) {
    constexpr size_t udp = 14 + 20, transport = udp + 8;
    Recorder recorder(sites().space(At::Between), "ma");
    Seen seen;
    const auto end = Time::now() + time;
    while (Time::now() < end) {
      std::this_thread::sleep_for(milliseconds(5));
      for (const Frame& frame : recorder.take()) {
        if (frame.size() <= transport || (frame[udp] << 8 | frame[udp + 1]) != port) continue;
        ++(frame[transport] == opcode_uc_write_only_immediate ? seen.data : seen.other);
      }
    }
    return seen;
  }
  /// Within which a path that dies is found out: four round trips of the link as it measures them
  /// now, and a little.
  std::chrono::duration<double, std::milli> found_within() {
    const double rtt_ms = a().status()["peers"][0]["rtt_ms"].get<double>();
    return std::chrono::duration<double, std::milli>(4 * rtt_ms + 100);
  }
  /// Until both sites have run for so long: what they stood still for counts for nobody.
  void let_run(std::chrono::duration<double, std::micro> time) {
    const auto stood = [&] {
      return number(a().status()["counters"], "time_gap_us") +
             number(b().status()["counters"], "time_gap_us");
    };
    const uint64_t before = stood();
    std::this_thread::sleep_for(time);
    std::this_thread::sleep_for(std::chrono::microseconds(stood() - before));
  }
  /// 200 Mbit/s of hosts' packets.
  static DatagramsOptions stream() { return {.bytes = 1400, .per_second = 17'500}; }

  void expect_found_and_healed(const std::string& hole, const std::string& told) {
    Datagrams datagrams(sites(), stream());
    datagrams.start();
    std::this_thread::sleep_for(seconds(1));
    EXPECT_GT(watch(milliseconds(300)).data, 500u);
    const auto found = found_within();
    set(hole);
    let_run(found);
    const Seen dead = watch(seconds(3));
    tell(std::to_string(dead.data) + " packets of data and " + std::to_string(dead.other) +
         " questions and answers went there in 3 s");
    EXPECT_EQ(dead.data, 0u);
    EXPECT_GT(dead.other, 4u);
    EXPECT_EQ(a().status()["peers"][0]["paths"][path]["state"], "down");
    EXPECT_TRUE(a().program().wait_for("warning " + told + " peer=b path=2"))
        << a().program().err_so_far();
    set("hole=");
    std::this_thread::sleep_for(seconds(1));
    EXPECT_GT(watch(milliseconds(300)).data, 500u);
    EXPECT_EQ(a().status()["peers"][0]["paths"][path]["state"], "up");
    datagrams.stop();
    datagrams.settle();
    const DatagramCounts counts = datagrams.counts();
    tell(text_of(counts));
    expect_all(counts);
    const auto counters = a().status()["counters"];
    tell(counters["resends_sent"].dump() + " sent again");
  }

 private:
  std::string control_;
};

TEST_F(GatewayPaths, of_which_one_dies_lose_nothing_and_leave_it_alone_until_it_answers) {
  build_four();
  expect_found_and_healed("hole=4793", "path_down");
}

TEST_F(GatewayPaths, of_which_one_loses_long_packets_do_the_same) {
  build_four();
  expect_found_and_healed("hole=4793,1000B", "path_too_small");
}

// ---- gateway state ----
// What gateways say and take: how little they need when idle, and what they say when the way or the
// files are wrong.

constexpr double turns_per_second_idle = 2500;

class GatewayState : public TwoGateways {
 protected:
  /// With nothing to do they take few turns: how much of a core that is depends on the processor.
  static void expect_idle(std::initializer_list<Gateway*> gateways) {
    const auto turns_of = [](Gateway& each) { return number(each.status()["counters"], "turns"); };
    std::vector<uint64_t> before;
    for (Gateway* each : gateways) before.push_back(turns_of(*each));
    const auto begin = Time::now();
    std::this_thread::sleep_for(seconds(3));
    for (size_t i = 0; Gateway * each : gateways) {
      const uint64_t turns = turns_of(*each) - before[i++];
      const std::chrono::duration<double> passed = Time::now() - begin;
      tell("idle: " + std::to_string(double(turns) / passed.count()) + " turns per second");
      EXPECT_LT(double(turns), turns_per_second_idle * passed.count());
    }
  }
};

TEST_F(GatewayState, a_burst_of_the_hosts_waits_for_its_turn) {
  build({}, {.lan_more = ""}, {"--rtt", "25ms"});
  const Outcome outcome =
      sites().space(At::GatewayA).run({"ip", "-o", "link", "show", "causeway0"});
  // 190 Mbit/s for 10 ms, 128 bytes a packet; the kernel's own is 500.
  EXPECT_NE(outcome.out.find("qlen 1855"), std::string::npos) << outcome.out;
}

// A rehearsal is a gateway like any other while nothing happens.
TEST_F(GatewayState, a_rehearsal_is_no_less_idle) {
  build({}, {.wan_more = "impair = { delay = \"12 ms\", loss = \"1 %\" }\n"}, {"--rtt", "1ms"});
  std::this_thread::sleep_for(milliseconds(300));
  expect_idle({&a()});
  Pings pings(sites().space(At::HostA), site_b.host);
  size_t answered = 0;
  for (int i = 0; i < 10; ++i) {
    const auto time = pings.ping(100, seconds(4));
    if (!time) continue;
    ++answered;
    EXPECT_GE(*time, milliseconds(25));
  }
  EXPECT_GE(answered, 9u);
}

TEST_F(GatewayState, an_idle_gateway_sleeps_and_wakes_for_a_packet) {
  build({}, {}, {"--rtt", "25ms"});
  std::this_thread::sleep_for(milliseconds(300));
  expect_idle({&a(), &b()});
  Pings pings(sites().space(At::HostA), site_b.host);
  std::vector<double> added_us;
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
    const auto time = pings.ping(100, seconds(10));
    ASSERT_TRUE(time);
    added_us.push_back(std::chrono::duration<double, std::micro>(*time).count() - 25'000);
  }
  std::ranges::sort(added_us);
  tell("single pings, beyond the line's 25 ms, both ways: p50 " +
       std::to_string(added_us[added_us.size() / 2]) + " us, p99 " +
       std::to_string(added_us[added_us.size() * 99 / 100]) + " us");
}

TEST_F(GatewayState, a_line_that_swallows_long_packets_is_named_or_got_along_with) {
  prepare({}, {}, {"--rtt", "25ms", "--mtu", "1280B"});
  a().start();
  b().start();
  std::string why;
  const auto end = Time::now() + seconds(30);
  while (why.find("mtu") == std::string::npos && Time::now() < end) {
    if (a().is_up() && b().is_up()) {
      expect_all(exchange({}, milliseconds(500)));
      expect_all(exchange({.bytes = 1472}, milliseconds(500)));
      return;
    }
    why = a().status()["peers"][0].value("why", "");
  }
  tell("the link is down: " + why);
  EXPECT_NE(why.find("mtu"), std::string::npos) << why;
  EXPECT_TRUE(a().program().wait_for("mtu")) << a().program().err_so_far();
}

TEST_F(GatewayState, a_missing_key_file_is_named_and_nothing_starts) {
  prepare({}, {.key_file = "nowhere.key"}, {"--rtt", "25ms"});
  a().start_in_vain();
  const Outcome outcome = a().program().finish();
  tell(outcome.err);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("pair.key_file: "), std::string::npos);
  EXPECT_NE(outcome.err.find("nowhere.key"), std::string::npos);
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1);
}

}  // namespace

}  // namespace cw::lab
