// Gateways that die and lines that go dark: traffic flows again, and nothing of an earlier life
// comes out. How soon is told here and promised of virtual time (tests/sim/gateway/recovery_test):
// a gateway that gets no core cannot hurry.
#include <net/if.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/two_gateways.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Json = nlohmann::json;

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

class GatewayKills : public GatewayFaults, public testing::WithParamInterface<Wan> {};

// Both ways, since a gateway that was killed leaves what it had received as well.
TEST_P(GatewayKills, either_gateway_may_be_killed_and_started_again) {
  build({}, {.is_over_dpdk = GetParam() == Wan::Dpdk},
        {"--rtt", "25ms", "--loss", "1%", "--rate", "200Mbit/s"});
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

INSTANTIATE_TEST_SUITE_P(Over, GatewayKills, testing::ValuesIn(every_wan()),
                         [](const auto& each) { return name_of(each.param); });

TEST_F(GatewayFaults, a_gateway_that_is_asked_to_end_first_delivers_what_it_has) {
  build({}, {}, good_line);
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

struct Blackout {
  const char* name;
  milliseconds length;
  Wan wan = Wan::Sockets;
  friend void PrintTo(const Blackout& it, std::ostream* out) { *out << it.name; }
};
class GatewayBlackouts : public GatewayFaults, public testing::WithParamInterface<Blackout> {};

std::vector<Blackout> blackouts() {
  std::vector<Blackout> all = {{"100_ms", milliseconds(100)}, {"1_s", milliseconds(1000)}};
#ifdef CW_HAVE_DPDK
  all.push_back({"1_s_over_dpdk", milliseconds(1000), Wan::Dpdk});
#endif
  return all;
}

TEST_P(GatewayBlackouts, are_survived) {
  const milliseconds length = GetParam().length;
  build({}, {.is_over_dpdk = GetParam().wan == Wan::Dpdk}, good_line);
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

INSTANTIATE_TEST_SUITE_P(Of, GatewayBlackouts, testing::ValuesIn(blackouts()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace cw::lab
