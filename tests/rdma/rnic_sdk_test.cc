// Programs of the SDK, as they run over its simulated network, over a real RDMA device: two
// addresses of soft-RoCE in one machine. What asks for a lossy or late network, for virtual time or
// for the simulator's sentences is left out.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/rdma/rdma_suite.h"

namespace cw::lab {
namespace {

constexpr const char* second_address = "10.1.0.3";

class RnicSdk : public RdmaSuite {
 protected:
  /// At host A, in the folder of programs; its last lines are told.
  static void expect_good_end(const std::string& program) {
    const std::string lines =
        std::string("ip addr add ") + second_address + "/24 dev eth0 2>/dev/null\n" +
        "export CW_RNIC=rx0 CW_RNIC_A=10.1.0.2 CW_RNIC_B=" + second_address + "\nuntil grep -q '" +
        gid_end + "' /sys/class/infiniband/rx0/ports/1/gids/*; do sleep 0.1; done" +
        "\nexec timeout 400 " CW_PROGRAMS "/" + program + " 2>&1";
    const Outcome outcome = a().run(lines, std::chrono::seconds(420));
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    tell(outcome.out.substr(outcome.out.size() - std::min<size_t>(outcome.out.size(), 80)));
  }

 private:
  static constexpr const char* gid_end = "0a01:0003";
};

TEST_F(RnicSdk, runs_the_example_of_the_readme) { expect_good_end("sdk_rxe_example"); }

TEST_F(RnicSdk, runs_the_tests_of_messages_and_misuse) {
  expect_good_end(
      "sdk_rxe_test --gtest_filter=-*.may_have_blocks_that_are_closed_when_they_grow_old:"
      "*.travel_without_an_allocation:*.contexts_refuse_what_they_cannot_open:"
      "*.hints_reach_the_policy_and_a_deadline_ends_a_message");
}

TEST_F(RnicSdk, runs_the_stories_in_c) {
  expect_good_end(
      "sdk_rxe_c one_shot,streaming_out_of_order,streaming_in_order,immediate_of_any_length,"
      "cancelled_message_uses_up_its_receive,peer_restarts,places_run_out_and_come_back");
}

}  // namespace
}  // namespace cw::lab
