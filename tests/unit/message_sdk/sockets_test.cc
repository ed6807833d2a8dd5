// Members on real sockets, in one thread: loopback, real time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "dataplane/message/sdk/messages.h"

namespace cw::message_sdk_test {
namespace {

constexpr size_t members = 3;
constexpr auto patience = std::chrono::seconds(30);

/// Of addresses that no other process of tests has.
class OnSockets : public testing::Test {
 protected:
  OnSockets() {
    const std::string own =
        std::to_string(getpid() / 250 % 250) + "." + std::to_string(getpid() % 250);
    for (size_t rank = 0; rank < members; ++rank) {
      addresses_.push_back("127." + std::to_string(30 + rank) + "." + own);
    }
    std::array<const char*, members> texts{};
    for (size_t rank = 0; rank < members; ++rank) texts[rank] = addresses_[rank].c_str();
    for (uint32_t rank = 0; rank < members; ++rank) {
      cw_mesh_attr attr{};
      attr.size = sizeof(attr);
      attr.rank = rank;
      attr.members = members;
      attr.addresses = texts.data();
      attr.key = "a secret of this mesh";
      attr.key_bytes = 21;
      attr.bytes_max = 8 << 20;
      attr.rate_bps = 1'000'000'000;
      meshes_[rank] = cw_mesh_create(("udp:239.101." + own + ",interface=lo").c_str(), &attr);
      EXPECT_NE(meshes_[rank], nullptr) << cw_last_error();
    }
  }
  ~OnSockets() override {
    for (cw_mesh* mesh : meshes_) cw_mesh_destroy(mesh);
  }
  bool turn_until(const std::function<bool()>& is_over) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!is_over()) {
      if (std::chrono::steady_clock::now() > end) return false;
      for (cw_mesh* mesh : meshes_) cw_mesh_turn(mesh);
    }
    return true;
  }

  std::vector<std::string> addresses_;
  std::array<cw_mesh*, members> meshes_{};
};

uint8_t byte_of(size_t index, size_t from, size_t to) {
  return static_cast<uint8_t>(index * 7 + index / 251 + from * 31 + to * 97);
}

TEST_F(OnSockets, an_all_to_all_comes_to_the_byte) {
  constexpr size_t part = 1'000'003;
  ASSERT_TRUE(turn_until([&] {
    for (const cw_mesh* mesh : meshes_) {
      if (cw_mesh_is_up(mesh) == 0) return false;
    }
    return true;
  })) << cw_mesh_why(meshes_[0]);
  ASSERT_GE(cw_mesh_fd(meshes_[0]), 0);
  std::array<std::array<std::vector<uint8_t>, members>, members> sent, received;
  for (uint32_t at = 0; at < members; ++at) {
    for (uint32_t from = 0; from < members; ++from) {
      if (from == at) continue;
      received[at][from].resize(part);
      cw_mesh_recv_wr wr{};
      wr.size = sizeof(wr);
      wr.from = from;
      wr.step = 9;
      wr.address = received[at][from].data();
      wr.bytes = part;
      ASSERT_EQ(cw_mesh_recv(meshes_[at], &wr, nullptr), CW_SUCCESS) << cw_last_error();
    }
  }
  for (uint32_t from = 0; from < members; ++from) {
    for (uint32_t to = 0; to < members; ++to) {
      if (from == to) continue;
      for (size_t i = 0; i < part; ++i) sent[from][to].push_back(byte_of(i, from, to));
      cw_mesh_send_wr wr{};
      wr.size = sizeof(wr);
      wr.to = to;
      wr.step = 9;
      wr.flags = CW_MESH_LAST;
      wr.address = sent[from][to].data();
      wr.bytes = wr.step_bytes = part;
      ASSERT_EQ(cw_mesh_send(meshes_[from], &wr, nullptr), CW_SUCCESS) << cw_last_error();
    }
  }
  size_t whole = 0, over = 0;
  ASSERT_TRUE(turn_until([&] {
    for (cw_mesh* mesh : meshes_) {
      cw_mesh_completion ended;
      while (cw_mesh_poll(mesh, &ended, 1) == 1) ++over, whole += ended.status == CW_MESH_WHOLE;
    }
    return over == 2 * members * (members - 1);
  }));
  EXPECT_EQ(whole, over);
  for (size_t at = 0; at < members; ++at) {
    for (size_t from = 0; from < members; ++from) {
      EXPECT_EQ(received[at][from], sent[from][at]) << from << " to " << at;
    }
  }
}

}  // namespace
}  // namespace cw::message_sdk_test
