#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "control/json/json.h"
#include "tests/rdma/rnic_wan.h"

namespace cw::lab {
namespace {

struct Both {
  Outcome a, b;
};

Both run(VirtualHost& a, const std::string& at_a, VirtualHost& b, const std::string& at_b) {
  constexpr std::chrono::seconds most(90);
  const int of_b = b.start(at_b), of_a = a.start(at_a);
  Both both{a.finish(of_a, most), {}};
  both.b = b.finish(of_b, most);
  return both;
}

// Who takes what comes waits for the end of it, so that its gateway stays as long.
TEST_F(RnicWan, carries_what_hosts_send_without_a_loss) {
  const std::string stay =
      "for ((i = 0; i < 600; ++i)); do [[ -e /tmp/over ]] && break; sleep 0.1; "
      "done";
  const std::string take =
      "rm -f /tmp/over\nbusybox nc -l -p 5000 </dev/null | sha256sum\ntouch /tmp/over\n" + stay;
  const std::string send =
      "head -c 3000000 /dev/urandom >/tmp/file\nsha256sum </tmp/file\n"
      "busybox ping -q -c 200 -i 0.02 10.50.2.1 | grep -q '200 packets received'\n"
      "for ((i = 0; i < 50; ++i)); do cat /tmp/file 2>/dev/null >/dev/tcp/10.50.2.1/5000 && exit "
      "0; "
      "sleep 0.2; done; exit 8";
  const Both both =
      run(a(), with_gateway(inside_a, inside_b, send), b(), with_gateway(inside_b, inside_a, take));
  EXPECT_EQ(both.a.status, 0) << both.a.out << both.a.err;
  EXPECT_EQ(both.b.status, 0) << both.b.out << both.b.err;
  EXPECT_EQ(both.a.out.substr(0, 64), both.b.out.substr(0, 64)) << "every byte";
  for (const Outcome* each : {&both.a, &both.b}) {
    const Json status = status_of(*each);
    ASSERT_TRUE(status.is_object()) << each->out << each->err;
    expect_sound_rnic(status);
  }
  const Json sent = status_of(both.a)["counters"];
  const Json came = status_of(both.b)["counters"];
  EXPECT_GT(sent["resends_sent"].get<uint64_t>() + came["slots_rebuilt"].get<uint64_t>(), 0u)
      << "the line has lost packets";
}

// Every message ends by repair or resends of ours; its bytes are compared where they were placed.
TEST_F(RnicWan, programs_write_into_each_others_memory) {
  const std::string perf = CW_PERF_PROGRAM;
  const std::string server =
      "exec timeout 80 " + perf + " server" + rnic_options(inside_b, inside_a);
  const std::string client =
      "sleep 2\nexec timeout 80 " + perf + " client 10.2.0.2" + rnic_options(inside_a, inside_b) +
      " --policy erasure --size 256KiB --count 60 --inflight 4 --rate 20Mbit/s --verify --json";
  const Both both = run(a(), client, b(), server);
  EXPECT_EQ(both.a.status, 0) << both.a.out << both.a.err;
  EXPECT_EQ(both.b.status, 0) << both.b.out << both.b.err;
  const Json report = Json::parse_or_null(both.a.out);
  ASSERT_TRUE(report.is_object()) << both.a.out;
  EXPECT_EQ(report["done"], 60);
  EXPECT_EQ(report["bytes_wrong"], 0);
  EXPECT_EQ(report["server"]["whole"], 60);
  EXPECT_EQ(report["client"]["port"]["copies"], report["client"]["repairs"])
      << "and of nothing else";
  for (const char* end : {"client", "server"}) {
    for (const char* count : {"port.tx_lost", "port.rx_starved", "port.queues_broken"}) {
      EXPECT_FALSE(report[end]["drops"].contains(count)) << report[end].dump();
    }
  }
}

// Hosts that know nothing of it, each behind the gateway of its own machine.
TEST_F(RnicWan, hosts_behind_it_have_every_byte_right_and_send_nothing_again) {
  sites().route_by_rnics("hybrid", {.rtt = "20ms", .rate = "20Mbit/s"});
  const std::string program =
      std::string("CW_DEVICE=") + sites().device() + " exec timeout 120 " + CW_CONTENTS_PROGRAM;
  constexpr std::chrono::seconds most(130);
  const auto retransmits = [] { return a().retransmits() + b().retransmits(); };
  const uint64_t before = retransmits();
  const int serving = b().start(program);
  ASSERT_TRUE(b().wait_for_listeners(1));
  const Outcome asked = a().run(program + " " + sites().address_of_b() + " 48", most);
  const Outcome served = b().finish(serving, most);
  EXPECT_EQ(asked.status, 0) << asked.out << asked.err;
  EXPECT_EQ(served.status, 0) << served.out << served.err;
  EXPECT_EQ(retransmits() - before, 0u);
  for (VirtualHost* each : {&a(), &b()}) {
    const Outcome status = each->run(
        "rm -f /tmp/status.json; kill -USR1 $(cat /tmp/gw.pid); "
        "until cat /tmp/status.json 2>/dev/null; do sleep 0.1; done",
        most);
    expect_sound_rnic(status_of(status));
  }
}

}  // namespace
}  // namespace cw::lab
