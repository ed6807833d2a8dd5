// What gateways say and take: accounts that add up, how little they need when idle, and what they
// say when the way or the files are wrong.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/two_gateways.h"
#include "tests/lab/pings.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Json = nlohmann::json;

constexpr double turns_per_second_idle = 2500;

class GatewayState : public TwoGateways {
 protected:
  static uint64_t number(const Json& json, const char* key) { return json.at(key).get<uint64_t>(); }
  static uint64_t dropped(const Json& status, std::initializer_list<const char*> reasons) {
    uint64_t sum = 0;
    for (const char* reason : reasons) {
      if (status["drops"].contains(reason)) sum += number(status["drops"][reason], "count");
    }
    return sum;
  }

  /// Every packet from the hosts has one fate, and so has every frame from the peer.
  static void expect_balanced(const Json& status) {
    const Json &counters = status["counters"], &lane = status["classes"][0];
    EXPECT_EQ(number(status["lan"], "rx_packets"), number(counters, "lan_in"));
    EXPECT_EQ(number(counters, "lan_in"),
              number(counters, "lan_sent") +
                  dropped(status,
                          {"lan_malformed", "lan_unroutable", "no_route", "lan_too_big", "no_class",
                           "ttl_expired", "peer_down", "wan_queue_full", "wan_queue_codel",
                           "wan_queue_old", "wan_places_full", "stream_broken"}) +
                  number(lane, "waiting"));
    EXPECT_EQ(number(lane, "sent"), number(counters, "lan_sent"));
    const Json& in = lane["received"];
    EXPECT_EQ(number(in, "seen"), number(in, "out") + number(in, "held") + number(in, "queued") +
                                      number(in, "dropped"));
    EXPECT_GE(number(in, "dropped"), number(in, "late") + number(in, "duplicate"));
    EXPECT_EQ(number(in, "out"), number(counters, "frames_out"));
    EXPECT_EQ(number(in, "out") + number(counters, "icmp_sent"),
              number(status["lan"], "tx_packets") + number(status["lan"], "tx_lost"));
  }

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

TEST_F(GatewayState, accounts_add_up_when_there_is_too_much) {
  build({}, {.rate = "20 Mbit/s", .classes = "[[class]]\nname = \"all\"\n"},
        {"--rtt", "25ms", "--loss", "1%"});
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
  EXPECT_EQ(number(received, "out"), counts.arrived);
  EXPECT_EQ(counts.lost(), full + number(at_a["lan"], "rx_dropped") + given_up);
}

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
