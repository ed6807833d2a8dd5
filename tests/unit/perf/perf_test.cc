// What causeway-perf understands, does and says.
#include <gtest/gtest.h>

#include "control/json/json.h"
#include "control/perf/end/end.h"
#include "control/perf/end/receiver.h"
#include "control/perf/end/sender.h"
#include "control/perf/measure.h"
#include "control/perf/parameters.h"
#include "control/perf/report/figures.h"
#include "control/perf/report/words.h"
#include "dataplane/base/limits.h"
#include "dataplane/port/sim/network.h"
#include "policies/policies.h"
#include "tests/property/property.h"
#include "tests/unit/perf/command_line.h"

namespace cw::perf {
namespace {
using namespace literals;

// ---- options ----

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

TEST(PerfOptions, each_end_of_a_line_by_rnics_says_its_own) {
  for (const char* line : {"client h", "server"}) {
    const auto options = parse(std::string(line) +
                               " --port verbs --device rxe0 --address 192.0.2.2 --peer 192.0.2.1");
    ASSERT_TRUE(options) << options.error().sentence;
    EXPECT_EQ(options->line_kind, LineKind::Verbs);
    EXPECT_EQ(options->line.device, "rxe0");
  }
}

TEST(PerfOptions, each_end_of_a_line_by_af_xdp_says_its_own) {
  for (const char* line : {"client h", "server"}) {
    const auto options =
        parse(std::string(line) + " --port xdp --device eth0 --address 192.0.2.2 --peer 192.0.2.1");
    ASSERT_TRUE(options) << options.error().sentence;
    EXPECT_EQ(options->line_kind, LineKind::Xdp);
    EXPECT_EQ(options->line.device, "eth0");
  }
}

TEST(PerfOptions, each_end_of_a_line_over_dpdk_says_its_own) {
  for (const char* line : {"client h", "server"}) {
    const auto options = parse(std::string(line) +
                               " --port dpdk --device net_memif0,role=client --address 192.0.2.2 "
                               "--peer 192.0.2.1 --next-hop 02:00:00:00:00:01 --eal --no-huge");
    ASSERT_TRUE(options) << options.error().sentence;
    EXPECT_EQ(options->line_kind, LineKind::Dpdk);
    EXPECT_EQ(options->line.device, "net_memif0,role=client");
    EXPECT_EQ(options->line.peer, "192.0.2.1");
    EXPECT_EQ(options->line.eal, "--no-huge");
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
        Mistake{"client h --port rdma",
                "--port is \"rdma\" and must be udp, dpdk, xdp, verbs or sim"},
        Mistake{"client h --port dpdk", "--port dpdk needs --device"},
        Mistake{"client h --port xdp", "--port xdp needs --device"},
        Mistake{"client h --port verbs --device rxe0", "--port verbs needs --address"},
        Mistake{"server --port dpdk --device net_null0", "--port dpdk needs --address"},
        Mistake{"client h --device net_null0",
                "--device is of --port dpdk, xdp and verbs, and --port is udp"},
        Mistake{"server --port sim", "must be udp, dpdk, xdp or verbs"},
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

// ---- parameters ----

Parameters example() {
  Parameters it;
  it.policy = "go_back_n";
  it.settings = {{"window", "7"}};
  it.payload_bytes = 1400;
  it.client_udp_port = 4000;
  return it;
}

TEST(PerfParameters, arrive_as_they_were_sent) {
  Parameters sent = example();
  sent.duration = Duration::from_ms(1500);
  sent.verify = true;
  const auto heard = parameters_of(Json::parse(json_of(sent).dump()));
  ASSERT_TRUE(heard) << heard.error().sentence;
  EXPECT_EQ(json_of(*heard), json_of(sent));
  EXPECT_EQ(heard->settings, sent.settings);
  EXPECT_EQ(heard->duration, sent.duration);
}

TEST(PerfParameters, are_refused_when_anything_is_missing_or_of_another_type) {
  const Json whole = json_of(example());
  for (const auto& [name, value] : whole.items()) {
    Json without = whole, twisted = whole;
    without.erase(name);
    twisted[name] = Json{{"a", 1}};
    EXPECT_FALSE(parameters_of(without)) << name;
    EXPECT_FALSE(parameters_of(twisted)) << name;
  }
}

TEST(PerfParameters, are_checked_where_they_are_heard) {
  Json greedy = json_of(example());
  greedy["size"] = uint64_t{1} << 60;
  const auto heard = parameters_of(greedy);
  ASSERT_FALSE(heard);
  EXPECT_NE(heard.error().sentence.find("--size"), std::string::npos) << heard.error().sentence;
  Json endless = json_of(example());
  endless["patience_ns"] = INT64_MAX;
  EXPECT_FALSE(parameters_of(endless));
}

// A stranger's {"finish":"soon"} ended a server with --keep by an exception.
TEST(PerfWords, are_numbers_where_they_should_be_and_nothing_else) {
  const Json said = Json::parse(R"({"finish": 7, "whole": true, "refused": "why", "wrong": -1})");
  EXPECT_EQ(count_in(said, "finish"), 7u);
  for (const char* name : {"whole", "refused", "wrong", "nothing"}) {
    EXPECT_EQ(count_in(said, name), std::nullopt) << name;
  }
}

RC_GTEST_PROP(PerfParameters, that_pass_the_check_make_a_stream_that_holds_what_is_in_flight, ()) {
  Parameters it = example();
  it.in_flight = *rc::gen::inRange<uint32_t>(0, 300);
  it.size = Bytes(*rc::gen::inRange<uint64_t>(0, uint64_t{1} << *rc::gen::inRange(1, 34)));
  it.payload_bytes = *rc::gen::inRange<uint32_t>(200, limits::payload_bytes_max + 100);
  if (!check(it)) return;
  const sdr::StreamConfig config = stream_config(it);
  RC_ASSERT(sdr::check(config).has_value());
  RC_ASSERT(config.messages >= 2 * it.in_flight);
  RC_ASSERT(config.message_bytes_max() >= it.size.count());
}

// ---- What strangers may say to causeway-perf: none of it ends a server or a client ----

Parameters example_word() {
  Parameters it;
  it.policy = "go_back_n";
  it.payload_bytes = 1400;
  return it;
}

Json word(const std::string& line) { return word_in(line).value(); }

TEST(PerfWords, are_objects) {
  EXPECT_FALSE(word_in(""));
  EXPECT_FALSE(word_in("7"));
  EXPECT_FALSE(word_in("[]"));
  EXPECT_FALSE(word_in(R"({"finish": )"));
  EXPECT_FALSE(word_in(std::string(60000, '[')));
  EXPECT_TRUE(word_in("{}"));
}

TEST(PerfWords, are_heard_as_they_were_said) {
  EXPECT_EQ(json_of(*parameters_in(word(line_of(hello(example_word()))))), json_of(example_word()));
  EXPECT_EQ(finish_in(word(line_of(finish(7, true)))), 7u);
  EXPECT_EQ(finish_in(word(line_of(finish(7, false)))), 0u);
  EXPECT_TRUE(consent_in(ready()));
  EXPECT_EQ(consent_in(refusal("no")).error().sentence, "the server refuses: no");
}

TEST(PerfWords, of_another_type_than_ours_say_nothing) {
  EXPECT_EQ(finish_in(Json::object()), std::nullopt);
  EXPECT_EQ(finish_in(word(R"({"finish": "all", "whole": true})")), 0u);
  EXPECT_EQ(finish_in(word(R"({"finish": 7, "whole": "yes"})")), 0u);
  EXPECT_EQ(finish_in(word(R"({"finish": -7, "whole": true})")), 0u);
  EXPECT_FALSE(parameters_in(word(R"({"hello": 7})")));
  EXPECT_FALSE(consent_in(word(R"({"refused": 7})")));
}

TEST(PerfWords, give_figures_that_can_be_shown_or_none) {
  const Json right = {
      {"whole", 1u}, {"incomplete", 0u}, {"bytes_wrong", 0u}, {"drops", Json{{"duplicate", 2u}}}};
  EXPECT_EQ(figures_in(report(right)), right);
  for (const auto& [name, value] : right.items()) {
    Json without = right, twisted = right;
    without.erase(name);
    twisted[name] = "many";
    EXPECT_TRUE(figures_in(report(without)).is_null()) << name;
    EXPECT_TRUE(figures_in(report(twisted)).is_null()) << name;
  }
  Json twisted = right;
  twisted["drops"]["duplicate"] = -1;
  EXPECT_TRUE(figures_in(report(twisted)).is_null());
  EXPECT_TRUE(figures_in(Json::object()).is_null());
}

TEST(PerfWords, quote_arguments_that_are_no_text) {
  const auto heard = consent_in(word(line_of(refusal("--policy: \xff"))));
  EXPECT_EQ(heard.error().sentence, "the server refuses: --policy: \xef\xbf\xbd");
}

TEST(PerfWords, bear_numbers_that_fit) {
  const std::pair<const char*, Json> cases[] = {
      {"inflight", uint64_t{1} << 32 | 16}, {"payload", 1400.5}, {"size", 1e300},
      {"client_udp_port", 65536 + 4000},    {"count", -1},       {"patience_ns", INT64_MAX}};
  for (const auto& [name, value] : cases) {
    Json said = json_of(example_word());
    said[name] = value;
    EXPECT_FALSE(parameters_in({{"hello", said}})) << name;
  }
}

// ---- A byte that is not what was sent is found out ----

constexpr uint64_t messages = 20;

/// Sends messages of one pattern to a receiver that expects another; the bytes it calls wrong.
uint64_t wrong_bytes(const std::string& policy, double loss, uint64_t sent_seed,
                     uint64_t expected_seed) {
  plugins::Registry policies;
  for (const cw_policy_ops* each : policy::all()) EXPECT_TRUE(policies.add(*each));
  EndOptions options;
  options.parameters.count = messages;
  options.parameters.payload_bytes = 1024;
  options.parameters.policy = policy;
  options.parameters.verify = true;
  options.parameters.patience = 20_ms;
  options.key = "of this test and nobody else's";
  Prng prng(1);
  options.random = sdr::RandomSource::of(prng);

  SimNetwork network({.seed = 3});
  SimPort &near = network.add_port(), &far = network.add_port();
  network.join(near, far, {.loss = loss, .delay = 1_ms});
  auto source = End::make(near, policies, options, network.now());
  options.role = Role::Receiver;
  auto sink = End::make(far, policies, options, network.now());
  EXPECT_TRUE(source && sink);
  const Payload sent(options.parameters.size, sent_seed);
  const Payload expected(options.parameters.size, expected_seed);
  Sender sender((*source)->link(), options.parameters, sent);
  Receiver receiver((*sink)->link(), options.parameters, expected);
  while (receiver.received() < messages && network.now() < Instant() + 60_s) {
    network.advance_to(network.now() + 20_us);
    (*source)->turn(network.now());
    (*sink)->turn(network.now());
    sender.turn(network.now());
    receiver.turn(network.now());
  }
  EXPECT_EQ(receiver.received(), messages);
  EXPECT_EQ(receiver.incomplete() > 0, policy == "passthrough" && loss > 0);
  return receiver.bytes_wrong();
}

constexpr uint64_t all_bytes = messages * (64 << 10);

TEST(PerfVerify, a_message_as_it_was_sent_has_no_wrong_byte) {
  EXPECT_EQ(wrong_bytes("selective_repeat", 0.02, 1, 1), 0u);
  EXPECT_EQ(wrong_bytes("passthrough", 0.02, 1, 1), 0u);
}

TEST(PerfVerify, a_whole_message_is_compared_everywhere) {
  // Random bytes are alike once in 256.
  const uint64_t wrong = wrong_bytes("selective_repeat", 0.02, 1, 2);
  EXPECT_GT(wrong, all_bytes * 99 / 100);
  EXPECT_LT(wrong, all_bytes);
}

TEST(PerfVerify, of_a_message_with_holes_what_is_said_to_be_in_place_is_compared) {
  const uint64_t wrong = wrong_bytes("passthrough", 0.02, 1, 2);
  EXPECT_GT(wrong, all_bytes / 4);
  EXPECT_LT(wrong, all_bytes * 95 / 100);
}

// ---- Both ends in one process, as `causeway-perf client --port sim` has them ----

/// Runs the command line; the report without the seconds that real time takes.
Json measure(const std::string& arguments, bool is_stopped = false) {
  auto options = parse("client --port sim " + arguments);
  EXPECT_TRUE(options) << options.error().sentence;
  plugins::Registry policies;
  for (const cw_policy_ops* each : policy::all()) EXPECT_TRUE(policies.add(*each));
  if (!options->plugin.empty()) {
    EXPECT_TRUE(policies.load(options->plugin));
  }
  if (options->parameters.policy.empty()) options->parameters.policy = "selective_repeat";
  const StopFlag stop = is_stopped;
  const auto outcome = simulate(*options, policies, stop);
  if (!outcome) return {{"error", outcome.error().sentence}};
  return outcome->report;
}

TEST(PerfSimulation, every_message_arrives_whole_over_a_lossy_link) {
  const Json it = measure("--rtt 25ms --loss 1% --count 300 --verify");
  ASSERT_EQ(it["ended"], "done") << it;
  EXPECT_EQ(it["posted"], 300);
  EXPECT_EQ(it["done"], 300);
  EXPECT_EQ(it["arrived_whole"], 300);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_EQ(it["verified"], true);
  EXPECT_GT(it["resends"], 0);
  EXPECT_GT(it["link"]["lost"], 0);
  // A round trip is the least; the figures are in order.
  EXPECT_GE(it["completion_us"]["p50"], 25'000.0);
  EXPECT_LE(it["completion_us"]["p50"], it["completion_us"]["p99"]);
  EXPECT_LE(it["completion_us"]["p99"], it["completion_us"]["p999"]);
  EXPECT_LE(it["completion_us"]["p999"], it["completion_us"]["max"]);
}

TEST(PerfSimulation, a_seed_decides_everything) {
  const std::string arguments = "--rtt 10ms --loss 2% --reorder 1%,2ms --count 100 --seed ";
  const Json first = measure(arguments + "7"), again = measure(arguments + "7");
  EXPECT_EQ(first, again);
  EXPECT_NE(first["trace_hash"], measure(arguments + "8")["trace_hash"]);
}

TEST(PerfSimulation, a_policy_that_codes_gets_its_blocks_and_resends_nearly_nothing) {
  for (const char* policy : {"erasure", "hybrid", "layered_interleave"}) {
    const Json it = measure(
        "--rtt 20ms --loss 1% --rate 500Mbit/s --size 1MiB --inflight 1 "
        "--count 30 --verify --policy " +
        std::string(policy));
    EXPECT_EQ(it["arrived_whole"], 30) << policy;
    EXPECT_EQ(it["bytes_wrong"], 0) << policy;
    EXPECT_GT(it["repairs"], 30 * 256 / 32) << policy;  // a shard of each row of 32
    EXPECT_LT(it["resends"], 30) << policy;             // 77 slots were lost
  }
}

TEST(PerfSimulation, a_message_shorter_than_a_block_is_coded_too) {
  const Json it = measure("--rtt 20ms --loss 5% --size 1KiB --count 300 --verify --policy erasure");
  EXPECT_EQ(it["arrived_whole"], 300);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_GE(it["repairs"], 300);
}

TEST(PerfSimulation, a_perfect_link_carries_the_rate_and_resends_nothing) {
  const Json it = measure("--rtt 1ms --rate 500Mbit/s --size 1MiB --count 100");
  EXPECT_EQ(it["resends"], 0);
  // Headers and control packets take their share.
  EXPECT_GT(it["bandwidth_mbps"], 470.0);
  EXPECT_LE(it["bandwidth_mbps"], 500.0);
}

TEST(PerfSimulation, what_repairs_nothing_leaves_holes_that_are_counted) {
  const Json it = measure("--policy passthrough --loss 1% --count 200 --patience 20ms --verify");
  ASSERT_EQ(it["ended"], "done") << it;
  EXPECT_GT(it["arrived_with_holes"], 0);
  EXPECT_EQ(it["arrived_whole"].get<int>() + it["arrived_with_holes"].get<int>(), 200);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_EQ(it["resends"], 0);
}

TEST(PerfSimulation, a_time_can_be_given_instead_of_a_count) {
  const Json it = measure("--rtt 1ms --duration 200ms --rate 100Mbit/s");
  EXPECT_GE(it["seconds"], 0.2);
  EXPECT_LT(it["seconds"], 0.4);
  EXPECT_EQ(it["posted"], it["arrived_whole"]);
}

TEST(PerfSimulation, a_plugin_behaves_as_the_policy_it_was_built_from) {
  const std::string arguments = "--rtt 10ms --loss 1% --count 50 --policy selective_repeat";
  const Json built_in = measure(arguments);
  const Json plugin = measure(arguments + " --plugin " + CW_PLUGIN);
  EXPECT_EQ(plugin["trace_hash"], built_in["trace_hash"]);
}

TEST(PerfSimulation, what_was_measured_is_told_when_it_is_stopped) {
  const Json it = measure("--count 1000000", /*is_stopped=*/true);
  EXPECT_EQ(it["ended"], "interrupted");
  EXPECT_EQ(it["posted"], 0);
  EXPECT_NE(table_of(it).find("interrupted"), std::string::npos);
}

TEST(PerfSimulation, a_policy_or_parameter_that_does_not_exist_is_refused) {
  const auto policy = measure("--policy selective_repaet")["error"].get<std::string>();
  EXPECT_NE(policy.find("selective_repeat"), std::string::npos) << policy;
  const auto seat = measure("--policy csa_ud")["error"].get<std::string>();
  EXPECT_NE(seat.find("policy csa_ud refused to start: csa_ud: serves endpoints only"),
            std::string::npos)
      << seat;
  const auto parameter = measure("--policy-param window=1")["error"].get<std::string>();
  EXPECT_NE(parameter.find("window"), std::string::npos) << parameter;
}

}  // namespace

}  // namespace cw::perf
