// Two gateways, and what bad lines, hosts and strangers do to them.
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "control/json/json.h"
#include "tests/integration/two_gateways.h"
#include "tests/lab/hostile.h"

namespace cw::lab {
namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

// ---- gateway faults ----
// Gateways that die and lines that go dark: traffic flows again, and nothing of an earlier life
// comes out. How soon is told here and promised of virtual time (tests/sim/gateway/recovery_test):
// a gateway that gets no core cannot hurry.

constexpr auto promised = seconds(1) + milliseconds(25);
constexpr auto patience = seconds(20);

const Arguments good_line{"--rtt", "25ms", "--rate", "200Mbit/s"};

class GatewayFaults : public TwoGateways {
 protected:
  static double ms(Time::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  }

  /// Of a stream that has been interrupted until `from`: it flows again.
  void expect_flow_again(const Datagrams& stream, const std::string& what, Time::time_point from) {
    const auto first = stream.wait_for_arrival(from, patience);
    ASSERT_TRUE(first) << what;
    tell(what + ": flows again after " + std::to_string(ms(*first - from)) + " ms");
  }
  /// What was sent between these moments has arrived.
  static void expect_all_between(const Datagrams& stream, Time::time_point from,
                                 Time::time_point to) {
    const DatagramCounts counts = stream.counts(from, to);
    EXPECT_GT(counts.sent, 0u);
    EXPECT_EQ(counts.lost(), 0u) << text_of(counts);
  }
};

constexpr DatagramsOptions from_b{.from = At::HostB,
                                  .to = At::HostA,
                                  .source = site_b.host,
                                  .target = site_a.host,
                                  .udp_port = 7001};

class GatewayKills : public GatewayFaults, public testing::WithParamInterface<Ports> {};

// Both ways, since a gateway that was killed leaves what it had received as well.
TEST_P(GatewayKills, either_gateway_may_be_killed_and_started_again) {
  build_over(GetParam(), {}, {"--rtt", "25ms", "--loss", "1%", "--rate", "200Mbit/s"});
  Datagrams there(sites(), {}), back(sites(), from_b);
  there.start();
  back.start();
  std::this_thread::sleep_for(milliseconds(500));
  for (Gateway* each : {&a(), &b()}) {
    const std::string name = each == &a() ? "A" : "B";
    each->kill();
    std::this_thread::sleep_for(milliseconds(300));
    each->start();
    expect_flow_again(there, "A to B, " + name + " restarted", each->ready_at());
    expect_flow_again(back, "B to A, " + name + " restarted", each->ready_at());
    const auto steady = Time::now();
    std::this_thread::sleep_for(milliseconds(700));
    const auto end = Time::now();
    for (Datagrams* stream : {&there, &back}) stream->wait_for_all(steady, end);
    expect_all_between(there, steady, end);
    expect_all_between(back, steady, end);
  }
  for (Datagrams* each : {&there, &back}) {
    each->stop();
    each->settle();
    tell(text_of(each->counts()));
    expect_sound(each->counts());
  }
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayKills, testing::ValuesIn(every_port()),
                         [](const auto& each) { return name_of(each.param); });

class GatewayEnds : public GatewayFaults, public testing::WithParamInterface<Ports> {};

TEST_P(GatewayEnds, deliver_first_what_they_have_when_they_are_asked_to_end) {
  build_over(GetParam(), {}, good_line);
  Datagrams there(sites(), {.per_second = 8000}), back(sites(), from_b);
  there.start();
  back.start();
  std::this_thread::sleep_for(milliseconds(500));
  const auto asked = Time::now();
  const Outcome outcome = a().stop();
  const auto ended = Time::now();
  for (Datagrams* each : {&there, &back}) {
    each->stop();
    each->wait_for_all(Time::time_point::min(), asked);
    tell(text_of(each->counts(Time::time_point::min(), asked)) + " before it was asked");
    expect_sound(each->counts());
  }
  tell("ended after " + std::to_string(ms(ended - asked)) + " ms");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GT(there.counts(asked, Time::time_point::max()).lost(), 0u);  // it had to leave some
  expect_all_between(there, Time::time_point::min(), asked);
  expect_all_between(back, Time::time_point::min(), asked);
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayEnds, testing::ValuesIn(every_port()),
                         [](const auto& each) { return name_of(each.param); });

struct Blackout {
  const char* name;
  milliseconds length;
  Ports ports = Ports::Sockets;
  friend void PrintTo(const Blackout& it, std::ostream* out) { *out << it.name; }
};
class GatewayBlackouts : public GatewayFaults, public testing::WithParamInterface<Blackout> {};

const std::vector<Blackout> blackouts = {{"100_ms", milliseconds(100)},
                                         {"1_s", milliseconds(1000)},
                                         {"1_s_over_dpdk", milliseconds(1000), Ports::Dpdk},
                                         {"100_ms_over_xdp", milliseconds(100), Ports::Xdp},
                                         {"1_s_over_xdp", milliseconds(1000), Ports::Xdp}};

TEST_P(GatewayBlackouts, are_survived) {
  const milliseconds length = GetParam().length;
  build_over(GetParam().ports, {}, good_line);
  Datagrams there(sites(), {}), back(sites(), from_b);
  there.start();
  back.start();
  std::this_thread::sleep_for(milliseconds(500));
  const auto began = Time::now();
  sites().space(At::Between).must("ip link set dev ma down");
  std::this_thread::sleep_until(began + length);
  sites().space(At::Between).must("ip link set dev ma up");
  const auto light = Time::now();
  tell("dark for " + std::to_string(ms(light - began)) + " ms");
  expect_flow_again(there, "A to B", light);
  expect_flow_again(back, "B to A", light);
  std::this_thread::sleep_for(promised);
  const auto steady = Time::now();
  std::this_thread::sleep_for(milliseconds(500));
  for (Datagrams* each : {&there, &back}) {
    each->stop();
    each->settle();
    tell(text_of(each->counts()));
    tell("nothing was lost later than " + std::to_string(ms(each->unsafe_since(light))) +
         " ms after the light");
    expect_sound(each->counts());
    expect_all_between(*each, Time::time_point::min(), began - milliseconds(100));
    expect_all_between(*each, steady, Time::time_point::max());
  }
  // An epoch outlives what is shorter than its dead time.
  const Json status = a().status();
  EXPECT_EQ(status["counters"]["epochs"], 1);
}

INSTANTIATE_TEST_SUITE_P(Of, GatewayBlackouts, testing::ValuesIn(built_in(blackouts)),
                         [](const auto& each) { return std::string(each.param.name); });

// ---- gateway hostile ----
// Strangers at the WAN port: garbage, truncated, altered and replayed packets, as many as they can.

constexpr uint64_t seed = 20261121;
constexpr size_t hostile_frames = 6000;
/// What any processor keeps up with: how many it can take is for benches to say.
constexpr uint32_t flood_per_second = 20'000, replay_per_second = 10'000;

class GatewayHostile : public TwoGateways {
 protected:
  struct Phase {
    DatagramCounts honest;
    double share = 0;  ///< of what was sent
    double hostile_per_second = 0, cpu = 0;
  };

