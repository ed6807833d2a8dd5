// What crosses between two ends, as the SDK tells of it; and turns allocate nothing.
#include "tests/sim/checkers/heap_watch.h"
#include "tests/unit/sdk/two_ends.h"

namespace cw::sdk_test {
namespace {

class Messages : public Sdk {
 protected:
  /// How many slots are rebuilt of messages that go on, each with a part of its first block.
  uint64_t rebuilt_of_open_blocks(uint64_t block_age_ns) {
    const double k_m_m_max_rows[] = {16, 4, 4, 1};
    cw_qp_attr attr = qp_attr();
    attr.policy = cw_policy_find("erasure");
    attr.policy_params = k_m_m_max_rows;
    attr.policy_param_count = 4;
    attr.coding = CW_CODING_AS_POLICY;
    attr.block_age_ns = block_age_ns;
    make_qps(attr);
    come_up();
    for (uint32_t i = 0; i < attr.messages; ++i) {
      cw_recv_handle* recv = nullptr;
      const cw_recv_wr wr = recv_wr(1 << 16);
      EXPECT_EQ(cw_recv_post(from, &wr, &recv), CW_SUCCESS);
    }
    run(20 * ms);
    sim_set_wire(0.2, 5 * ms);
    for (uint32_t i = 0; i < attr.messages; ++i) {
      cw_send_handle* send = nullptr;
      const cw_send_start_wr start{};
      EXPECT_EQ(cw_send_stream_start(to, &start, &send), CW_SUCCESS);
      const cw_send_continue_wr piece{
          .lkey = cw_mr_lkey_get(source), .address = memory.data(), .length = 8192};
      EXPECT_EQ(cw_send_stream_continue(send, &piece), CW_SUCCESS);
      run(20 * ms);
    }
    return sim_rebuilt(b);
  }
};

TEST_F(Messages, have_no_immediate_unless_they_were_sent_with_one) {
  make_qps(qp_attr());
  come_up();
  cw_recv_handle* recv = nullptr;
  cw_send_handle* send = nullptr;
  const cw_recv_wr to_post = recv_wr(8192);
  const cw_send_wr wr = send_wr(8192);
  ASSERT_EQ(cw_recv_post(from, &to_post, &recv), CW_SUCCESS);
  ASSERT_EQ(cw_send_post(to, &wr, &send), CW_SUCCESS);
  run(50 * ms);
  uint32_t imm = 0;
  EXPECT_EQ(cw_recv_imm_get(recv, &imm), CW_ERROR);
  EXPECT_STREQ(cw_last_error(), "the message was sent without an immediate");
}

TEST_F(Messages, may_have_blocks_that_are_closed_when_they_grow_old) {
  EXPECT_GT(rebuilt_of_open_blocks(1 * ms), 0u);
}

TEST_F(Messages, have_blocks_that_wait_until_they_are_full_unless_an_age_is_set) {
  EXPECT_EQ(rebuilt_of_open_blocks(0), 0u);
}

TEST_F(Messages, travel_without_an_allocation) {
  cw_qp_attr attr = qp_attr();
  attr.policy = cw_policy_find("selective_repeat");
  make_qps(attr);
  come_up();
  const uint64_t before = sim::HeapWatch::allocation_count();
  for (int round = 0; round < 50; ++round) {
    sim::HeapWatch watch;
    cw_recv_handle* recv = nullptr;
    cw_send_handle* send = nullptr;
    const cw_recv_wr to_post = recv_wr(1 << 16);
    const cw_send_wr wr = send_wr(50'000);
    ASSERT_EQ(cw_recv_post(from, &to_post, &recv), CW_SUCCESS);
    ASSERT_EQ(cw_send_post(to, &wr, &send), CW_SUCCESS);
    run(50 * ms);
    cw_recv_info info;
    ASSERT_EQ(cw_recv_poll(recv, &info), CW_SUCCESS);
    ASSERT_EQ(info.status, CW_STATUS_DONE);
    ASSERT_EQ(cw_recv_complete(recv), CW_SUCCESS);
    run(20 * ms);
    int status = -1;
    ASSERT_EQ(cw_send_poll(send, &status), CW_SUCCESS);
    ASSERT_EQ(status, CW_STATUS_DONE);
  }
  EXPECT_EQ(sim::HeapWatch::allocation_count(), before);
}

}  // namespace
}  // namespace cw::sdk_test
