// Messages between two ends whose devices place payload, in real time: whoever turns what has come
// into bits, every byte arrives, and when he stands still in the middle of it, too.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/port/sim/network.h"
#include "dataplane/sdr/sdk/platform.h"
#include "dataplane/sdr/sdr.h"
#include "policies/policies.h"
#include "tests/sim/rnic.h"
#ifdef CW_HAS_DPA_PROGRAM
#include "offload/dpa/emulated_dpa.h"
#endif

namespace cw::sdk {
namespace {
using namespace literals;

/// Two ends with an RNIC's twin each, over a wire that loses one packet in fifty.
struct Pair {
  Pair() : network({.seed = 5}), ports{&network.add_port(), &network.add_port()} {
    network.advance_to(clock.read());
    network.join(*ports[0], *ports[1], {.loss = 0.02, .delay = 1_ms});
    for (size_t end = 0; end < 2; ++end) {
      rnics[end] = std::make_unique<sim::Rnic>(*ports[end], end + 1);
    }
  }
  MonotonicClock clock;
  SimNetwork network;
  std::array<SimPort*, 2> ports;
  std::array<std::unique_ptr<sim::Rnic>, 2> rnics;
};

std::unique_ptr<Pair> pair;

class RnicDevice final : public Device {
 public:
  explicit RnicDevice(size_t end) : end_(end) {}
  AnyWanPort port() override { return *pair->rnics[end_]; }
  Rate rate() const override { return 1_Gbps; }
  Instant now() override {
    pair->network.advance_to(pair->clock.read());
    return pair->network.now();
  }
  uint64_t fresh_bits() override { return prng_.next(); }

 private:
  size_t end_;
  Prng prng_{end_ + 77};
};

Result<std::unique_ptr<Device>> open_rnic(std::string_view rest) {
  return std::make_unique<RnicDevice>(rest == "0" ? 0 : 1);
}

#ifdef CW_HAS_DPA_PROGRAM
EmulatedDpa* latest_dpa = nullptr;

Result<std::unique_ptr<RowRunner>> open_dpa(uint32_t threads) {
  EmulatedDpaOptions options;
  options.harts = threads;
  options.program = CW_DPA_PROGRAM;
  auto made = EmulatedDpa::make(options);
  if (!made) return std::unexpected(made.error());
  latest_dpa = made->get();
  return std::move(*made);
}
#endif

}  // namespace

const Platform& platform() {
  static constexpr DeviceKind devices[] = {{"rnic", open_rnic}};
  static const auto policies = policy::all();
  static Platform table{.devices = devices, .policies = policies};
#ifdef CW_HAS_DPA_PROGRAM
  table.open_dpa = open_dpa;
#endif
  return table;
}

}  // namespace cw::sdk

namespace cw {
namespace {

constexpr size_t message_bytes = 64 << 10, messages = 4;

/// Which message lies in a place, and what of it its receiver has seen.
struct Crossing {
  cw_send_handle* send = nullptr;
  cw_recv_handle* recv = nullptr;
  uint64_t bytes = 0;
  uint64_t seed = 0;
  bool is_sent = false, is_received = false;
};

class Offload : public testing::Test {
 protected:
  Offload() { sdk::pair = std::make_unique<sdk::Pair>(); }
  ~Offload() override {
    cw_context_destroy(a_);
    cw_context_destroy(b_);
    sdk::pair.reset();
  }

  void open(uint32_t offload, uint32_t count, uint64_t stall_ns = 0) {
    cw_device_attr attr{};
    attr.size = sizeof(attr);
    attr.payload_bytes = 1024;
    attr.key = "a shared secret of this pair";
    attr.key_bytes = 28;
    a_ = cw_context_create("rnic:0", &attr);
    ASSERT_NE(a_, nullptr) << cw_last_error();
    attr.offload = offload;
    attr.offload_count = count;
    attr.offload_stall_ns = stall_ns;
    b_ = cw_context_create("rnic:1", &attr);
    ASSERT_NE(b_, nullptr) << cw_last_error();
    cw_qp_attr qp{};
    qp.size = sizeof(qp);
    qp.chunk_bytes = 4096;
    qp.message_bytes_max = message_bytes;
    qp.messages = messages;
    qp.channels = 4;
    qp.policy = cw_policy_find("selective_repeat");
    to_ = cw_qp_create(a_, &qp);
    from_ = cw_qp_create(b_, &qp);
    ASSERT_NE(to_, nullptr) << cw_last_error();
    ASSERT_NE(from_, nullptr) << cw_last_error();
    source_ = cw_mr_reg(a_, sent_.data(), sent_.size(), CW_ACCESS_LOCAL);
    target_ = cw_mr_reg(b_, received_.data(), received_.size(), CW_ACCESS_REMOTE_WRITE);
  }

  void turn() {
    cw_context_turn(a_);
    cw_context_turn(b_);
  }

  /// Sends `count` messages of all lengths, one after the other in four places; calls `midway` when
  /// half of them are across. False: they are not within a minute.
  template <class Midway>
  bool cross(int count, const Midway& midway) {
    const Instant end = now() + Duration::from_s(60);
    int begun = 0, done = 0;
    while (done < count) {
      if (now() > end) return false;
      for (size_t place = 0; place < messages; ++place) {
        Crossing& it = crossings_[place];
        if (it.recv == nullptr && begun < count) begun += begin(place, begun);
        if (it.recv == nullptr || !is_across(it)) continue;
        check(place);
        it = {};
        if (++done == count / 2) midway();
      }
      turn();
    }
    return true;
  }
  bool cross(int count) {
    return cross(count, [] {});
  }

  cw_context *a_ = nullptr, *b_ = nullptr;