  /// False when it has not come so far within half a minute.
  static bool wait_for_sent(const Flood& flood, uint64_t count) {
    const auto end = Time::now() + seconds(30);
    while (flood.sent() < count && Time::now() < end) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    return flood.sent() >= count;
  }

  Phase run_phase(Flood* flood, milliseconds time) {
    Datagrams stream(sites(), {.per_second = 3000});
    const uint64_t hostile_before = flood == nullptr ? 0 : flood->sent();
    const auto cpu_before = b().program().processor_time();
    const auto begin = Time::now();
    stream.start();
    std::this_thread::sleep_for(time);
    const std::chrono::duration<double> passed = Time::now() - begin;
    stream.stop();
    Phase phase;
    const std::chrono::duration<double> cpu = b().program().processor_time() - cpu_before;
    phase.cpu = cpu.count() / passed.count();
    if (flood != nullptr) {
      phase.hostile_per_second =
          static_cast<double>(flood->sent() - hostile_before) / passed.count();
    }
    stream.settle();
    phase.honest = stream.counts();
    phase.share =
        static_cast<double>(phase.honest.arrived) / static_cast<double>(phase.honest.sent);
    tell("at " + std::to_string(phase.hostile_per_second) + " hostile packets a second: " +
         text_of(phase.honest) + "; gateway B used " + std::to_string(phase.cpu) + " of a core");
    return phase;
  }
};

struct Flooded {
  const char* name;
  bool is_v6 = false;
  Ports ports = Ports::Sockets;
  friend void PrintTo(const Flooded& it, std::ostream* out) { *out << it.name; }
};
class GatewayFlood : public GatewayHostile, public testing::WithParamInterface<Flooded> {};

const std::vector<Flooded> floods = {{"ipv4"},
                                     {"ipv6", true},
                                     {"dpdk", false, Ports::Dpdk},
                                     {"xdp", false, Ports::Xdp},
                                     {"xdp_ipv6", true, Ports::Xdp}};

TEST_P(GatewayFlood, of_strangers_neither_gets_anything_in_nor_keeps_others_out) {
  build_over(GetParam().ports, {.is_wan_v6 = GetParam().is_v6}, good_line);
  Recorder recorder(sites().space(At::Between), "ma");
  const Phase quiet = run_phase(nullptr, seconds(2));
  std::vector<Frame> heard = recorder.take();
  tell(std::to_string(heard.size()) + " frames heard, seed " + std::to_string(seed));
  const uint64_t memory_before = b().resident_kib();
  Flood flood(sites().space(At::Between), "mb", make_hostile(heard, hostile_frames, seed),
              flood_per_second);
  std::this_thread::sleep_for(milliseconds(300));
  const Phase flooded = run_phase(&flood, seconds(3));
  ASSERT_TRUE(wait_for_sent(flood, hostile_frames));  // every one of them
  flood.stop();
  const uint64_t memory_after = b().resident_kib();
  tell("memory of gateway B: " + std::to_string(memory_before) + " KiB before, " +
       std::to_string(memory_after) + " KiB after");
  const Json status = b().status();
  tell("wan " + status["wan"].dump() + " drops " + status["drops"].dump());
  EXPECT_TRUE(b().is_running());
  EXPECT_TRUE(b().is_up());
  for (const Phase* phase : {&quiet, &flooded}) expect_sound(phase->honest);
  EXPECT_GE(flooded.share, 0.8 * quiet.share);
  EXPECT_LE(memory_after, memory_before + 32 * 1024);
  EXPECT_EQ(status["counters"]["epochs"], 1);
  // They got as far as a packet's own checks, and to those of its epoch.
  EXPECT_GT(status["wan"]["rx_malformed"].get<uint64_t>(), 1000u);
  EXPECT_FALSE(status["drops"].empty());
  expect_all(exchange({}, milliseconds(500)));
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayFlood, testing::ValuesIn(built_in(floods)),
                         [](const auto& each) { return std::string(each.param.name); });

class GatewayReplay : public GatewayHostile, public testing::WithParamInterface<Ports> {};

// Of the epoch before, every packet as it was, from the first moment of the next one on.
TEST_P(GatewayReplay, of_an_earlier_life_is_worth_nothing) {
  build_over(GetParam(), {}, good_line);
  Recorder recorder(sites().space(At::Between), "ma");
  expect_all(exchange({}, milliseconds(600)));
  std::vector<Frame> heard = make_replay(recorder.take());
  ASSERT_GT(heard.size(), 500u);
  b().kill();
  const size_t count = heard.size();
  Flood flood(sites().space(At::Between), "mb", std::move(heard), replay_per_second);
  b().start();
  const uint64_t sent_before = flood.sent();
  Datagrams stream(sites(), {});
  stream.start();
  ASSERT_TRUE(stream.wait_for_arrival(b().ready_at(), seconds(20)));
  const auto steady = Time::now();
  std::this_thread::sleep_for(seconds(1));
  stream.stop();
  stream.settle();
  ASSERT_TRUE(wait_for_sent(flood, sent_before + 2 * count));
  flood.stop();
  const DatagramCounts counts = stream.counts(steady, Time::time_point::max());
  tell(std::to_string(count) + " packets replayed " + std::to_string(flood.sent() / count) +
       " times: " + text_of(counts));
  expect_all(counts);
  const Json drops = b().status()["drops"];
  tell(drops.dump());
  EXPECT_GT(drops["qpn_unknown"]["count"].get<uint64_t>(), count);
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayReplay, testing::ValuesIn(every_port()),
                         [](const auto& each) { return name_of(each.param); });

// ---- gateway icmp ----
// What strangers say of the line by ICMP, which is believed by nobody, and a line that really has
// become too small, which is told.

/// Of payload: the packet of a host's MTU.
constexpr size_t long_datagram = 1472;

class GatewayIcmp : public TwoGateways, public testing::WithParamInterface<bool> {
 protected:
  GatewayFile file() const { return {.is_wan_v6 = GetParam(), .wan_more = "paths = 4\n"}; }

