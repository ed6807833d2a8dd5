// Every misuse is an error with a sentence that names what was wrong; and operations allocate
// nothing.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/collective/sdk/collective.h"
#include "dataplane/sdr/sdr.h"  // both define what they share, in either order
#include "tests/sim/checkers/heap_watch.h"
#include "tests/unit/group_sdk/group_sim.h"

namespace cw::group_sdk_test {
namespace {

constexpr int64_t ms = 1'000'000;
constexpr size_t members = 3;

void expect_sentence(const std::string& part) {
  EXPECT_NE(std::string(cw_last_error()).find(part), std::string::npos) << cw_last_error();
}
#define EXPECT_MISUSE(call, part) \
  EXPECT_EQ(call, CW_ERROR);      \
  expect_sentence(part)
#define EXPECT_NO_OBJECT(call, part) \
  EXPECT_EQ(call, nullptr);          \
  expect_sentence(part)

cw_group_attr attr_of(uint32_t rank) {
  cw_group_attr attr{};
  attr.size = sizeof(attr);
  attr.rank = rank;
  attr.members = members;
  attr.key = "a secret of this group";
  attr.key_bytes = 22;
  attr.bytes_max = 1 << 20;
  attr.seed = rank + 1;
  return attr;
}

class GroupSdk : public testing::Test {
 protected:
  GroupSdk() : memory(1 << 20) { group_sim_begin(members, 1); }
  ~GroupSdk() override {
    for (cw_group* group : groups) cw_group_destroy(group);
    group_sim_end();
  }
  void come_up() {
    for (uint32_t rank = 0; rank < members; ++rank) {
      const cw_group_attr attr = attr_of(rank);
      groups[rank] = cw_group_create("sim:", &attr);
      ASSERT_NE(groups[rank], nullptr) << cw_last_error();
    }
    run(500 * ms);
    for (cw_group* group : groups) ASSERT_TRUE(cw_group_is_up(group)) << cw_group_why(group);
  }
  void run(int64_t ns) { group_sim_run(groups.data(), groups.size(), ns); }
  cw_coll_wr wr_of(uint64_t bytes) {
    cw_coll_wr wr{};
    wr.size = sizeof(wr);
    wr.bytes = bytes;
    wr.address = memory.data();
    return wr;
  }