 private:
  static Instant now() { return sdk::pair->clock.read(); }
  /// Places are taken in turn, as both ends match by order.
  bool begin(size_t place, int number) {
    if (static_cast<size_t>(number) % messages != place) return false;
    Crossing& it = crossings_[place];
    it.seed = static_cast<uint64_t>(number) + 1;
    Prng random(it.seed);
    it.bytes = 1 + random.below(message_bytes);
    uint8_t* const from = &sent_[place * message_bytes];
    uint8_t* const to = &received_[place * message_bytes];
    const cw_recv_wr recv{to, message_bytes, cw_mr_lkey_get(target_), 0};
    if (it.recv == nullptr && cw_recv_post(from_, &recv, &it.recv) != CW_SUCCESS) return false;
    std::memset(to, 0, message_bytes);
    for (uint64_t i = 0; i < it.bytes; ++i) from[i] = static_cast<uint8_t>(random.next());
    cw_send_wr send{};
    send.opcode = CW_WR_WRITE_WITH_IMM;
    send.imm = static_cast<uint32_t>(it.seed);
    send.lkey = cw_mr_lkey_get(source_);
    send.address = from;
    send.length = it.bytes;
    while (cw_send_post(to_, &send, &it.send) == CW_RETRY) turn();
    return true;
  }
  bool is_across(Crossing& it) {
    int status = CW_STATUS_OPEN;
    if (!it.is_sent && cw_send_poll(it.send, &status) == CW_SUCCESS) {
      it.is_sent = status != CW_STATUS_OPEN;
      EXPECT_TRUE(status == CW_STATUS_OPEN || status == CW_STATUS_DONE) << status;
    }
    cw_recv_info info{};
    EXPECT_EQ(cw_recv_poll(it.recv, &info), CW_SUCCESS);
    return it.is_sent && info.status == CW_STATUS_DONE;
  }
  void check(size_t place) {
    const Crossing& it = crossings_[place];
    const size_t first = place * message_bytes;
    EXPECT_EQ(std::memcmp(&sent_[first], &received_[first], it.bytes), 0) << it.seed;
    const uint8_t* bitmap = nullptr;
    size_t bitmap_bytes = 0;
    ASSERT_EQ(cw_recv_bitmap_get(it.recv, &bitmap, &bitmap_bytes), CW_SUCCESS);
    for (size_t chunk = 0; chunk < bitmap_bytes * 8; ++chunk) {
      const bool is_set = bitmap[chunk / 8] >> chunk % 8 & 1;
      EXPECT_EQ(is_set, chunk * 4096 < it.bytes) << "chunk " << chunk << " of " << it.bytes;
    }
    uint32_t imm = 0;
    EXPECT_EQ(cw_recv_imm_get(it.recv, &imm), CW_SUCCESS);
    EXPECT_EQ(imm, it.seed);
    EXPECT_EQ(cw_recv_complete(it.recv), CW_SUCCESS);
  }

  std::vector<uint8_t> sent_ = std::vector<uint8_t>(messages * message_bytes);
  std::vector<uint8_t> received_ = std::vector<uint8_t>(messages * message_bytes);
  cw_qp *to_ = nullptr, *from_ = nullptr;
  cw_mr *source_ = nullptr, *target_ = nullptr;
  std::array<Crossing, messages> crossings_;
};

TEST_F(Offload, to_the_turn_itself) {
  open(CW_OFFLOAD_TURN, 0);
  EXPECT_TRUE(cross(200));
  EXPECT_STREQ(cw_context_offload_why(b_), "");
}

TEST_F(Offload, to_cores) {
  open(CW_OFFLOAD_CORES, 3, 10'000'000'000);
  EXPECT_TRUE(cross(200));
  EXPECT_STREQ(cw_context_offload_why(b_), "");
}

TEST_F(Offload, asks_for_no_more_than_there_is) {
  cw_device_attr attr{};
  attr.size = sizeof(attr);
  attr.key = "a shared secret of this pair";
  attr.key_bytes = 28;
  attr.offload = 9;
  EXPECT_EQ(cw_context_create("rnic:0", &attr), nullptr);
  EXPECT_STREQ(cw_last_error(), "offload is 9 and must be one of cw_offload");
  attr.offload = CW_OFFLOAD_CORES;
  attr.offload_count = 17;
  EXPECT_EQ(cw_context_create("rnic:0", &attr), nullptr);
  EXPECT_STREQ(cw_last_error(), "offload_count is 17 and may be 16");
}

#ifdef CW_HAS_DPA_PROGRAM
TEST_F(Offload, to_an_emulated_dpa) {
  open(CW_OFFLOAD_DPA, 2, 10'000'000'000);
  EXPECT_TRUE(cross(200));
  EXPECT_STREQ(cw_context_offload_why(b_), "");
}

TEST_F(Offload, goes_on_when_the_dpa_is_killed) {
  open(CW_OFFLOAD_DPA, 2, 20'000'000);
  EXPECT_TRUE(cross(100, [] { kill(sdk::latest_dpa->pid(), SIGKILL); }));
  const std::string why = cw_context_offload_why(b_);
  EXPECT_NE(why.find("the turn does the work of offload 0: it took no record for"),
            std::string::npos)
      << why;
}

TEST_F(Offload, goes_on_when_one_thread_of_the_dpa_stands_still_and_comes_back) {
  open(CW_OFFLOAD_DPA, 2, 20'000'000);
  EXPECT_TRUE(cross(100, [] { sdk::latest_dpa->set_halted(1, true); }));
  const std::string why = cw_context_offload_why(b_);
  EXPECT_NE(why.find("the work of offload 1"), std::string::npos) << why;
  sdk::latest_dpa->set_halted(1, false);
  EXPECT_TRUE(cross(100));
}
#endif

}  // namespace
}  // namespace cw