  /// About A's packets, on each of its paths.
  std::vector<Frame> complaints_to_a() {
    Recorder recorder(sites().space(At::Between), "ma");
    expect_all(exchange({}, milliseconds(500)));
    return make_complaints(recorder.take());
  }
  /// What the kernel of A says of the way to B.
  std::string route_of_a() {
    return sites().space(At::GatewayA).run({"ip", "route", "get", to_b()}).out;
  }
  const char* to_b() const { return GetParam() ? site_b.wan_v6 : site_b.wan; }
};

TEST_P(GatewayIcmp, of_strangers_stops_nothing) {
  build({}, file(), good_line);
  const std::vector<Frame> complaints = complaints_to_a();
  EXPECT_EQ(complaints.size(), 4u * 6u);
  Flood flood(sites().space(At::Between), "ma", complaints, 2000);
  expect_all(exchange({.bytes = long_datagram}, milliseconds(1500)));
  flood.stop();
  EXPECT_GE(flood.sent(), complaints.size());
  expect_all(exchange({.bytes = long_datagram}, milliseconds(300)));
  const Json status = a().status();
  tell(status["wan"].dump());
  EXPECT_GT(status["wan"]["icmp_errors"], 0);
  EXPECT_EQ(status["wan"]["tx_too_big"], 0);
  EXPECT_EQ(status["wan"]["tx_lost"], 0);
  EXPECT_TRUE(status["alarms"].empty()) << status["alarms"];
  EXPECT_EQ(status["counters"]["epochs"], 1);
}

TEST_P(GatewayIcmp, that_the_kernel_believed_before_the_start_stops_nothing) {
  build({}, file(), good_line);
  std::vector<Frame> complaints = complaints_to_a();
  a().kill();
  // Somebody else of this machine, who learns a path MTU from what looks like his packets.
  Frame one = complaints.front();
  const Space& machine = sites().space(At::GatewayA);
  const int believer = machine.socket(GetParam() ? AF_INET6 : AF_INET, SOCK_DGRAM);
  const size_t quoted_udp = one.size() - 8;
  const auto port = static_cast<uint16_t>(one[quoted_udp] << 8 | one[quoted_udp + 1]);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  sockaddr_in v4 = socket_name("0.0.0.0", port);
  const auto* const name =
      GetParam() ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  ASSERT_EQ(bind(believer, name, GetParam() ? sizeof v6 : sizeof v4), 0);
  Flood flood(sites().space(At::Between), "ma", {one}, 100);
  const auto end = Time::now() + seconds(20);
  while (route_of_a().find("mtu") == std::string::npos && Time::now() < end) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  flood.stop();
  close(believer);
  EXPECT_NE(route_of_a().find("mtu"), std::string::npos) << route_of_a();
  tell(route_of_a());
  a().start();
  ASSERT_TRUE(a().wait_up()) << a().program().err_so_far();
  expect_all(exchange({.bytes = long_datagram}, milliseconds(500)));
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayIcmp, testing::Bool(),
                         [](const auto& each) { return each.param ? "ipv6" : "ipv4"; });

class GatewayLine : public TwoGateways {};

TEST_F(GatewayLine, that_becomes_too_small_in_the_middle_is_told_and_so_is_its_end) {
  const std::string control = folder().path("wan");
  Arguments line = good_line;
  line.insert(line.end(), {"--control", control});
  build({}, {.wan_more = "paths = 2\n"}, line);
  expect_all(exchange({.bytes = long_datagram}, milliseconds(300)));
  const auto carry_at_most = [&](const char* mtu) {
    const Outcome outcome = sites().space(At::Between).run({CW_WAN_PROGRAM, "set", control, mtu});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  };
  carry_at_most("mtu=1280B");
  for (Gateway* each : {&a(), &b()}) {
    for (const char* path : {"path=0", "path=1"}) {
      const std::string peer = each == &a() ? "peer=b " : "peer=a ";
      EXPECT_TRUE(each->program().wait_for("warning path_too_small " + peer + path))
          << each->program().err_so_far();
    }
    const Json status = each->status();
    tell(status["alarms"].dump());
    EXPECT_EQ(status["alarms"].size(), 2u);
    EXPECT_EQ(status["peers"][0]["paths"][1]["is_too_small"], true);
  }
  carry_at_most("mtu=9000B");
  for (Gateway* each : {&a(), &b()}) {
    EXPECT_TRUE(each->program().wait_for("path_fits")) << each->program().err_so_far();
  }
  std::this_thread::sleep_for(seconds(1));
  expect_all(exchange({.bytes = long_datagram}, milliseconds(500)));
  EXPECT_TRUE(a().status()["alarms"].empty());
}

TEST_F(GatewayLine, whose_interface_becomes_too_small_is_told) {
  build({}, {}, good_line);
  expect_all(exchange({.bytes = long_datagram}, milliseconds(300)));
  sites().space(At::GatewayA).must("ip link set dev wa mtu 1300");
  (void)exchange({.bytes = long_datagram}, milliseconds(300));
  EXPECT_TRUE(a().program().wait_for("warning too_big ")) << a().program().err_so_far();
  EXPECT_GT(a().status()["wan"]["tx_too_big"], 0);
  EXPECT_FALSE(a().status()["alarms"].empty());
  sites().space(At::GatewayA).must("ip link set dev wa mtu 1500");
  EXPECT_TRUE(a().program().wait_for("too_big_no_more")) << a().program().err_so_far();
  expect_all(exchange({.bytes = long_datagram}, milliseconds(500)));
}

}  // namespace

}  // namespace cw::lab
