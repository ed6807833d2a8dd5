// Every misuse is an error with a sentence that names what was wrong; and messages allocate
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/message/sdk/messages.h"
#include "dataplane/sdr/sdr.h"  // both define what they share, in either order
#include "tests/sim/checkers/heap_watch.h"
#include "tests/unit/group_sdk/group_sim.h"

namespace cw::message_sdk_test {
namespace {

constexpr int64_t ms = 1'000'000;
constexpr size_t members = 3;
constexpr uint64_t day_ns = 86'400'000'000'000;
constexpr const char* one_is_missing[] = {"0", nullptr, "2"};
constexpr double one = 1;

void expect_sentence(const std::string& part) {
  EXPECT_NE(std::string(cw_last_error()).find(part), std::string::npos) << cw_last_error();
}
#define EXPECT_MISUSE(call, part) \
  EXPECT_EQ(call, CW_ERROR);      \
  expect_sentence(part)
#define EXPECT_NO_OBJECT(call, part) \
  EXPECT_EQ(call, nullptr);          \
  expect_sentence(part)

cw_mesh_attr attr_of(uint32_t rank) {
  cw_mesh_attr attr{};
  attr.size = sizeof(attr);
  attr.rank = rank;
  attr.members = members;
  attr.key = "a secret of this mesh";
  attr.key_bytes = 21;
  attr.bytes_max = 1 << 20;
  attr.pool_bytes = 1 << 16;
  attr.seed = rank + 1;
  return attr;
}

class MessageSdk : public testing::Test {
 protected:
  MessageSdk() : memory(1 << 20) { group_sim_begin(members, 1); }
  ~MessageSdk() override {
    for (cw_mesh* mesh : meshes) cw_mesh_destroy(mesh);
    group_sim_end();
  }
  void come_up() {
    for (uint32_t rank = 0; rank < members; ++rank) {
      const cw_mesh_attr attr = attr_of(rank);
      meshes[rank] = cw_mesh_create("sim:", &attr);
      ASSERT_NE(meshes[rank], nullptr) << cw_last_error();
    }
    run(500 * ms);
    for (cw_mesh* mesh : meshes) ASSERT_TRUE(cw_mesh_is_up(mesh)) << cw_mesh_why(mesh);
  }
  void run(int64_t ns) { mesh_sim_run(meshes.data(), meshes.size(), ns); }
  cw_mesh_send_wr send_wr(uint32_t to, uint64_t bytes) {
    cw_mesh_send_wr wr{};
    wr.size = sizeof(wr);
    wr.to = to;
    wr.address = memory.data();
    wr.bytes = bytes;
    return wr;
  }
  cw_mesh_recv_wr recv_wr(uint32_t from, uint64_t bytes) {
    cw_mesh_recv_wr wr{};
    wr.size = sizeof(wr);
    wr.from = from;
    wr.address = memory.data();
    wr.bytes = bytes;
    return wr;
  }

