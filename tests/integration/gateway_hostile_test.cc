// Strangers at the WAN port: garbage, truncated, altered and replayed packets, as many as they can.
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/two_gateways.h"
#include "tests/lab/hostile.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Json = nlohmann::json;

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
  Wan wan = Wan::Sockets;
  friend void PrintTo(const Flooded& it, std::ostream* out) { *out << it.name; }
};
class GatewayFlood : public GatewayHostile, public testing::WithParamInterface<Flooded> {};

std::vector<Flooded> floods() {
  std::vector<Flooded> all = {{"ipv4"}, {"ipv6", true}};
#ifdef CW_HAVE_DPDK
  all.push_back({"dpdk", false, Wan::Dpdk});
#endif
  return all;
}

TEST_P(GatewayFlood, of_strangers_neither_gets_anything_in_nor_keeps_others_out) {
  const bool is_over_dpdk = GetParam().wan == Wan::Dpdk;
  build({}, {.is_wan_v6 = GetParam().is_v6, .is_over_dpdk = is_over_dpdk},
        {"--rtt", "25ms", "--rate", "200Mbit/s"});
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

INSTANTIATE_TEST_SUITE_P(Over, GatewayFlood, testing::ValuesIn(floods()),
                         [](const auto& each) { return std::string(each.param.name); });

class GatewayReplay : public GatewayHostile, public testing::WithParamInterface<Wan> {};

// Of the epoch before, every packet as it was, from the first moment of the next one on.
TEST_P(GatewayReplay, of_an_earlier_life_is_worth_nothing) {
  build({}, {.is_over_dpdk = GetParam() == Wan::Dpdk}, {"--rtt", "25ms", "--rate", "200Mbit/s"});
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

INSTANTIATE_TEST_SUITE_P(Over, GatewayReplay, testing::ValuesIn(every_wan()),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace cw::lab