  std::array<cw_group*, members> groups{};
  std::vector<uint8_t> memory;
  cw_request* request = nullptr;
};

TEST_F(GroupSdk, refuses_attributes_that_cannot_be) {
  const auto refused = [](auto change, const char* part) {
    cw_group_attr attr = attr_of(0);
    change(attr);
    EXPECT_NO_OBJECT(cw_group_create("sim:", &attr), part);
  };
  EXPECT_NO_OBJECT(cw_group_create("sim:", nullptr), "cw_group_attr is null");
  const cw_group_attr sound = attr_of(0);
  EXPECT_NO_OBJECT(cw_group_create(nullptr, &sound), "the device is null");
  EXPECT_NO_OBJECT(cw_group_create("magic:", &sound), "\"magic\"; this program has: sim, udp");
  refused([](auto& a) { a.size = 12; }, "cw_group_attr.size is 12");
  refused([](auto& a) { a.size += 8; }, "and this library knows");
  refused([](auto& a) { a.members = 0; }, "members is 0 and must be 1 to 16384");
  refused([](auto& a) { a.members = 16385; }, "members is 16385");
  refused([](auto& a) { a.rank = 3; }, "rank is 3 and must be below members, 3");
  refused([](auto& a) { a.key = nullptr; }, "the key of the group has 0 bytes");
  refused([](auto& a) { a.key_bytes = 15; }, "the key of the group has 15 bytes");
  refused([](auto& a) { a.bytes_max = 0; }, "bytes_max is 0");
  refused([](auto& a) { a.bytes_max = UINT64_MAX; }, "bytes_max is 18446744073709551615");
  refused([](auto& a) { a.chains = 9; }, "chains is 9 and may be 8");
  refused([](auto& a) { a.rate_bps = UINT64_MAX; }, "rate_bps is 18446744073709551615");
  refused([](auto& a) { a.deadline_ns = UINT64_MAX; }, "deadline_ns is 18446744073709551615");
  refused([](auto& a) { a.payload_bytes = 100; }, "payload_bytes is 100 and must be a multiple");
  refused([](auto& a) { a.payload_bytes = 1022; }, "payload_bytes is 1022");
  refused([](auto& a) { a.payload_bytes = 8192; }, "payload_bytes is 8192");
  refused([](auto& a) { a.sum_bytes_max = a.bytes_max + 1; }, "sum_bytes_max is 1048577");
  refused([](auto& a) { a.algorithm = 4; }, "algorithm is 4 and must be one of");
  refused([](auto& a) { a.members = 4; }, "sim: \"3\" is no host");
  static const char* const one_is_missing[] = {"0", nullptr, "2"};
  refused([](auto& a) { a.addresses = one_is_missing; }, "the address of rank 1 is null");
}

TEST_F(GroupSdk, devices_of_sockets_say_what_they_do_not_know) {
  static const char* const addresses[] = {"127.0.0.1:4791", "127.0.0.1:4792", "127.0.0.1:4793"};
  cw_group_attr attr = attr_of(0);
  attr.addresses = addresses;
  EXPECT_NO_OBJECT(cw_group_create("udp:", &attr), "udp: group: \"\" is not an IP address");
  EXPECT_NO_OBJECT(cw_group_create("udp:239.1.1.1,mtu=9", &attr), "udp: \"mtu=9\" is nothing");
  EXPECT_NO_OBJECT(cw_group_create("udp:239.1.1.1,ttl=9", &attr), "udp: ttl: 9 given, 1 to 4");
  EXPECT_NO_OBJECT(cw_group_create("udp:239.1.1.1,port=x", &attr), "port is \"x\"");
  EXPECT_NO_OBJECT(cw_group_create("udp:239.1.1.1,interface=eth99", &attr), "\"eth99\"");
  attr.addresses = nullptr;
  EXPECT_NO_OBJECT(cw_group_create("udp:239.1.1.1", &attr), "udp: interface: none has");
}

TEST_F(GroupSdk, null_groups_and_requests_are_errors) {
  cw_group_destroy(nullptr);
  EXPECT_EQ(cw_group_turn(nullptr), -1);
  expect_sentence("the group is null");
  EXPECT_EQ(cw_group_idle_ns(nullptr), 0);
  EXPECT_EQ(cw_group_fd(nullptr), -1);
  EXPECT_EQ(cw_group_is_up(nullptr), 0);
  EXPECT_EQ(cw_group_payload_bytes(nullptr), 0u);
  EXPECT_STREQ(cw_group_why(nullptr), "the group is null");
  EXPECT_NO_OBJECT(cw_group_shrink(nullptr, 0), "the group is null");
  EXPECT_MISUSE(cw_barrier(nullptr, &request), "the group is null");
  cw_request_info info;
  const uint8_t* bitmap;
  size_t bytes;
  EXPECT_MISUSE(cw_request_poll(nullptr, &info), "the request is null or was released");
  EXPECT_MISUSE(cw_request_bitmap_get(nullptr, &bitmap, &bytes), "the request is null");
  EXPECT_MISUSE(cw_request_release(nullptr), "the request is null");
}

TEST_F(GroupSdk, operations_refuse_what_cannot_be) {
  come_up();
  cw_group* const group = groups[1];
  const cw_coll_wr sound = wr_of(1000);
  EXPECT_MISUSE(cw_broadcast(nullptr, &sound, &request), "the group is null");
  EXPECT_MISUSE(cw_broadcast(group, nullptr, &request), "cw_coll_wr is null");
  EXPECT_MISUSE(cw_broadcast(group, &sound, nullptr), "the place for the request is null");
  cw_coll_wr wr = sound;
  wr.size = 3;
  EXPECT_MISUSE(cw_allgather(group, &wr, &request), "cw_coll_wr.size is 3");
  wr = sound;
  wr.address = nullptr;
  EXPECT_MISUSE(cw_allgather(group, &wr, &request), "the address is null");
  wr = sound;
  wr.root = 3;
  EXPECT_MISUSE(cw_broadcast(group, &wr, &request), "root is 3 and must be below members, 3");
  wr.root = 1;
  EXPECT_MISUSE(cw_allgather(group, &wr, &request), "root is 1 and must be 0");
  wr = sound;
  wr.element = 3;
  EXPECT_MISUSE(cw_allgather(group, &wr, &request), "element is 3 and must be one of cw_element");
  wr.element = CW_ELEMENT_F32;
  EXPECT_MISUSE(cw_allgather(group, &wr, &request), "nothing of this operation is added up");
  EXPECT_MISUSE(cw_reduce_scatter(group, &wr, &request), "input or output is null");
  wr.input = wr.output = memory.data();
  EXPECT_MISUSE(cw_reduce_scatter(group, &wr, &request), "more than sum_bytes_max allows");
  wr.element = CW_ELEMENT_NONE;
  EXPECT_MISUSE(cw_allgather_reduce_scatter(group, &wr, &request), "must be f32 or bf16");
  wr = wr_of(uint64_t{1} << 30);
  EXPECT_MISUSE(cw_allgather(group, &wr, &request), "more than bytes_max allows");
  EXPECT_NO_OBJECT(cw_group_shrink(group, 3), "rank 3 cannot be left out");
  EXPECT_NO_OBJECT(cw_group_shrink(group, 1), "rank 1 cannot be left out");
  EXPECT_TRUE(cw_group_is_up(group));
}

TEST_F(GroupSdk, a_released_request_is_told_from_the_next_in_its_place) {
  come_up();
  std::array<cw_request*, members> first{}, second{};
  for (size_t rank = 0; rank < members; ++rank) {
    ASSERT_EQ(cw_barrier(groups[rank], &first[rank]), CW_SUCCESS);
  }
  run(100 * ms);
  cw_request_info info;
  EXPECT_MISUSE(cw_request_poll(first[0], nullptr), "the place for the info is null");
  EXPECT_MISUSE(cw_request_bitmap_get(first[0], nullptr, nullptr), "the place for the bitmap");
  ASSERT_EQ(cw_request_release(first[0]), CW_SUCCESS);
  for (int i = 0; i < CW_GROUP_OPERATIONS; ++i) {
    ASSERT_EQ(cw_barrier(groups[0], &second[0]), CW_SUCCESS) << cw_last_error();
  }
  EXPECT_MISUSE(cw_request_poll(first[0], &info), "was released before");
  EXPECT_EQ(cw_request_poll(second[0], &info), CW_SUCCESS);
}

TEST_F(GroupSdk, members_of_another_shape_are_named) {
  come_up();
  cw_group_destroy(groups[2]);
  cw_group_destroy(groups[0]);
  cw_group_attr attr = attr_of(2);
  attr.bytes_max += 1;
  groups[2] = cw_group_create("sim:", &attr);
  attr = attr_of(0);
  attr.seed = 77;
  groups[0] = cw_group_create("sim:", &attr);
  run(500 * ms);
  EXPECT_FALSE(cw_group_is_up(groups[0]));
  EXPECT_NE(std::string(cw_group_why(groups[0])).find("rank 2 and rank 0 are not of one group"),
            std::string::npos)
      << cw_group_why(groups[0]);
}

TEST_F(GroupSdk, operations_run_without_an_allocation) {
  come_up();
  std::array<cw_request*, members> requests{};
  std::array<std::vector<uint8_t>, members> all;
  for (auto& each : all) each.resize(members * 100'000);
  const uint64_t before = sim::HeapWatch::allocation_count();
  {
    sim::HeapWatch watch;
    for (int round = 0; round < 10; ++round) {
      for (size_t rank = 0; rank < members; ++rank) {
        cw_coll_wr wr = wr_of(100'000);
        wr.address = all[rank].data();
        ASSERT_EQ(cw_allgather(groups[rank], &wr, &requests[rank]), CW_SUCCESS);
      }
      run(100 * ms);
      for (cw_request* each : requests) {
        cw_request_info info;
        ASSERT_EQ(cw_request_poll(each, &info), CW_SUCCESS);
        ASSERT_EQ(info.status, CW_REQUEST_DONE);
        ASSERT_EQ(cw_request_release(each), CW_SUCCESS);
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

TEST(GroupReadme, shows_the_example_that_is_compiled_and_run) {
  const std::string readme = text_of("dataplane/collective/README.md");
  const std::string fence = "```c\n";
  const size_t first = readme.find(fence);
  ASSERT_NE(first, std::string::npos);
  const size_t begin = first + fence.size();
  EXPECT_EQ(readme.substr(begin, readme.find("```", begin) - begin),
            text_of("tests/unit/group_sdk/example.c"));
}

}  // namespace
}  // namespace cw::group_sdk_test
