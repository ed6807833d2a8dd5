// Gateways whose sites have keys of their own: nothing that hosts say can be read on the line, and
// who sits there gets nothing in.
#include <algorithm>
#include <array>
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

const Arguments bad_line{"--rtt", "25ms", "--rate", "200Mbit/s", "--loss", "0.5%"};
const Arguments good_line{"--rtt", "25ms", "--rate", "200Mbit/s"};

/// Frames in which a host's packet for the other site can be read: its two addresses in a row.
size_t readable(const std::vector<Frame>& frames) {
  constexpr std::array<uint8_t, 8> addresses = {10, 1, 0, 1, 10, 2, 0, 1};
  return static_cast<size_t>(std::ranges::count_if(
      frames, [&](const Frame& frame) { return !std::ranges::search(frame, addresses).empty(); }));
}

class SealedGateways : public TwoGateways, public testing::WithParamInterface<Ports> {
 protected:
  static uint64_t dropped(const Json& status, const char* reason) {
    return status["drops"].contains(reason) ? status["drops"][reason]["count"].get<uint64_t>() : 0;
  }
};

TEST_P(SealedGateways, lose_nothing_and_let_nobody_read_it) {
  build_over(GetParam(), {.is_sealed = true}, bad_line);
  Recorder recorder(sites().space(At::Between), "ma");
  expect_all(exchange({}, seconds(1)));
  const std::vector<Frame> heard = recorder.take();
  EXPECT_GT(heard.size(), 500u);
  EXPECT_EQ(readable(heard), 0u) << "of " << heard.size();
  const Json status = a().status();
  EXPECT_EQ(status["seal"]["seals"], "all");
  EXPECT_GT(number(status["seal"], "sealed"), 500u);
  EXPECT_TRUE(status["peers"][0]["keys"]["has_keys"].get<bool>());
}

TEST_P(SealedGateways, go_on_after_one_was_killed) {
  build_over(GetParam(), {.is_sealed = true}, good_line);
  expect_all(exchange({}, milliseconds(300)));
  for (int i = 0; i < 2; ++i) {
    b().kill();
    b().start();
    ASSERT_TRUE(b().wait_up()) << b().program().err_so_far();
    ASSERT_TRUE(a().wait_up());
    ASSERT_TRUE(meet());
    expect_all(exchange({}, milliseconds(300)));
  }
}

TEST_P(SealedGateways, take_nothing_from_who_sits_on_the_line) {
  build_over(GetParam(), {.is_sealed = true}, good_line);
  Recorder recorder(sites().space(At::Between), "ma");
  expect_all(exchange({}, seconds(1)));
  Flood flood(sites().space(At::Between), "mb", make_hostile(recorder.take(), 3000, 20261128),
              10'000);
  const DatagramCounts counts = exchange({}, seconds(2));
  flood.stop();
  EXPECT_GT(counts.arrived, counts.sent * 8 / 10);
  expect_sound(counts);
  const Json status = b().status();
  tell("seal " + status["seal"].dump() + " drops " + status["drops"].dump());
  EXPECT_GT(dropped(status, "seal_forged") + dropped(status, "seal_key"), 100u);
  EXPECT_EQ(status["counters"]["epochs"], 1);
  expect_all(exchange({}, milliseconds(500)));
}

INSTANTIATE_TEST_SUITE_P(Over, SealedGateways, testing::ValuesIn(every_port()),
                         [](const auto& each) { return name_of(each.param); });

class SealedSites : public TwoGateways {};

TEST_F(SealedSites, say_whose_key_it_is_that_they_do_not_take) {
  prepare({}, {.is_sealed = true}, good_line);
  folder().write("b.key", "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=\n");  // 32 times 3
  a().start();
  b().start();
  EXPECT_FALSE(a().wait_up(seconds(3)));
  const auto why = a().status()["peers"][0]["why"].get<std::string>();
  EXPECT_NE(why.find("no keys: who asks at the peer's address has the public key "),
            std::string::npos)
      << why;
}

TEST_F(SealedSites, change_a_key_while_traffic_flows_with_both_known_for_a_while) {
  // 32 times 3, and what `causeway-key public` says of it.
  const std::string next_key = "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=\n";
  const std::string next_public = "Xf7dO2vUf2+ijuFdlp1bsOpTd01Ii9r53xxuASSz7yI=";
  prepare({}, {.is_sealed = true}, good_line);
  GatewayFile file{.is_sealed = true};
  std::string text = file.text(true, folder());
  const auto at = text.find("public_key = ", text.find("[[peer]]"));
  a().configure(text.insert(at, "next_public_key = \"" + next_public + "\"\n"));
  for (Gateway* each : {&a(), &b()}) each->start();
  for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
  expect_all(exchange({}, milliseconds(300)));
  (void)b().stop();
  folder().write("b.key", next_key);
  b().start();
  for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
  ASSERT_TRUE(meet());
  expect_all(exchange({}, milliseconds(300)));
}

}  // namespace
}  // namespace cw::lab