  std::array<cw_mesh*, members> meshes{};
  std::vector<uint8_t> memory;
};

void expect_refused(auto change, const char* part) {
  cw_mesh_attr attr = attr_of(0);
  change(attr);
  EXPECT_NO_OBJECT(cw_mesh_create("sim:", &attr), part);
}

TEST_F(MessageSdk, refuses_who_cannot_be_a_member) {
  EXPECT_NO_OBJECT(cw_mesh_create("sim:", nullptr), "cw_mesh_attr is null");
  const cw_mesh_attr sound = attr_of(0);
  EXPECT_NO_OBJECT(cw_mesh_create(nullptr, &sound), "the device is null");
  EXPECT_NO_OBJECT(cw_mesh_create("magic:", &sound), "\"magic\"; this program has: sim, udp");
  expect_refused([](auto& a) { a.size = 12; }, "cw_mesh_attr.size is 12");
  expect_refused([](auto& a) { a.size += 8; }, "and this library knows");
  expect_refused([](auto& a) { a.members = 0; }, "members is 0 and must be 1 to 16384");
  expect_refused([](auto& a) { a.members = 16385; }, "members is 16385");
  expect_refused([](auto& a) { a.rank = 3; }, "rank is 3 and must be below members, 3");
  expect_refused([](auto& a) { a.key = nullptr; }, "the key of the group has 0 bytes");
  expect_refused([](auto& a) { a.key_bytes = 15; }, "the key of the group has 15 bytes");
  expect_refused([](auto& a) { a.rate_bps = UINT64_MAX; }, "rate_bps is 18446744073709551615");
  expect_refused([](auto& a) { a.members = 4; }, "sim: \"3\" is no host");
  expect_refused([](auto& a) { a.addresses = one_is_missing; }, "the address of rank 1 is null");
}

TEST_F(MessageSdk, refuses_numbers_that_cannot_be) {
  expect_refused([](auto& a) { a.bytes_max = 0; }, "pool_bytes is 65536 and may be bytes_max, 0");
  expect_refused([](auto& a) { a.bytes_max = a.pool_bytes = 0; }, "bytes_max is 0 and must be 1");
  expect_refused([](auto& a) { a.bytes_max = UINT64_MAX; }, "bytes_max is 18446744073709551615");
  expect_refused(
      [](auto& a) {
        a.payload_bytes = 1024;
        a.bytes_max = (uint64_t{1} << 34) + 1;
      },
      "and must be 1 to 17179869184 in slots of 1024 bytes");
  expect_refused([](auto& a) { a.pool_bytes = a.bytes_max + 1; }, "pool_bytes is 1048577 and may");
  expect_refused([](auto& a) { a.sends_max = 65535; }, "sends_max is 65535 and may be 65534");
  expect_refused([](auto& a) { a.receives_max = 65535; }, "receives_max is 65535 and may be 65534");
  expect_refused([](auto& a) { a.deadline_ns = day_ns + 1; }, "deadline_ns is 86400000000001");
  expect_refused([](auto& a) { a.reorder_ns = 1'000'000'001; }, "reorder_ns is 1000000001");
  expect_refused([](auto& a) { a.payload_bytes = 100; }, "payload_bytes is 100 and must be a");
  expect_refused([](auto& a) { a.payload_bytes = 1022; }, "payload_bytes is 1022");
  expect_refused([](auto& a) { a.payload_bytes = 8192; }, "payload_bytes is 8192");
}

TEST_F(MessageSdk, refuses_policies_that_cannot_serve) {
  expect_refused([](auto& a) { a.policy = cw_policy_find("erasure"); },
                 "policy erasure refused to start: erasure: serves streams only");
  expect_refused(
      [](auto& a) {
        a.policy = cw_policy_find("passthrough");
        a.policy_params = &one;
        a.policy_param_count = 1;
      },
      "policy passthrough has 0 parameters; 1 were given");
  expect_refused(
      [](auto& a) {
        a.policy = cw_policy_find("erasure");
        a.policy_param_count = 1;
      },
      "1 were given, at a null pointer");
}

TEST_F(MessageSdk, null_meshes_are_errors) {
  cw_mesh_destroy(nullptr);
  EXPECT_EQ(cw_mesh_turn(nullptr), -1);
  expect_sentence("the mesh is null");
  EXPECT_EQ(cw_mesh_idle_ns(nullptr), 0);
  EXPECT_EQ(cw_mesh_fd(nullptr), -1);
  EXPECT_EQ(cw_mesh_is_up(nullptr), 0);
  EXPECT_EQ(cw_mesh_payload_bytes(nullptr), 0u);
  EXPECT_STREQ(cw_mesh_why(nullptr), "the mesh is null");
  const cw_mesh_send_wr send = send_wr(1, 1);
  const cw_mesh_recv_wr recv = recv_wr(1, 1);
  EXPECT_MISUSE(cw_mesh_send(nullptr, &send, nullptr), "the mesh is null");
  EXPECT_MISUSE(cw_mesh_recv(nullptr, &recv, nullptr), "the mesh is null");
  EXPECT_MISUSE(cw_mesh_post_pool(nullptr, memory.data(), 0), "the mesh is null");
  EXPECT_MISUSE(cw_mesh_cancel(nullptr, 1), "the mesh is null");
  cw_mesh_completion ended;
  EXPECT_EQ(cw_mesh_poll(nullptr, &ended, 1), -1);
  expect_sentence("the mesh is null");
}

TEST_F(MessageSdk, sends_refuse_what_cannot_be) {
  come_up();
  const auto refused = [&](auto change, const char* part) {
    cw_mesh_send_wr wr = send_wr(2, 1000);
    change(wr);
    cw_mesh_ticket ticket = 77;
    EXPECT_MISUSE(cw_mesh_send(meshes[1], &wr, &ticket), part);
    EXPECT_EQ(ticket, 77u);
  };
  EXPECT_MISUSE(cw_mesh_send(meshes[1], nullptr, nullptr), "cw_mesh_send_wr is null");
  refused([](auto& wr) { wr.size = 3; }, "cw_mesh_send_wr.size is 3");
  refused([](auto& wr) { wr.address = nullptr; }, "the address is null");
  refused([](auto& wr) { wr.to = 3; }, "to is 3 and must be below members, 3");
  refused([](auto& wr) { wr.to = 65536; }, "to is 65536");
  refused([](auto& wr) { wr.to = 1; }, "a member has no messages for itself");
  refused([](auto& wr) { wr.flags = 4; }, "flags are 0x4");
  refused([](auto& wr) { wr.bytes = 0; }, "a message has at least one byte");
  refused([](auto& wr) { wr.bytes = (1 << 20) + 1; }, "1048576 bytes at most, not 1048577");
  refused([](auto& wr) { wr.step_bytes = 999; }, "step_bytes is 999 and must be 0 or from");
  refused([](auto& wr) { wr.step_bytes = UINT64_MAX; }, "to 1152921504606846976");
  refused([](auto& wr) { wr.deadline_ns = day_ns + 1; }, "deadline_ns is 86400000000001");
}

TEST_F(MessageSdk, receives_and_what_else_is_called_refuse_what_cannot_be) {
  come_up();
  const auto refused = [&](auto change, const char* part) {
    cw_mesh_recv_wr wr = recv_wr(2, 1000);
    change(wr);
    EXPECT_MISUSE(cw_mesh_recv(meshes[1], &wr, nullptr), part);
  };
  EXPECT_MISUSE(cw_mesh_recv(meshes[1], nullptr, nullptr), "cw_mesh_recv_wr is null");
  refused([](auto& wr) { wr.size = 3; }, "cw_mesh_recv_wr.size is 3");
  refused([](auto& wr) { wr.address = nullptr; }, "the address is null");
  refused([](auto& wr) { wr.reserved = 1; }, "reserved is 1 and must be 0");
  refused([](auto& wr) { wr.from = 3; }, "from is 3 and must be below members, 3");
  refused([](auto& wr) { wr.from = 1; }, "a member has no messages for itself");
  refused([](auto& wr) { wr.bytes = 0; }, "a message has at least one byte");
  refused([](auto& wr) { wr.deadline_ns = day_ns + 1; }, "deadline_ns is 86400000000001");
  EXPECT_MISUSE(cw_mesh_post_pool(meshes[1], nullptr, 0), "the address is null");
  cw_mesh_completion ended;
  EXPECT_EQ(cw_mesh_poll(meshes[1], &ended, -1), -1);
  expect_sentence("the capacity is -1");
  EXPECT_EQ(cw_mesh_poll(meshes[1], nullptr, 1), -1);
  expect_sentence("the place for completions is null");
  EXPECT_EQ(cw_mesh_poll(meshes[1], nullptr, 0), 0);
}

TEST_F(MessageSdk, without_a_pool_takes_no_memory_for_one) {
  cw_mesh_attr attr = attr_of(0);
  attr.pool_bytes = 0;
  meshes[0] = cw_mesh_create("sim:", &attr);
  ASSERT_NE(meshes[0], nullptr) << cw_last_error();
  EXPECT_MISUSE(cw_mesh_post_pool(meshes[0], memory.data(), 0), "pool_bytes was 0");
}

TEST_F(MessageSdk, tickets_are_told_from_those_that_no_post_has_had) {
  come_up();
  const cw_mesh_recv_wr wr = recv_wr(0, 100);
  cw_mesh_ticket first = 0, second = 0;
  ASSERT_EQ(cw_mesh_recv(meshes[1], &wr, &first), CW_SUCCESS);
  ASSERT_EQ(cw_mesh_cancel(meshes[1], first), CW_SUCCESS);
  ASSERT_EQ(cw_mesh_recv(meshes[1], &wr, &second), CW_SUCCESS);
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  EXPECT_EQ(cw_mesh_cancel(meshes[1], first), CW_SUCCESS) << "is over: nothing";
  cw_mesh_completion ended[2];
  EXPECT_EQ(cw_mesh_poll(meshes[1], ended, 2), 1);
  for (const cw_mesh_ticket none : {uint64_t{0}, uint64_t{257} << 32, UINT64_MAX}) {
    EXPECT_MISUSE(cw_mesh_cancel(meshes[1], none), "which no post has had");
  }
  EXPECT_EQ(cw_mesh_cancel(meshes[1], second), CW_SUCCESS);
  EXPECT_EQ(cw_mesh_poll(meshes[1], ended, 2), 1);
}

TEST_F(MessageSdk, every_status_has_a_sentence_of_its_own) {
  std::vector<std::string> seen;
  for (int status = -1; status <= CW_MESH_UNLIKE_SIZE + 1; ++status) {
    const std::string text = cw_mesh_status_text(status);
    const bool is_none = status < 0 || status > CW_MESH_UNLIKE_SIZE;
    EXPECT_EQ(text == "no status of a message", is_none) << status;
    EXPECT_TRUE(is_none || std::ranges::count(seen, text) == 0) << text;
    seen.push_back(text);
  }
}

TEST_F(MessageSdk, members_of_another_shape_are_named) {
  for (uint32_t rank = 0; rank < members; ++rank) {
    cw_mesh_attr attr = attr_of(rank);
    attr.bytes_max += rank == 2 ? 1 : 0;
    meshes[rank] = cw_mesh_create("sim:", &attr);
    ASSERT_NE(meshes[rank], nullptr) << cw_last_error();
  }
  run(500 * ms);
  EXPECT_FALSE(cw_mesh_is_up(meshes[0]));
  EXPECT_NE(std::string(cw_mesh_why(meshes[0])).find("rank 2 and rank 0 are not of one group"),
            std::string::npos)
      << cw_mesh_why(meshes[0]);
}

TEST_F(MessageSdk, messages_travel_without_an_allocation) {
  come_up();
  constexpr uint64_t bytes = 50'000;
  std::vector<uint8_t> received(members * members * bytes);
  std::vector<uint8_t> pool(1 << 16);
  const uint64_t before = sim::HeapWatch::allocation_count();
  {
    sim::HeapWatch watch;
    for (int round = 0; round < 10; ++round) {
      uint8_t* next = received.data();
      for (uint32_t at = 0; at < members; ++at) {
        for (uint32_t from = 0; from < members; ++from, next += bytes) {
          if (from == at) continue;
          cw_mesh_recv_wr wr = recv_wr(from, bytes);
          wr.address = next;
          ASSERT_EQ(cw_mesh_recv(meshes[at], &wr, nullptr), CW_SUCCESS);
        }
      }
      for (uint32_t from = 0; from < members; ++from) {
        for (uint32_t to = 0; to < members; ++to) {
          const cw_mesh_send_wr wr = send_wr(to, bytes);
          if (from == to) continue;
          ASSERT_EQ(cw_mesh_send(meshes[from], &wr, nullptr), CW_SUCCESS);
        }
      }
      cw_mesh_send_wr pooled = send_wr(0, 1000), given_up = send_wr(1, 1000);
      pooled.flags = given_up.flags = CW_MESH_FOR_POOL;
      cw_mesh_ticket ticket;
      ASSERT_EQ(cw_mesh_post_pool(meshes[0], pool.data(), 7), CW_SUCCESS);
      ASSERT_EQ(cw_mesh_send(meshes[1], &pooled, nullptr), CW_SUCCESS);
      ASSERT_EQ(cw_mesh_send(meshes[0], &given_up, &ticket), CW_SUCCESS);
      run(20 * ms);
      ASSERT_EQ(cw_mesh_cancel(meshes[0], ticket), CW_SUCCESS);
      const int counts[members] = {6, 5, 4};
      for (uint32_t rank = 0; rank < members; ++rank) {
        cw_mesh* const mesh = meshes[rank];
        cw_mesh_completion ended[8];
        ASSERT_EQ(cw_mesh_poll(mesh, ended, 8), counts[rank]);
        for (int i = 0; i < counts[rank]; ++i) {
          const bool is_given_up =
              ended[i].is_of_pool != 0 && ended[i].peer == 1 && ended[i].is_send;
          ASSERT_EQ(ended[i].status, is_given_up ? CW_MESH_CANCELLED : CW_MESH_WHOLE);
        }
        ASSERT_STREQ(cw_mesh_why(mesh), "");
      }
    }
  }
  EXPECT_EQ(sim::HeapWatch::allocation_count(), before);
}

// ---- the example in the README is the program that is compiled and run ----

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(CW_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(MessageReadme, shows_the_example_that_is_compiled_and_run) {
  const std::string readme = text_of("dataplane/message/README.md");
  const std::string fence = "```c\n";
  const size_t first = readme.find(fence);
  ASSERT_NE(first, std::string::npos);
  const size_t begin = first + fence.size();
  EXPECT_EQ(readme.substr(begin, readme.find("```", begin) - begin),
            text_of("tests/unit/message_sdk/example.c"));
}

}  // namespace
}  // namespace cw::message_sdk_test
