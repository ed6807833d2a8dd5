// One of several paths dies in the middle of what hosts send, or loses long packets alone, and
// comes back: no host notices, and nothing but questions goes there meanwhile.
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "dataplane/wire/opcode.h"
#include "tests/integration/two_gateways.h"
#include "tests/lab/hostile.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Of the UDP source port's, the third.
constexpr uint16_t port = 4793, path = 2;
constexpr milliseconds rtt(25), found = rtt * 4 + milliseconds(100);

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
  /// 200 Mbit/s of hosts' packets.
  static DatagramsOptions stream() { return {.bytes = 1400, .per_second = 17'500}; }

  void expect_found_and_healed(const std::string& hole, const std::string& told) {
    Datagrams datagrams(sites(), stream());
    datagrams.start();
    std::this_thread::sleep_for(seconds(1));
    EXPECT_GT(watch(milliseconds(300)).data, 500u);
    set(hole);
    std::this_thread::sleep_for(found);
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

}  // namespace
}  // namespace cw::lab
