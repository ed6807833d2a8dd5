// Every misuse is an error with a sentence that names what was wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/policy.h"
#include "tests/unit/sdk/two_ends.h"

namespace {
using namespace cw::sdk_test;

void expect_sentence(const std::string& part) {
  EXPECT_NE(std::string(cw_last_error()).find(part), std::string::npos) << cw_last_error();
}
#define EXPECT_MISUSE(call, part) \
  EXPECT_EQ(call, CW_ERROR);      \
  expect_sentence(part)
#define EXPECT_NO_OBJECT(call, part) \
  EXPECT_EQ(call, nullptr);          \
  expect_sentence(part)

TEST_F(Sdk, contexts_refuse_what_they_cannot_open) {
  cw_device_attr attr = device_attr();
  EXPECT_NO_OBJECT(cw_context_create("sim:0", nullptr), "cw_device_attr is null");
  EXPECT_NO_OBJECT(cw_context_create(nullptr, &attr), "device is null");
  EXPECT_NO_OBJECT(cw_context_create("magic:0", &attr), "\"magic\"; this program has: sim");
  EXPECT_NO_OBJECT(cw_context_create("sim:9", &attr), "sim:9: the ends are");
  attr.size = 12;
  EXPECT_NO_OBJECT(cw_context_create("sim:0", &attr), "cw_device_attr.size is 12");
  attr.size = sizeof(attr) + 8;
  EXPECT_NO_OBJECT(cw_context_create("sim:0", &attr), "and this library knows");
  attr = device_attr();
  attr.key_bytes = 15;
  EXPECT_NO_OBJECT(cw_context_create("sim:0", &attr), "15 bytes and must have 16");
  attr.key = nullptr;
  EXPECT_NO_OBJECT(cw_context_create("sim:0", &attr), "0 bytes and must have 16");
  attr = device_attr();
  attr.payload_bytes = 100;
  EXPECT_NO_OBJECT(cw_context_create("sim:0", &attr), "payload_bytes is 100 and must be 256 to");
  attr = device_attr();
  attr.qps_max = 65;
  EXPECT_NO_OBJECT(cw_context_create("sim:0", &attr), "qps_max is 65");
  attr = device_attr();
  attr.regions_max = 1 << 17;
  EXPECT_NO_OBJECT(cw_context_create("sim:0", &attr), "regions_max is 131072");
  attr = device_attr();
  attr.rate_bps = UINT64_MAX;
  EXPECT_NO_OBJECT(cw_context_create("sim:0", &attr), "rate_bps");
}

TEST_F(Sdk, hints_must_be_what_they_can_be) {
  make_qps(qp_attr());
  come_up();
  cw_send_handle* handle = nullptr;
  cw_send_wr wr = send_wr(1024);
  wr.hint.kind = 3;
  EXPECT_EQ(cw_send_post(to, &wr, &handle), CW_SUCCESS) << "not looked at";
  wr.opcode = CW_WR_WRITE | CW_WR_HINT;
  EXPECT_MISUSE(cw_send_post(to, &wr, &handle), "hint.kind is 3");
  wr.hint = {.is_last = 2};
  EXPECT_MISUSE(cw_send_post(to, &wr, &handle), "hint.is_last is 2");
  const cw_send_start_wr start{
      .opcode = CW_WR_WRITE_WITH_IMM | CW_WR_HINT, .imm = 5, .hint = {.deadline_ns = UINT64_MAX}};
  EXPECT_MISUSE(cw_send_stream_start(to, &start, &handle),
                "hint.deadline_ns is 18446744073709551615");
}

// A policy that listens and sends nothing: its messages end by their deadline.
cw_fact_opened hinted;
int64_t hinted_at_ns;

int create_listener(const cw_env*, cw_policy** policy, char*, size_t) {
  static int no_instance;
  *policy = reinterpret_cast<cw_policy*>(&no_instance);
  return 0;
}
void listen(cw_policy*, const cw_fact_opened* fact, int64_t now_ns, cw_out*) {
  if (fact->hint_kind == CW_HINT_NONE) return;  // at the sink
  hinted = *fact;
  hinted_at_ns = now_ns;
}
constexpr cw_policy_ops listener = {.abi = CW_POLICY_ABI,
                                    .size = sizeof(cw_policy_ops),
                                    .name = "listener",
                                    .create = create_listener,
                                    .destroy = [](cw_policy*) {},
                                    .opened = listen};

TEST_F(Sdk, hints_reach_the_policy_and_a_deadline_ends_a_message) {
  cw_qp_attr attr = qp_attr();
  attr.policy = &listener;
  make_qps(attr);
  cw_recv_handle* receive = nullptr;
  const cw_recv_wr room = recv_wr(4096);
  ASSERT_EQ(cw_recv_post(from, &room, &receive), CW_SUCCESS);
  come_up();
  run(20 * ms);
  cw_send_wr wr = send_wr(4096);
  wr.opcode = CW_WR_WRITE | CW_WR_HINT;
  wr.hint = {.kind = CW_HINT_STEP,
             .step = 9,
             .bytes = 1'000'000'000'000,
             .is_last = 1,
             .deadline_ns = 50 * ms};
  cw_send_handle* handle = nullptr;
  ASSERT_EQ(cw_send_post(to, &wr, &handle), CW_SUCCESS) << cw_last_error();
  run(20 * ms);
  EXPECT_EQ(hinted.hint_kind, CW_HINT_STEP);
  EXPECT_EQ(hinted.hint_step, 9u);
  EXPECT_EQ(hinted.hint_bytes, 1'000'000'000'000u);
  EXPECT_EQ(hinted.hint_last, 1u);
  EXPECT_LE(hinted.deadline_ns - hinted_at_ns, 50 * ms);
  EXPECT_GT(hinted.deadline_ns - hinted_at_ns, 25 * ms);
  int status = -1;
  ASSERT_EQ(cw_send_poll(handle, &status), CW_SUCCESS);
  EXPECT_EQ(status, CW_STATUS_OPEN);
  run(60 * ms);
  ASSERT_EQ(cw_send_poll(handle, &status), CW_SUCCESS);
  EXPECT_EQ(status, CW_STATUS_GIVEN_UP);
  cw_recv_info info;
  ASSERT_EQ(cw_recv_poll(receive, &info), CW_SUCCESS);
  EXPECT_EQ(info.status, CW_STATUS_GIVEN_UP);
}

TEST_F(Sdk, null_contexts_and_qps_are_errors) {
  EXPECT_EQ(cw_context_turn(nullptr), -1);
  expect_sentence("context is null");
  EXPECT_EQ(cw_context_is_up(nullptr), 0);
  EXPECT_EQ(cw_context_idle_ns(nullptr), 0);
  EXPECT_EQ(cw_context_fd(nullptr), -1);
  EXPECT_STREQ(cw_context_why(nullptr), "the context is null");
  cw_context_destroy(nullptr);
  EXPECT_EQ(cw_qp_payload_bytes(nullptr), 0u);
  EXPECT_EQ(cw_qp_chunk_bytes(nullptr), 0u);
  expect_sentence("QP is null");
  const cw_qp_attr attr = qp_attr();
  EXPECT_NO_OBJECT(cw_qp_create(nullptr, &attr), "context is null");
  EXPECT_NO_OBJECT(cw_qp_create(a, nullptr), "cw_qp_attr is null");
  EXPECT_NO_OBJECT(cw_mr_reg(nullptr, memory.data(), 1, 0), "context is null");
  EXPECT_NO_OBJECT(cw_policy_find("magic"), "no policy called \"magic\"; this program has: pass");
  EXPECT_NO_OBJECT(cw_policy_find(nullptr), "is null");
}

TEST_F(Sdk, qps_refuse_what_contradicts_itself) {
  const auto refused = [&](auto change, const char* part) {
    cw_qp_attr attr = qp_attr();
    change(attr);
    EXPECT_NO_OBJECT(cw_qp_create(a, &attr), part);
  };
  refused([](cw_qp_attr& q) { q.size = 4; }, "cw_qp_attr.size is 4");
  refused([](cw_qp_attr& q) { q.number = 8; }, "must be below qps_max, 8");
  refused([](cw_qp_attr& q) { q.messages = 3; }, "power of two");
  refused([](cw_qp_attr& q) { q.messages = 2048; }, "do not fit the split");
  refused([](cw_qp_attr& q) { q.message_bytes_max = UINT64_MAX; }, "message_bytes_max is");
  refused([](cw_qp_attr& q) { q.message_bytes_max = 1 << 30; }, "do not fit the split 10|18|4");
  refused([](cw_qp_attr& q) { q.chunk_bytes = 1000; }, "multiple of the payload size, 1024");
  refused([](cw_qp_attr& q) { q.slot_bits = 18; }, "the split 0|18|0 must add up to 32 bits");
  refused([](cw_qp_attr& q) { q.channels = 17; }, "channels is 17");
  refused([](cw_qp_attr& q) { q.generations = 3; }, "generations is 3");
  refused([](cw_qp_attr& q) { q.pieces_max = 1 << 16; }, "pieces_max is 65536");
  refused([](cw_qp_attr& q) { q.coding = 2; }, "coding is 2 and must be 0 or 1");
  refused([](cw_qp_attr& q) { q.coding = 1; }, "policy passthrough does not code");
  refused([](cw_qp_attr& q) { q.block_age_ns = UINT64_MAX; }, "block_age_ns is");
  refused(
      [](cw_qp_attr& q) {
        q.policy = cw_policy_find("erasure"), q.coding = 1, q.message_bytes_max = 100 << 10;
      },
      "a block of 128 slots is larger than a message of 100");
  const double number = std::nan("");
  const auto* policy = cw_policy_find("selective_repeat");
  ASSERT_NE(policy, nullptr);
  refused([&](cw_qp_attr& q) { q.policy = policy, q.policy_param_count = 99; }, "99 were given");
  refused(
      [&](cw_qp_attr& q) {
        q.policy = policy, q.policy_param_count = 1, q.policy_params = &number;
      },
      policy->params[0].name);
  make_qps(qp_attr());
  refused([](cw_qp_attr&) {}, "qp 0 exists already");
  cw_context_turn(a);
  refused([](cw_qp_attr& q) { q.number = 1; }, "before its context turns");
}

TEST_F(Sdk, an_older_program_is_not_coded_whatever_lies_behind_its_attributes) {
  cw_qp_attr attr = qp_attr();
  attr.size = offsetof(cw_qp_attr, coding);
  attr.coding = 77;
  EXPECT_NE(cw_qp_create(a, &attr), nullptr) << cw_last_error();
}

TEST_F(Sdk, ends_that_differ_do_not_come_up_and_say_why) {
  cw_qp_attr attr = qp_attr();
  ASSERT_NE(cw_qp_create(a, &attr), nullptr);
  attr.chunk_bytes = 8192;
  ASSERT_NE(cw_qp_create(b, &attr), nullptr);
  run(500 * ms);
  EXPECT_FALSE(cw_context_is_up(a) || cw_context_is_up(b));
  EXPECT_EQ(std::string(cw_context_why(a)),
            "qp0.chunk_slots is 4 here and 8 at the peer: [pair] keys must be equal");
}

TEST_F(Sdk, a_qp_that_only_one_end_has_keeps_both_down) {
  cw_qp_attr attr = qp_attr();
  make_qps(attr);
  attr.number = 1;
  ASSERT_NE(cw_qp_create(a, &attr), nullptr);
  run(500 * ms);
  EXPECT_FALSE(cw_context_is_up(a) || cw_context_is_up(b));
  EXPECT_NE(std::string(cw_context_why(a)), "");
  EXPECT_NE(std::string(cw_context_why(b)), "");
}

TEST_F(Sdk, regions_are_checked) {
  EXPECT_NO_OBJECT(cw_mr_reg(a, nullptr, 1, 0), "cannot be a region");
  EXPECT_NO_OBJECT(cw_mr_reg(a, memory.data(), 0, 0), "cannot be a region");
  EXPECT_NO_OBJECT(cw_mr_reg(a, memory.data(), SIZE_MAX, 0), "cannot be a region");
  EXPECT_NO_OBJECT(cw_mr_reg(a, memory.data(), 1, 7), "access is 7");
  cw_mr* mr = cw_mr_reg(a, memory.data(), 1, 0);
  cw_mr_reg(a, memory.data(), 1, 0);
  cw_mr_reg(a, memory.data(), 1, 0);
  EXPECT_NO_OBJECT(cw_mr_reg(a, memory.data(), 1, 0), "all 3 regions are in use");
  EXPECT_EQ(cw_mr_dereg(mr), CW_SUCCESS);
  EXPECT_MISUSE(cw_mr_dereg(mr), "was deregistered");
  EXPECT_NE(cw_mr_reg(a, memory.data(), 1, 0), nullptr);  // in the same place
  EXPECT_MISUSE(cw_mr_dereg(mr), "was deregistered");
  EXPECT_EQ(cw_mr_lkey_get(mr), 0u);
  EXPECT_EQ(cw_mr_lkey_get(nullptr), 0u);
}

TEST_F(Sdk, regions_of_devices_are_checked) {
  EXPECT_NO_OBJECT(cw_mr_reg_dmabuf(nullptr, 0, 0, memory.data(), 1, 0), "context is null");
  EXPECT_NO_OBJECT(cw_mr_reg_dmabuf(a, -1, 0, memory.data(), 1, 0), "the dmabuf is -1");
  EXPECT_NO_OBJECT(cw_mr_reg_dmabuf(a, 0, 0, memory.data(), 0, 0), "cannot be a region");
  const auto in_page = reinterpret_cast<uintptr_t>(memory.data()) % 4096;
  EXPECT_NO_OBJECT(cw_mr_reg_dmabuf(a, 0, in_page + 1, memory.data(), 1, 0), "the same place");
}

TEST_F(Sdk, sends_are_checked_before_anything_is_sent) {
  make_qps(qp_attr());
  cw_send_handle* handle = nullptr;
  cw_send_wr wr = send_wr(100);
  EXPECT_MISUSE(cw_send_post(nullptr, &wr, &handle), "QP is null");
  EXPECT_MISUSE(cw_send_post(to, nullptr, &handle), "work request is null");
  EXPECT_MISUSE(cw_send_post(to, &wr, nullptr), "place for the handle is null");
  wr.opcode = 5;
  EXPECT_MISUSE(cw_send_post(to, &wr, &handle), "opcode is 5");
  wr = send_wr((1 << 16) + 1);
  EXPECT_MISUSE(cw_send_post(to, &wr, &handle), "65537 bytes and may have 65536");
  wr = send_wr(1 << 16);
  wr.address = memory.data() + 1;
  EXPECT_MISUSE(cw_send_post(to, &wr, &handle), "leave the region");
  wr.address = memory.data() - 1;
  EXPECT_MISUSE(cw_send_post(to, &wr, &handle), "leave the region");
  wr = send_wr(100);
  wr.lkey ^= 1;
  EXPECT_MISUSE(cw_send_post(to, &wr, &handle), "names no region");
  wr = send_wr(100);
  EXPECT_EQ(cw_send_post(to, &wr, &handle), CW_RETRY);  // right, but the link is down
  const cw_send_start_wr bad_start{9, 0};
  EXPECT_MISUSE(cw_send_stream_start(to, &bad_start, &handle), "opcode is 9");
}

TEST_F(Sdk, directions_that_are_off_are_errors) {
  cw_qp_attr attr = qp_attr();
  attr.recv_enable = 1;
  make_qps(attr);
  cw_send_handle* send = nullptr;
  const cw_send_wr wr = send_wr(100);
  EXPECT_MISUSE(cw_send_post(to, &wr, &send), "without send_enable");
  attr.number = 1;
  attr.send_enable = 1, attr.recv_enable = 0;
  cw_qp* sender = cw_qp_create(b, &attr);
  cw_recv_handle* recv = nullptr;
  const cw_recv_wr to_post = recv_wr(100);
  EXPECT_MISUSE(cw_recv_post(sender, &to_post, &recv), "without recv_enable");
}

TEST_F(Sdk, streaming_calls_in_the_wrong_order_or_place_are_errors) {
  make_qps(qp_attr());
  come_up();
  cw_send_handle* handle = nullptr;
  const cw_send_start_wr start{};
  ASSERT_EQ(cw_send_stream_start(to, &start, &handle), CW_SUCCESS);
  cw_send_continue_wr wr{cw_mr_lkey_get(source), 0, memory.data(), 4096};
  EXPECT_MISUSE(cw_send_stream_continue(nullptr, &wr), "send handle is null or gone");
  EXPECT_MISUSE(cw_send_stream_continue(handle, nullptr), "work request is null");
  wr.remote_offset = 16;
  EXPECT_MISUSE(cw_send_stream_continue(handle, &wr), "chunk 16, and the largest message has 16");
  wr.remote_offset = 15;
  wr.length = 4097;
  EXPECT_MISUSE(cw_send_stream_continue(handle, &wr), "exceed the largest message");
  wr.remote_offset = 1;
  wr.length = 4096;
  EXPECT_EQ(cw_send_stream_continue(handle, &wr), CW_SUCCESS);
  EXPECT_MISUSE(cw_send_stream_continue(handle, &wr), "was appended before");
  EXPECT_MISUSE(cw_send_stream_end(handle), "has holes");
  wr.remote_offset = 0;
  wr.length = 4000;
  EXPECT_MISUSE(cw_send_stream_continue(handle, &wr), "only the last piece");
  wr.length = 4096;
  EXPECT_EQ(cw_send_stream_continue(handle, &wr), CW_SUCCESS);
  EXPECT_EQ(cw_send_stream_end(handle), CW_SUCCESS);
  EXPECT_MISUSE(cw_send_stream_end(handle), "ended before");
  EXPECT_MISUSE(cw_send_stream_continue(handle, &wr), "has been ended");
  int status = -1;
  EXPECT_MISUSE(cw_send_poll(handle, nullptr), "place for the status is null");
  EXPECT_EQ(cw_send_poll(handle, &status), CW_SUCCESS);
  EXPECT_EQ(status, CW_STATUS_OPEN);
  EXPECT_EQ(cw_send_cancel(handle), CW_SUCCESS);
  EXPECT_EQ(cw_send_poll(handle, &status), CW_SUCCESS);
  EXPECT_EQ(status, CW_STATUS_GIVEN_UP);
  EXPECT_MISUSE(cw_send_poll(handle, &status), "send handle is null or gone");
  EXPECT_MISUSE(cw_send_cancel(handle), "send handle is null or gone");
  EXPECT_MISUSE(cw_send_stream_end(handle), "send handle is null or gone");
}

TEST_F(Sdk, pieces_that_do_not_continue_each_other_are_counted) {
  cw_qp_attr attr = qp_attr();
  attr.pieces_max = 2;
  make_qps(attr);
  come_up();
  cw_send_handle* handle = nullptr;
  const cw_send_start_wr start{};
  ASSERT_EQ(cw_send_stream_start(to, &start, &handle), CW_SUCCESS);
  for (const uint32_t chunk : {0u, 2u, 3u, 4u}) {  // two pieces: the last three are one
    const cw_send_continue_wr wr{cw_mr_lkey_get(source), chunk, memory.data() + chunk * 4096, 4096};
    EXPECT_EQ(cw_send_stream_continue(handle, &wr), CW_SUCCESS);
  }
  const cw_send_continue_wr third{cw_mr_lkey_get(source), 8, memory.data(), 4096};
  EXPECT_MISUSE(cw_send_stream_continue(handle, &third), "may have 2 pieces");
}

TEST_F(Sdk, receives_are_checked) {
  make_qps(qp_attr());
  cw_recv_handle* handle = nullptr;
  cw_recv_wr wr = recv_wr(8192);
  EXPECT_MISUSE(cw_recv_post(nullptr, &wr, &handle), "QP is null");
  EXPECT_MISUSE(cw_recv_post(from, nullptr, &handle), "work request is null");
  EXPECT_MISUSE(cw_recv_post(from, &wr, nullptr), "place for the handle is null");
  wr.max_length = (1 << 16) + 1;
  EXPECT_MISUSE(cw_recv_post(from, &wr, &handle), "65536 bytes at most");
  wr = recv_wr(1 << 16);
  wr.address = memory.data() + (1 << 16) + 1;
  EXPECT_MISUSE(cw_recv_post(from, &wr, &handle), "leave the region");
  wr = recv_wr(100);
  wr.lkey = 0;
  EXPECT_MISUSE(cw_recv_post(from, &wr, &handle), "lkey 0x0 names no region");
  cw_mr* local = cw_mr_reg(b, memory.data() + (1 << 16), 100, CW_ACCESS_LOCAL);
  wr.lkey = cw_mr_lkey_get(local);
  EXPECT_MISUSE(cw_recv_post(from, &wr, &handle), "without CW_ACCESS_REMOTE_WRITE");
  wr = recv_wr(8192);
  ASSERT_EQ(cw_recv_post(from, &wr, &handle), CW_SUCCESS);
  EXPECT_EQ(cw_mr_dereg(target), CW_RETRY);

  const uint8_t* bitmap;
  size_t bytes;
  uint64_t slots;
  uint32_t imm;
  cw_recv_info info;
  EXPECT_MISUSE(cw_recv_bitmap_get(handle, nullptr, &bytes), "place for the bitmap is null");
  EXPECT_MISUSE(cw_recv_bitmap_chunk_expand(handle, 2, &slots, 1), "the receive has 2");
  EXPECT_MISUSE(cw_recv_bitmap_chunk_expand(handle, 0, nullptr, 1), "1 words are needed");
  EXPECT_MISUSE(cw_recv_bitmap_chunk_expand(handle, 0, &slots, 0), "0 were given");
  EXPECT_MISUSE(cw_recv_imm_get(handle, nullptr), "place for the immediate is null");
  EXPECT_MISUSE(cw_recv_poll(handle, nullptr), "place for the info is null");
  EXPECT_EQ(cw_recv_complete(handle), CW_SUCCESS);
  for (cw_recv_handle* gone : {handle, static_cast<cw_recv_handle*>(nullptr)}) {
    const char* part = "receive handle is null or was completed";
    EXPECT_MISUSE(cw_recv_complete(gone), part);
    EXPECT_MISUSE(cw_recv_bitmap_get(gone, &bitmap, &bytes), part);
    EXPECT_MISUSE(cw_recv_bitmap_chunk_expand(gone, 0, &slots, 1), part);
    EXPECT_MISUSE(cw_recv_imm_get(gone, &imm), part);
    EXPECT_MISUSE(cw_recv_poll(gone, &info), part);
  }
  EXPECT_EQ(cw_mr_dereg(target), CW_SUCCESS);
}

// ---- the example in the README is the program that is compiled and run ----

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(CW_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SdkReadme, shows_the_example_that_is_compiled_and_run) {
  const std::string readme = text_of("dataplane/sdr/README.md");
  const std::string fence = "```c\n";
  const size_t first = readme.find(fence);
  ASSERT_NE(first, std::string::npos);
  const size_t begin = first + fence.size();
  EXPECT_EQ(readme.substr(begin, readme.find("```", begin) - begin),
            text_of("tests/unit/sdk/example.c"));
}

}  // namespace
