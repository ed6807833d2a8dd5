// Two ends that want different policies agree on one, at both ends alike.
#include "dataplane/sdr/seat/policy_offer.h"

#include <gtest/gtest.h>

namespace cw::sdr {
namespace {

using Row = std::vector<PolicyOffer>;

std::string common(const Row& sender, const Row& receiver) {
  const auto found = common_policy(sender, receiver);
  return found ? found->name + " " + found->params : "none";
}

TEST(PolicyOffer, the_senders_wish_holds_if_the_receiver_can) {
  EXPECT_EQ(common({{"a/1", "x=1"}, {"b/1", ""}}, {{"b/1", "y=2"}, {"a/1", "x=9"}}), "a/1 x=1");
  EXPECT_EQ(common({{"a/1", "x=1"}}, {{"a/1", "x=2"}}), "a/1 x=1");
}

TEST(PolicyOffer, else_the_receivers_if_the_sender_can) {
  EXPECT_EQ(common({{"a/1", ""}, {"b/1", "y=1"}}, {{"b/1", "y=2"}, {"c/1", ""}}), "b/1 y=2");
  EXPECT_EQ(common({{"a/2", ""}, {"a/1", ""}}, {{"a/1", "x=3"}}), "a/1 x=3") << "of older notes";
}

TEST(PolicyOffer, else_the_first_of_the_sender_that_both_can) {
  EXPECT_EQ(
      common({{"a/1", ""}, {"c/1", "z=1"}, {"d/1", ""}}, {{"b/1", ""}, {"d/1", ""}, {"c/1", ""}}),
      "c/1 z=1");
}

TEST(PolicyOffer, else_there_is_none) {
  EXPECT_EQ(common({{"a/1", ""}}, {{"b/1", ""}}), "none");
  EXPECT_EQ(common({}, {{"b/1", ""}}), "none");
  EXPECT_EQ(common({{"a/1", ""}}, {}), "none");
}

const cw_param declared[] = {
    {"k", "", nullptr, "", CW_PARAM_INT, 0, 8, 1, 64},
    {"age", "ns", nullptr, "", CW_PARAM_DURATION, 0, 1e6, 0, 1e12},
};

cw_policy_ops policy() {
  cw_policy_ops ops{};
  ops.name = "of_a_test";
  ops.params = declared;
  ops.param_count = 2;
  ops.wire_version = 3;
  return ops;
}

TEST(PolicyOffer, parameters_read_back_as_they_were) {
  const cw_policy_ops ops = policy();
  const std::vector<double> params = {17, 0.1 + 0.2};
  const PolicyOffer offer = PolicyOffer::of({&ops, params});
  EXPECT_EQ(offer.name, "of_a_test/3");
  EXPECT_EQ(offer.params, "k=17 age=0.30000000000000004");
  EXPECT_EQ(*parse_params(ops, offer.params), params);
  EXPECT_EQ(*parse_params(ops, ""), (std::vector<double>{8, 1e6}));
  EXPECT_EQ(*parse_params(ops, "age=5"), (std::vector<double>{8, 5}));
}

TEST(PolicyOffer, parameters_that_cannot_be_are_refused) {
  const cw_policy_ops ops = policy();
  for (const char* text : {"k", "k=", "k=x", "k=65", "k=0", "k=nan", "k=8x", "m=1", "k=8  age=5",
                           "=8", "k=8 k", "age=-1", "k=1e999"}) {
    EXPECT_FALSE(parse_params(ops, text)) << text;
  }
}

}  // namespace
}  // namespace cw::sdr
