// A byte that is not what was sent is found out.
#include <gtest/gtest.h>

#include "control/perf/end.h"
#include "control/perf/receiver.h"
#include "control/perf/sender.h"
#include "dataplane/port/sim/network.h"
#include "policies/policies.h"

namespace cw::perf {
namespace {
using namespace literals;

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

}  // namespace
}  // namespace cw::perf
