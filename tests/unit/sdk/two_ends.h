// Two contexts of the SDK over the simulated wire, with a QP and a region each: a sends to b.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/sdk/sim_pair.h"

namespace cw::sdk_test {

inline constexpr int64_t ms = 1'000'000;

inline cw_device_attr device_attr() {
  cw_device_attr attr{};
  attr.size = sizeof(attr);
  attr.payload_bytes = 1024;
  attr.key = "a shared secret of this pair";
  attr.key_bytes = 28;
  attr.seed = 3;
  attr.regions_max = 3;
  return attr;
}

inline cw_qp_attr qp_attr() {
  cw_qp_attr attr{};
  attr.size = sizeof(attr);
  attr.chunk_bytes = 4096;
  attr.message_bytes_max = 1 << 16;
  attr.messages = 4;
  return attr;
}

class Sdk : public ::testing::Test {
 protected:
  Sdk() : memory(1 << 17) {
    sim_begin(1, 0, 5 * ms);
    cw_device_attr attr = device_attr();
    a = cw_context_create("sim:0", &attr);
    ++attr.seed;
    b = cw_context_create("sim:1", &attr);
  }
  ~Sdk() override {
    cw_context_destroy(a);
    cw_context_destroy(b);
    sim_end();
  }
  void make_qps(const cw_qp_attr& attr) {
    to = cw_qp_create(a, &attr);
    from = cw_qp_create(b, &attr);
    ASSERT_NE(to, nullptr) << cw_last_error();
    ASSERT_NE(from, nullptr) << cw_last_error();
    source = cw_mr_reg(a, memory.data(), 1 << 16, CW_ACCESS_LOCAL);
    target = cw_mr_reg(b, memory.data() + (1 << 16), 1 << 16, CW_ACCESS_REMOTE_WRITE);
  }
  void come_up() {
    for (int i = 0; i < 100 && !(cw_context_is_up(a) && cw_context_is_up(b)); ++i) run(20 * ms);
    ASSERT_TRUE(cw_context_is_up(a)) << cw_context_why(a);
  }
  void run(int64_t ns) { sim_run(a, b, ns); }
  cw_send_wr send_wr(uint64_t bytes) const {
    cw_send_wr wr{};
    wr.lkey = cw_mr_lkey_get(source);
    wr.address = memory.data();
    wr.length = bytes;
    return wr;
  }
  cw_recv_wr recv_wr(uint64_t bytes) {
    return {memory.data() + (1 << 16), bytes, cw_mr_lkey_get(target), 0};
  }

  std::vector<uint8_t> memory;
  cw_context *a = nullptr, *b = nullptr;
  cw_qp *to = nullptr, *from = nullptr;
  cw_mr *source = nullptr, *target = nullptr;
};

}  // namespace cw::sdk_test
