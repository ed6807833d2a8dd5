#include "tests/demo/options.h"

#include <gtest/gtest.h>

#include <vector>

namespace cw::demo {
namespace {

Result<Options> parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "causeway-demo");
  return parse_options(arguments);
}

TEST(DemoOptions, rdma_has_defaults_of_its_own) {
  const auto plain = parsed({}), rdma = parsed({"--rdma"});
  ASSERT_TRUE(plain && rdma);
  EXPECT_FALSE(plain->is_rdma);
  EXPECT_EQ(plain->rtt, Duration::from_ms(25));
  EXPECT_EQ(plain->policy, "selective_repeat");
  EXPECT_EQ(plain->seconds, 30);
  EXPECT_TRUE(rdma->is_rdma);
  EXPECT_EQ(rdma->rtt, Duration::from_ms(20));
  EXPECT_EQ(rdma->policy, "hybrid");
  EXPECT_EQ(rdma->seconds, 3);
  EXPECT_EQ(rdma->rounds, 3);
}

TEST(DemoOptions, rdma_takes_what_is_said_of_the_link_and_the_run) {
  const auto it = parsed({"--rdma", "--rtt", "60ms", "--loss", "3%", "--burst", "8", "--policy",
                          "erasure", "--seconds", "5", "--rounds", "1", "--mtu", "4200", "--guest",
                          "/somewhere", "--json"});
  ASSERT_TRUE(it) << it.error().sentence;
  EXPECT_EQ(it->rtt, Duration::from_ms(60));
  EXPECT_DOUBLE_EQ(it->loss, 0.03);
  EXPECT_EQ(it->policy, "erasure");
  EXPECT_EQ(it->seconds, 5);
  EXPECT_EQ(it->rounds, 1);
  EXPECT_EQ(it->mtu, 4200);
  EXPECT_EQ(it->guest, "/somewhere");
  EXPECT_TRUE(it->is_json);
}

TEST(DemoOptions, options_of_the_other_demo_are_refused_in_one_sentence) {
  for (const char* const each : {"--wan", "--seed", "--warm-up", "--udp-rate", "--file"}) {
    const auto it = parsed({"--rdma", each, "1"});
    ASSERT_FALSE(it) << each;
    EXPECT_EQ(it.error().sentence,
              std::string(each) + " has no meaning with --rdma; leave one of them out");
  }
  for (const char* const each : {"--rounds", "--guest"}) {
    const auto it = parsed({each, "1"});
    ASSERT_FALSE(it) << each;
    EXPECT_EQ(it.error().sentence, std::string(each) + " is for --rdma only; add it");
  }
}

TEST(DemoOptions, datagrams_leave_room_for_the_repair_of_the_policy) {
  const auto offered_mbps = [](std::vector<const char*> arguments) {
    const auto it = parsed(std::move(arguments));
    return it ? static_cast<double>(it->offered_udp().bps()) / 1e6 : 0;
  };
  EXPECT_NEAR(offered_mbps({}), 400, 0.1) << "four fifths of the link";
  // At most 8 repair slots for 32 of data, and 16 for 32.
  EXPECT_NEAR(offered_mbps({"--policy", "hybrid"}), 320, 0.1);
  EXPECT_NEAR(offered_mbps({"--policy", "erasure", "--rate", "100Mbit/s"}), 53.3, 0.1);
  EXPECT_NEAR(offered_mbps({"--policy", "erasure", "--udp-rate", "77Mbit/s"}), 77, 0.1);
}

TEST(DemoOptions, a_policy_is_one_that_the_gateways_have) {
  const auto none = parsed({"--rdma", "--policy", "hybird"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().sentence,
            "--policy: \"hybird\" is none; there are passthrough, go_back_n, selective_repeat, "
            "erasure, hybrid, layered_interleave");
  EXPECT_TRUE(parsed({"--policy", "erasure"}));
}

TEST(DemoOptions, numbers_have_bounds) {
  const auto none = parsed({"--rdma", "--rounds", "0"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().sentence, "--rounds: \"0\" is not a whole number from 1 to 100");
  EXPECT_FALSE(parsed({"--rdma", "--rounds", "101"}));
  EXPECT_TRUE(parsed({"--rdma", "--rounds", "100"}));
}

}  // namespace
}  // namespace cw::demo
