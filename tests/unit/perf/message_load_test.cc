// `causeway-perf alltoall` and `allreduce`: what they are told, and what hosts do to each other.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "control/perf/message/loads.h"
#include "control/perf/message/options.h"
#include "policies/policies.h"

namespace cw::perf {
namespace {

using namespace literals;

Result<MessageOptions> parse_load(std::vector<std::string> words) {
  std::vector<char*> arguments;
  words.insert(words.begin(), "causeway-perf");
  for (std::string& word : words) arguments.push_back(word.data());
  return parse_message_load(arguments);
}
std::string mistake_of_load(const std::vector<std::string>& words) {
  const auto options = parse_load(words);
  return options ? "" : options.error().sentence;
}

TEST(MessageLoadOptions, have_units_and_are_named_in_mistakes) {
  const auto options = parse_load({"alltoall", "--load", "80%", "--size", "1MiB", "--paths", "1",
                                   "--policy-param", "deviations=8", "--seed", "7"});
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_EQ(options->load, 0.8);
  EXPECT_EQ(options->size.count(), 1u << 20);
  EXPECT_EQ(options->settings.at(0).second, "8");
  EXPECT_EQ(options->policy, "") << "csa_ud, or that of the plugin";
  EXPECT_TRUE(mistake_of_load({"alltoall", "--load", "much"}).starts_with("--load: "));
  EXPECT_EQ(mistake_of_load({"alltoall", "--size", "0B"}),
            "--size: a message has at least one byte");
  EXPECT_EQ(mistake_of_load({"alltoall", "--policy-param", "deviations"}),
            "--policy-param: \"deviations\" is not of the form NAME=VALUE");
  EXPECT_EQ(mistake_of_load({"allreduce", "--hosts", "8", "--size", "100B"}),
            "--size: of an all-reduce of 8 hosts it must be a multiple of 32");
  EXPECT_TRUE(is_message_load("allreduce"));
  EXPECT_FALSE(is_message_load("allgather"));
}

TEST(MessageLoadOptions, over_sockets_are_of_a_member_at_its_place) {
  const std::vector<std::string> right = {"alltoall",  "--port",    "udp",   "--group",
                                          "239.7.7.7", "--members", "a,b,c", "--rank",
                                          "2",         "--delay",   "10ms"};
  const auto options = parse_load(right);
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_TRUE(options->is_udp);
  EXPECT_EQ(options->hosts, 3u);
  EXPECT_EQ(options->paths, 1u);
  EXPECT_EQ(options->place.rank, 2u);
  EXPECT_EQ(options->rate, 1_Gbps);
  EXPECT_EQ(options->delay, 10_ms);
  const auto mistake_with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = right;
    words.insert(words.end(), more.begin(), more.end());
    return mistake_of_load(words);
  };
  EXPECT_EQ(mistake_with({"--load", "10%"}),
            "--port udp: only for alltoall in steps, without --load");
  EXPECT_EQ(mistake_of_load({"alltoall", "--port", "udp", "--members", "a,b"}),
            "--group: name the multicast address of the group");
  EXPECT_EQ(mistake_of_load({"alltoall", "--port", "udp", "--members", "a"}),
            "--members: 1 named, 2 to " + std::to_string(limits::group_members_max) + " accepted");
  EXPECT_FALSE(parse_load({"allreduce", "--port", "udp"}));
}

/// A small world, in which a little is lost, and what came of a load there.
template <class Run>
LoadTally run_small(const Run& run, MessageOptions options) {
  const auto find = [](std::string_view name) {
    for (const cw_policy_ops* each : policy::all()) {
      if (each->name == name) return each;
    }
    return policy::all().front();
  };
  const cw_policy_ops& policy = *find("nack_fixed");
  std::vector<double> params;
  for (uint32_t i = 0; i < policy.param_count; ++i) params.push_back(policy.params[i].initial);
  options.hosts = 4;
  group::MessageWorldOptions world;
  world.shape.hosts = 4;
  world.policy = {&policy, params};
  world.fallback = {find("passthrough"), {}};
  const auto made = group::MessageWorld::make(world);
  EXPECT_TRUE(made && (*made)->join());
  (*made)->network().set_all_impairments({.loss = 0.01});
  const StopFlag stop = false;
  return run(**made, options, stop);
}

TEST(MessageLoads, by_chance_bring_all_messages_and_time_nine_of_ten) {
  MessageOptions options;
  options.load = 0.5;
  options.messages = 50;
  const LoadTally tally = run_small(run_by_chance, options);
  EXPECT_EQ(tally.why, "");
  EXPECT_EQ(tally.message_us.size(), 180u);
  EXPECT_EQ(tally.bytes_wrong, 0u);
  for (const double us : tally.message_us)
    EXPECT_GT(us, 5.0) << "less than a line takes for 64 KiB";
}

TEST(MessageLoads, in_steps_bring_one_from_each_to_each) {
  MessageOptions options;
  options.rounds = 3;
  const LoadTally tally = run_small(run_in_steps, options);
  EXPECT_EQ(tally.why, "");
  EXPECT_EQ(tally.step_us.size(), 3u);
  EXPECT_EQ(tally.message_us.size(), 3u * 4 * 3);
  EXPECT_EQ(tally.bytes_wrong, 0u);
}

TEST(MessageLoads, an_all_reduce_has_the_sum_of_all_beside_other_messages) {
  MessageOptions options;
  options.size = Bytes(64 << 10);
  options.rounds = 2;
  options.background = 0.2;
  const LoadTally tally = run_small(run_allreduce, options);
  EXPECT_EQ(tally.why, "");
  EXPECT_EQ(tally.step_us.size(), 2u);
  EXPECT_FALSE(tally.message_us.empty());
  EXPECT_EQ(tally.bytes_wrong, 0u);
}

}  // namespace
}  // namespace cw::perf
