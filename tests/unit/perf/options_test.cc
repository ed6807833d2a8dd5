#include <gtest/gtest.h>

#include "tests/unit/perf/command_line.h"

namespace cw::perf {
namespace {
using namespace literals;

TEST(PerfOptions, a_server_needs_nothing_and_a_client_its_host) {
  const auto server = parse("server");
  ASSERT_TRUE(server) << server.error().sentence;
  EXPECT_EQ(server->mode, Mode::Server);
  EXPECT_EQ(server->udp_port, 18515);
  EXPECT_GE(server->key.size(), 16u);
  const auto client = parse("client 192.0.2.7");
  ASSERT_TRUE(client) << client.error().sentence;
  EXPECT_EQ(client->mode, Mode::Client);
  EXPECT_EQ(client->host, "192.0.2.7");
  EXPECT_EQ(client->parameters.size, 64_KiB);
  EXPECT_EQ(client->parameters.payload_bytes, 0u);  // the route decides
  EXPECT_FALSE(client->parameters.is_timed());
}

TEST(PerfOptions, everything_can_be_said) {
  const auto options = parse(
      "client h --op write --size 1MiB --count 7 --duration 3s --inflight 4 --policy go_back_n "
      "--policy-param window=64 --policy-param a=b=c --rate 500Mbit/s --overhead 30% --payload "
      "1024 "
      "--patience 40ms --seed 9 --verify --json --udp-port 4000");
  ASSERT_TRUE(options) << options.error().sentence;
  const Parameters& it = options->parameters;
  EXPECT_EQ(it.size, 1_MiB);
  EXPECT_EQ(it.count, 7u);
  EXPECT_EQ(it.duration, 3_s);
  EXPECT_EQ(it.in_flight, 4u);
  EXPECT_EQ(it.policy, "go_back_n");
  const std::vector<plugins::Setting> settings{{"window", "64"}, {"a", "b=c"}};
  EXPECT_EQ(it.settings, settings);
  EXPECT_EQ(it.rate, 500_Mbps);
  EXPECT_DOUBLE_EQ(it.overhead, 0.3);
  EXPECT_EQ(it.payload_bytes, 1024u);
  EXPECT_EQ(it.patience, 40_ms);
  EXPECT_EQ(it.seed, 9u);
  EXPECT_TRUE(it.verify);
  EXPECT_TRUE(options->is_json);
  EXPECT_EQ(options->udp_port, 4000);
}

TEST(PerfOptions, the_simulated_link_is_described_as_that_of_causeway_wan) {
  const auto options = parse("client --port sim --rtt 25ms --loss 1% --reorder 2%,1ms");
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_EQ(options->mode, Mode::Simulation);
  EXPECT_EQ(options->impairment.delay, Duration::from_us(12500));
  EXPECT_DOUBLE_EQ(options->impairment.loss, 0.01);
  EXPECT_DOUBLE_EQ(options->impairment.reorder, 0.02);
}

TEST(PerfOptions, a_link_that_changes_is_described_by_its_settings) {
  const auto options = parse(
      "client h --wan /run/wan --phase loss=0% --phase loss=1% --phase-messages 7 --warm-up 3");
  ASSERT_TRUE(options) << options.error().sentence;
  const Phases phases(options->phases);
  for (const uint64_t begin : {0u, 3u, 10u, 17u}) EXPECT_TRUE(phases.begins_at(begin)) << begin;
  for (const uint64_t within : {1u, 2u, 4u, 9u, 11u}) EXPECT_FALSE(phases.begins_at(within));
  const std::pair<uint64_t, int> settings[] = {{0, -1}, {2, -1}, {3, 0}, {9, 0}, {10, 1}, {17, 0}};
  for (const auto& [index, setting] : settings) EXPECT_EQ(phases.of(index), setting) << index;
  EXPECT_FALSE(Phases({}).begins_at(0));
  EXPECT_FALSE(parse("client h --wan /run/wan"));
  EXPECT_FALSE(parse("client h --phase loss=1%"));
  EXPECT_FALSE(parse("client h --wan /run/wan --phase loss=1% --phase-messages 0"));
  EXPECT_FALSE(parse("client --port sim --wan /run/wan --phase loss=1%"));
}

TEST(PerfOptions, each_end_of_a_line_over_dpdk_says_its_own) {
  for (const char* line : {"client h", "server"}) {
    const auto options = parse(std::string(line) +
                               " --port dpdk --device net_memif0,role=client --address 192.0.2.2 "
                               "--peer 192.0.2.1 --next-hop 02:00:00:00:00:01 --eal --no-huge");
    ASSERT_TRUE(options) << options.error().sentence;
    EXPECT_TRUE(options->is_over_dpdk);
    EXPECT_EQ(options->dpdk.device, "net_memif0,role=client");
    EXPECT_EQ(options->dpdk.peer, "192.0.2.1");
    EXPECT_EQ(options->dpdk.eal, "--no-huge");
  }
}

struct Mistake {
  const char* line;
  const char* sentence;  // a part of it
};

class PerfMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(PerfMistakes, are_told_by_the_option_and_what_it_accepts) {
  const auto options = parse(GetParam().line);
  ASSERT_FALSE(options) << GetParam().line;
  EXPECT_NE(options.error().sentence.find(GetParam().sentence), std::string::npos)
      << options.error().sentence;
}

INSTANTIATE_TEST_SUITE_P(
    All, PerfMistakes,
    testing::Values(
        Mistake{"", "subcommand"}, Mistake{"client", "where does the server run?"},
        Mistake{"client h --port sim", "leave \"h\" out"},
        Mistake{"client h --port rdma", "--port is \"rdma\" and must be udp, dpdk or sim"},
        Mistake{"client h --port dpdk", "--port dpdk needs --device"},
        Mistake{"server --port dpdk --device net_null0", "--port dpdk needs --address"},
        Mistake{"client h --device net_null0", "--device is of --port dpdk, and --port is udp"},
        Mistake{"server --port sim", "must be udp or dpdk"},
        Mistake{"client h --loss 1%", "--loss describes the simulated link"},
        Mistake{"client h --rtt 1ms", "--rtt describes the simulated link"},
        Mistake{"client --port sim --rtt 1ms --delay 1ms", "give --rtt or --delay, not both"},
        Mistake{"client h --op read", "--op is \"read\" and must be write"},
        Mistake{"client h --size 0", "--size is 0 and must be 1 to"},
        Mistake{"client h --size 1GiB", "--size is 1073741824 and must be 1 to 134217728"},
        Mistake{"client h --count 0", "--count is 0"},
        Mistake{"client h --inflight 257", "--inflight is 257 and must be 1 to 256"},
        Mistake{"client h --inflight 5000000000", "--inflight: 5000000000 is too large"},
        Mistake{"client h --payload 100", "--payload is 100 and must be 256 to 8192"},
        Mistake{"client h --rate 0bit/s", "--rate is 0 bit/s"},
        Mistake{"client h --rate fast", "--rate: \"fast\" is not a rate"},
        Mistake{"client h --duration 0s", "--duration must be longer"},
        Mistake{"client h --policy-param window", "\"window\" is not of the form NAME=VALUE"},
        Mistake{"client h --key-file /none",
                "--key-file: /none cannot be read (No such file or directory)"},
        Mistake{"client h --key-file /dev/null", "has 0 bytes and must have 16 at least"},
        Mistake{"server --udp-port 0", "--udp-port must be 1 to 65535"},
        Mistake{"server --count 3", "--help shows every option"}));

TEST(PerfOptions, the_help_shows_how_both_ends_are_started) {
  for (const char* line : {"--help", "client --help", "server --help"}) {
    const auto options = parse(line);
    ASSERT_TRUE(options);
    EXPECT_NE(options->help.find("causeway-perf client 192.0.2.7"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace cw::perf
