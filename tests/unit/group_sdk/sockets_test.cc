// Members on real sockets, in one thread: loopback and multicast, real time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "dataplane/collective/sdk/collective.h"

namespace cw::group_sdk_test {
namespace {

constexpr size_t members = 4;
constexpr auto patience = std::chrono::seconds(30);

/// Of addresses that no other process of tests has.
class OnSockets : public testing::Test {
 protected:
  OnSockets() {
    const std::string own =
        std::to_string(getpid() / 250 % 250) + "." + std::to_string(getpid() % 250);
    for (size_t rank = 0; rank < members; ++rank) {
      addresses_.push_back("127." + std::to_string(10 + rank) + "." + own);
      texts_.push_back(nullptr);
    }
    for (size_t rank = 0; rank < members; ++rank) texts_[rank] = addresses_[rank].c_str();
    for (uint32_t rank = 0; rank < members; ++rank) {
      cw_group_attr attr{};
      attr.size = sizeof(attr);
      attr.rank = rank;
      attr.members = members;
      attr.addresses = texts_.data();
      attr.key = "a secret of this group";
      attr.key_bytes = 22;
      attr.bytes_max = 8 << 20;
      attr.rate_bps = 1'000'000'000;
      groups_[rank] = cw_group_create(("udp:239.100." + own).c_str(), &attr);
      EXPECT_NE(groups_[rank], nullptr) << cw_last_error();
    }
  }
  ~OnSockets() override {
    for (cw_group* group : groups_) cw_group_destroy(group);
  }
  bool turn_until(const std::function<bool()>& is_over) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!is_over()) {
      if (std::chrono::steady_clock::now() > end) return false;
      for (cw_group* group : groups_) cw_group_turn(group);
    }
    return true;
  }
  bool are_done(const std::array<cw_request*, members>& requests) const {
    for (cw_request* each : requests) {
      cw_request_info info;
      EXPECT_EQ(cw_request_poll(each, &info), CW_SUCCESS);
      if (info.status < CW_REQUEST_DONE) return false;
    }
    return true;
  }

  std::vector<std::string> addresses_;
  std::vector<const char*> texts_;
  std::array<cw_group*, members> groups_{};
};

uint8_t byte_of(size_t index, size_t source) {
  return static_cast<uint8_t>(index * 7 + index / 251 + source * 31);
}

TEST_F(OnSockets, gather_and_broadcast_to_the_byte) {
  constexpr size_t part = 1'000'003;
  ASSERT_TRUE(turn_until([&] {
    for (const cw_group* group : groups_) {
      if (cw_group_is_up(group) == 0) return false;
    }
    return true;
  })) << cw_group_why(groups_[0]);
  std::array<std::vector<uint8_t>, members> memory;
  for (auto& each : memory) each.resize(members * part);
  for (const bool is_broadcast : {false, true}) {
    std::array<cw_request*, members> requests{};
    for (size_t rank = 0; rank < members; ++rank) {
      // Of a broadcast the root has what it has gathered of rank 0 before.
      if (is_broadcast && rank != 1) std::fill_n(memory[rank].begin(), part, uint8_t{0});
      if (!is_broadcast) {
        for (size_t i = 0; i < part; ++i) memory[rank][rank * part + i] = byte_of(i, rank);
      }
      cw_coll_wr wr{};
      wr.size = sizeof(wr);
      wr.root = is_broadcast ? 1 : 0;
      wr.bytes = part;
      wr.address = memory[rank].data();
      ASSERT_EQ((is_broadcast ? cw_broadcast : cw_allgather)(groups_[rank], &wr, &requests[rank]),
                CW_SUCCESS)
          << cw_last_error();
    }
    ASSERT_TRUE(turn_until([&] { return are_done(requests); })) << cw_group_why(groups_[0]);
    for (size_t rank = 0; rank < members; ++rank) {
      cw_request_info info;
      ASSERT_EQ(cw_request_poll(requests[rank], &info), CW_SUCCESS);
      EXPECT_EQ(info.status, CW_REQUEST_DONE) << cw_group_why(groups_[rank]);
      size_t wrong = 0;
      const size_t parts = is_broadcast ? 1 : members;
      for (size_t i = 0; i < parts * part; ++i) {
        wrong += memory[rank][i] != byte_of(i % part, i / part);
      }
      EXPECT_EQ(wrong, 0u) << rank;
      ASSERT_TRUE(turn_until([&] { return cw_request_release(requests[rank]) == CW_SUCCESS; }));
    }
  }
}

}  // namespace
}  // namespace cw::group_sdk_test
