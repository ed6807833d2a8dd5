#include "control/wan/options.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace cw::wan {
namespace {

Result<Options> parse(const std::string& line) {
  std::istringstream stream("causeway-wan " + line);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return parse_options(arguments);
}

const Impairment& first_of(const Result<Options>& options) {
  return options->directions[0].impairment;
}

TEST(Options, two_interfaces_are_enough_and_mean_a_perfect_link) {
  const auto options = parse("va vb");
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_EQ(options->interfaces[0], "va");
  EXPECT_EQ(options->interfaces[1], "vb");
  EXPECT_EQ(options->duration, Duration::max());
  EXPECT_FALSE(options->impairs_arp);
  EXPECT_TRUE(options->is_realtime);
  for (const auto& direction : options->directions) {
    EXPECT_EQ(direction.impairment.rate, Rate());
    EXPECT_EQ(direction.impairment.delay, Duration());
    EXPECT_EQ(direction.impairment.loss, 0);
  }
}

TEST(Options, every_impairment_can_be_said) {
  const auto options = parse(
      "va vb --delay 10ms --rate 500Mbit/s --queue 1MiB --mark 5ms --loss 1% --gilbert 8,0.5% "
      "--profile amazon:0.1% --drop 3,7 --blackout 5s,1s,60s --mtu 1280@2s --corrupt 0.01% --hole "
      "4793,1000 "
      "--duplicate 2%,3 --jitter 2ms,1ms,reorders --reorder 3%,4ms");
  ASSERT_TRUE(options) << options.error().sentence;
  const Impairment& it = first_of(options);
  EXPECT_EQ(it.delay, Duration::from_ms(10));
  EXPECT_EQ(it.rate, Rate::from_mbps(500));
  EXPECT_EQ(it.queue_bytes, Bytes(1 << 20));
  EXPECT_EQ(it.queue_time, Duration::max());
  EXPECT_EQ(it.mark_above, Duration::from_ms(5));
  EXPECT_DOUBLE_EQ(it.loss, 0.01);
  EXPECT_NEAR(it.gilbert_elliott.mean_loss(), 0.005, 1e-12);
  EXPECT_DOUBLE_EQ(it.gilbert_elliott.to_good, 0.125);
  EXPECT_EQ(it.bursts.profile.name, "amazon");
  EXPECT_DOUBLE_EQ(it.bursts.loss, 0.001);
  EXPECT_EQ(it.targeted.first, 3u);
  EXPECT_EQ(it.targeted.every, 7u);
  EXPECT_EQ(it.blackout.start, Instant() + Duration::from_s(5));
  EXPECT_EQ(it.blackout.length, Duration::from_s(1));
  EXPECT_EQ(it.blackout.period, Duration::from_s(60));
  EXPECT_EQ(it.mtu, Bytes(1294));
  EXPECT_EQ(it.mtu_from, Instant() + Duration::from_s(2));
  EXPECT_EQ(it.hole.flow, 4793u);
  EXPECT_EQ(it.hole.above, Bytes(1014));
  EXPECT_DOUBLE_EQ(it.corrupt, 0.0001);
  EXPECT_DOUBLE_EQ(it.duplicate, 0.02);
  EXPECT_EQ(it.copies_max, 3u);
  EXPECT_EQ(it.jitter_max, Duration::from_ms(2));
  EXPECT_EQ(it.jitter_mean, Duration::from_ms(1));
  EXPECT_EQ(it.jitter_shape, JitterShape::Exponential);
  EXPECT_TRUE(it.jitter_reorders);
  EXPECT_DOUBLE_EQ(it.reorder, 0.03);
  EXPECT_EQ(it.reorder_delay, Duration::from_ms(4));
}

TEST(Options, a_direction_of_its_own_wins_over_both) {
  const auto options = parse("va vb --loss 1% --a-to-b.loss 2% --b-to-a.rate 8Mbit/s --rtt 25ms");
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_DOUBLE_EQ(options->directions[0].impairment.loss, 0.02);
  EXPECT_DOUBLE_EQ(options->directions[1].impairment.loss, 0.01);
  EXPECT_EQ(options->directions[0].impairment.rate, Rate());
  EXPECT_EQ(options->directions[1].impairment.rate, Rate::from_mbps(8));
  for (const auto& direction : options->directions) {
    EXPECT_EQ(direction.impairment.delay, Duration::from_us(12'500));
  }
  EXPECT_EQ(options->directions[0].texts.at("loss"), "2%");
}

TEST(Options, a_rate_brings_a_queue) {
  EXPECT_EQ(first_of(parse("va vb --rate 1Gbit/s")).queue_time, Duration::from_ms(20));
  EXPECT_EQ(first_of(parse("va vb --rate 1Gbit/s --queue 5ms")).queue_time, Duration::from_ms(5));
}

TEST(Options, the_run_can_be_described) {
  const auto options = parse(
      "va vb --seed 9 --seconds 1.5 --stats-every 1s --memory 8MiB --spin 20us --gather 100us "
      "--json "
      "--impair-arp --fix-offloads --no-realtime");
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_EQ(options->seed, 9u);
  EXPECT_EQ(options->duration, Duration::from_ms(1500));
  EXPECT_EQ(options->stats_every, Duration::from_s(1));
  EXPECT_EQ(options->memory, Bytes(8 << 20));
  EXPECT_EQ(options->spin, Duration::from_us(20));
  EXPECT_EQ(options->gather, Duration::from_us(100));
  EXPECT_TRUE(options->is_json && options->impairs_arp && options->fixes_offloads);
  EXPECT_FALSE(options->is_realtime);
  EXPECT_FALSE(parse("va vb --no-impair-arp")->impairs_arp);
}

TEST(Options, help_names_every_option_and_needs_no_interface) {
  const auto options = parse("--help");
  ASSERT_TRUE(options);
  for (const LinkOption& option : link_options()) {
    EXPECT_NE(options->help.find(std::string("--") + option.name), std::string::npos);
  }
  EXPECT_NE(options->help.find("Examples"), std::string::npos);
}

struct Mistake {
  const char* line;
  const char* part;  ///< of the sentence
};

TEST(Options, every_mistake_is_a_sentence_that_names_it) {
  const Mistake mistakes[] = {
      {"", "IF_A"},
      {"va", "IF_B is required"},
      {"va va", "two ends"},
      {"va vb vc", "\"vc\" is no option"},
      {"va vb --los 1%", "\"--los\" is no option"},
      {"va vb --loss", "--loss: takes one value"},
      {"va vb --loss 1% --loss 2%", "--loss: takes one value and is given once"},
      {"va vb --loss 1", "--loss: \"1\" is not a share"},
      {"va vb --loss -1%", "not a share"},
      {"va vb --a-to-b.loss 2", "A to B: --loss"},
      {"va vb --b-to-a.delay 5", "B to A: --delay: \"5\" is not a time"},
      {"va vb --rate 5", "--rate: \"5\" is not a rate"},
      {"va vb --rate 10bit/s", "1000 and more"},
      {"va vb --delay 2h", "one hour"},
      {"va vb --queue 5ms", "--queue and --mark need --rate"},
      {"va vb --mark 5ms", "--queue and --mark need --rate"},
      {"va vb --rate 1Gbit/s --queue x", "neither a time, as in 20ms, nor a size"},
      {"va vb --gilbert 8", "MEAN_BURST,SHARE"},
      {"va vb --gilbert 0.5,1%", "at least 1 packet"},
      {"va vb --gilbert 1,90%", "make the bursts longer"},
      {"va vb --gilbert 3,100%", "between the bursts"},
      {"va vb --profile amazon", "NAME:SHARE"},
      {"va vb --profile oracle:1%", "there are random, amazon, google, microsoft"},
      {"va vb --profile amazon:90%", "lose at most"},
      {"va vb --drop 0,5", "counted from 1"},
      {"va vb --drop x", "whole number"},
      {"va vb --blackout 5s", "START,LENGTH"},
      {"va vb --blackout 5s,2s,1s", "nothing ever passes"},
      {"va vb --hole 0", "\"0\" is no UDP port: 1 to 65535"},
      {"va vb --hole 4791,x", "--hole: \"x\" is not a size"},
      {"va vb --hole 4791,1,2", "PORT[,SIZE]"},
      {"va vb --mtu 20", "68 to 65535"},
      {"va vb --mtu 1280@x", "--mtu: \"x\" is not a time"},
      {"va vb --mtu 1280@1s@2s", "SIZE[@TIME]"},
      {"va vb --duplicate 1%,9", "1 to 4"},
      {"va vb --duplicate 1%,4294967297", "1 to 4"},
      {"va vb --jitter 1ms,2ms", "jitter_mean must not be above"},
      {"va vb --jitter 1ms,1ms,2ms", "\"2ms\" is not \"reorders\""},
      {"va vb --reorder 1%", "SHARE,TIME"},
      {"va vb --reorder 1%,0ms", "reorder_delay above 0"},
      {"va vb --rtt 20ms --delay 10ms", "--rtt or --delay, not both"},
      {"va vb --rtt 20ms --b-to-a.delay 10ms", "--rtt or --delay, not both"},
      {"va vb --rtt x", "--rtt: \"x\" is not a time"},
      {"va vb --seed -1", "--seed: \"-1\" is not a whole number"},
      {"va vb --seconds soon", "--seconds: \"soon\""},
      {"va vb --memory 1kB", "--memory: at least 1MiB"},
      {"va vb --spin 1s", "--spin: at most 10ms"},
      {"va vb --gather 1s", "--gather: at most 10ms"},
      {"va vb --stats-every 1", "--stats-every: \"1\" is not a time"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto options = parse(mistake.line);
    ASSERT_FALSE(options) << mistake.line;
    EXPECT_NE(options.error().sentence.find(mistake.part), std::string::npos)
        << mistake.line << " -> " << options.error().sentence;
  }
}

}  // namespace
}  // namespace cw::wan
