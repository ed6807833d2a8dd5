// Values that are right, and the keys that several programs share.
#include <gtest/gtest.h>

#include "control/config/impairment_keys.h"
#include "control/config/policy_keys.h"
#include "policies/policies.h"
#include "tests/unit/config/schema_for_test.h"

namespace cw::config {
namespace {

using namespace literals;

TEST(Read, stores_every_type_of_value) {
  Everything it;
  Section file;
  declare(file, it);
  const Mistakes mistakes = read(file, R"(
site = "north"
[link]
hold = "12.5 ms"
limit = "1 h"
start = "3 s"
rate = "2.5 Gbit/s"
pool = "64 KiB"
loss = "0.1 %"
[work]
alpha = 3
seed = 7
channels = 16
verify = false
mode = "poll"
sizes = ["1 KiB", "2 B"]
[[peer]]
name = "b"
[[peer]]
name = "c"
udp_port = 5000
)");
  EXPECT_EQ(to_text(mistakes, "f"), "");
  EXPECT_EQ(it.site, "north");
  EXPECT_EQ(it.hold, 12500_us);
  EXPECT_EQ(it.limit, 3600_s);
  EXPECT_EQ(it.start, Instant() + 3_s);
  EXPECT_EQ(it.rate, 2500_Mbps);
  EXPECT_EQ(it.pool, 64_KiB);
  EXPECT_EQ(it.loss, 0.001);
  EXPECT_EQ(it.alpha, 3);
  EXPECT_EQ(it.seed, 7u);
  EXPECT_EQ(it.channels, 16);
  EXPECT_FALSE(it.verify);
  EXPECT_EQ(it.mode, Everything::Mode::Poll);
  EXPECT_EQ(it.sizes, (std::vector<Bytes>{1_KiB, 2_B}));
  ASSERT_EQ(it.rows.size(), 2u);
  EXPECT_EQ(it.rows[0].udp_port, 4791);
  EXPECT_EQ(it.rows[1].udp_port, 5000);
}

TEST(Read, none_is_the_value_without_a_limit) {
  Everything it;
  it.limit = 1_s;
  it.start = Instant();
  it.rate = 1_Gbps;
  Section file;
  declare(file, it);
  EXPECT_TRUE(read(file, "site='a'\n[link]\nlimit='none'\nstart='none'\nrate='none'\n").empty());
  EXPECT_EQ(it.limit, Duration::max());
  EXPECT_EQ(it.start, Instant::never());
  EXPECT_EQ(it.rate, Rate());
}

struct PolicyFile {
  const cw_policy_ops* policy = cw_policy_selective_repeat();
  std::vector<double> params;

  std::string read_text(const std::string& text) {
    static const auto known = policy::all();
    Section file;
    declare_policy(file, known, policy, params);
    return to_text(read(file, text), "f");
  }
};

TEST(PolicyKeys, parameters_are_those_of_the_policy_that_is_named) {
  PolicyFile file;
  EXPECT_EQ(file.read_text("name = 'go_back_n'\nalpha = 3\n"), "");
  EXPECT_EQ(file.policy, cw_policy_go_back_n());
  EXPECT_EQ(file.params, std::vector<double>{3});
  EXPECT_EQ(file.read_text("name = 'selective_repeat'\nreorder_budget = '2 ms'\n"), "");
  ASSERT_EQ(file.params.size(), 5u);
  EXPECT_EQ(file.params[1], 2);    // alpha, its default
  EXPECT_EQ(file.params[3], 2e6);  // in nanoseconds
}

TEST(PolicyKeys, a_wrong_parameter_is_told_like_a_wrong_key) {
  EXPECT_EQ(PolicyFile().read_text("detekt = 'nack'\n"),
            "f:1:1: detekt is not known; did you mean detect?");
  EXPECT_EQ(PolicyFile().read_text("name = 'go_back_n'\ndetect = 'nack'\n"),
            "f:2:1: detect is not known; known here: name, alpha");
  EXPECT_EQ(PolicyFile().read_text("alpha = 99\n"), "f:1:9: alpha is 99; 0.5 to 32 is accepted");
  EXPECT_EQ(PolicyFile().read_text("name = 'tcp'\n"),
            "f:1:8: name is \"tcp\"; it must be \"passthrough\", \"go_back_n\", "
            "\"selective_repeat\", \"erasure\", \"hybrid\" or \"layered_interleave\"");
}

TEST(PolicyKeys, nothing_is_said_about_parameters_of_a_policy_that_is_not_known) {
  PolicyFile file;
  EXPECT_EQ(file.read_text("name = 'mine'\ngap = 4\nalpha = 99\n"),
            "f:1:8: name is \"mine\"; it must be \"passthrough\", \"go_back_n\", "
            "\"selective_repeat\", \"erasure\", \"hybrid\" or \"layered_interleave\"");
  EXPECT_EQ(file.params.size(), file.policy->param_count);
}

TEST(PolicyKeys, the_list_for_a_person_has_defaults_and_ranges) {
  const std::string text = policies_text(policy::all());
  EXPECT_NE(text.find("(nack; rto or nack)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(0 ns; 0 ns to 1 s)\n"), std::string::npos) << text;
}

std::string impairment(const std::string& text, Impairment& it) {
  Section file("wire", "wire", "A wire.");
  declare_impairment(file, it);
  return to_text(read(file, text), "f");
}

TEST(ImpairmentKeys, every_cause_can_be_written) {
  Impairment it;
  EXPECT_EQ(impairment(R"(
rate = "1 Gbit/s"
queue_time = "5 ms"
delay = "10 ms"
jitter_max = "1 ms"
jitter_mean = "100 us"
jitter_shape = "exponential"
loss = "1 %"
[blackout]
start = "1 s"
length = "100 ms"
[gilbert_elliott]
mean_burst = 4
mean_loss = "2 %"
[bursts]
profile = "google"
loss = 0.001
[targeted]
first = 3
)",
                       it),
            "");
  EXPECT_EQ(it.rate, 1_Gbps);
  EXPECT_EQ(it.jitter_shape, JitterShape::Exponential);
  EXPECT_EQ(it.blackout.length, 100_ms);
  EXPECT_EQ(it.gilbert_elliott.to_good, 0.25);
  EXPECT_NEAR(it.gilbert_elliott.mean_loss(), 0.02, 1e-12);
  EXPECT_EQ(it.bursts.profile.name, "google");
  EXPECT_EQ(it.targeted.first, 3u);
}

TEST(ImpairmentKeys, contradictions_between_keys_are_told_once) {
  Impairment it;
  EXPECT_EQ(impairment("queue_time = '5 ms'\n", it),
            "f:1:1: wire: queue_bytes, queue_time and mark_above need a rate; rate is 0 "
            "(unlimited)");
  EXPECT_EQ(impairment("loss = 0.5\n", it), "") << "inherited, and told where it was written";
}

}  // namespace
}  // namespace cw::config
