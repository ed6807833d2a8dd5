// The EAL starts once and leaves nothing behind; devices come and go.
#include "dataplane/port/dpdk/eal.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "dataplane/port/dpdk/device.h"
#include "tests/unit/port_dpdk/dpdk_pair.h"

namespace cw::test {
namespace {

void expect_nothing_left() {
  for (const std::string folder : {"/var/run/dpdk", "/tmp/dpdk"}) {
    const std::string own = folder + "/causeway-" + std::to_string(getpid());
    EXPECT_FALSE(std::filesystem::exists(own)) << own;
  }
}

TEST(Eal, starts_once_keeps_the_threads_affinity_and_leaves_no_files) {
  expect_in_own_process([] {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    const auto first = start_eal({.memory_mib = 64});
    ASSERT_TRUE(first.has_value()) << first.error().sentence;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
    const auto second = start_eal({.arguments = {"--no-such-argument"}});
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->arguments, first->arguments);
    expect_nothing_left();
  });
}

TEST(Eal, leaves_no_files_with_memory_arguments_of_the_user_s) {
  expect_in_own_process([] {
    const auto started = start_eal({.arguments = {"--no-huge", "-m", "64"}});
    ASSERT_TRUE(started.has_value()) << started.error().sentence;
    expect_nothing_left();
  });
}

TEST(Eal, says_what_it_was_started_with_and_what_is_wrong) {
  expect_in_own_process([] {
    const auto started = start_eal({.arguments = {"--main-lcore", "999"}});
    ASSERT_FALSE(started.has_value());
    const std::string& sentence = started.error().sentence;
    EXPECT_NE(sentence.find("--main-lcore 999"), std::string::npos) << sentence;
    EXPECT_EQ(start_eal({}).error().sentence, sentence);
  });
}

TEST(DpdkDevice, is_refused_with_the_reason) {
  start_small_eal();
  const auto refused = [](DpdkDeviceOptions options) {
    options.packet_bytes = 2048;
    const auto made = DpdkDevice::make(options);
    return made ? std::string() : made.error().sentence;
  };
  const std::string driver = refused({.device = "net_nothing0"});
  EXPECT_TRUE(driver.starts_with("device: net_nothing0 cannot be had")) << driver;
  EXPECT_NE(driver.find("lists the drivers"), std::string::npos) << driver;
  const std::string arguments = refused({.device = "net_memif0,role=onlooker"});
  EXPECT_TRUE(arguments.starts_with("device: ")) << arguments;
  const std::string pci = refused({.device = "0000:ff:1f.7"});
  EXPECT_NE(pci.find("dpdk-devbind.py"), std::string::npos) << pci;
  const std::string queues = refused({.device = "net_null0", .queues = 60000});
  EXPECT_TRUE(queues.starts_with("queues: 60000 given")) << queues;
  const std::string memory = refused({.device = "net_null0", .packets = 1'000'000});
  EXPECT_TRUE(memory.starts_with("eal_memory: ")) << memory;
}

// A cache holds a few lines of each remainder by 4 KiB: packets that begin alike would throw each
// other out.
TEST(DpdkDevice, spreads_its_packets_over_the_lines_of_a_cache) {
  start_small_eal();
  auto made = DpdkDevice::make({.device = "net_null0", .packet_bytes = 1500, .packets = 512});
  ASSERT_TRUE(made) << made.error().sentence;
  std::array<Packet*, limits::burst_packets_max> packets;
  ASSERT_EQ((*made)->take_burst(packets), packets.size());
  std::array<size_t, 64> of_place{};
  for (const Packet* packet : packets) ++of_place[reinterpret_cast<uintptr_t>(packet) / 64 % 64];
  EXPECT_LE(*std::ranges::max_element(of_place), 8u);
  (*made)->give_back(packets);
}

TEST(DpdkDevice, goes_with_its_object_and_may_come_again) {
  start_small_eal();
  for (int life = 0; life < 3; ++life) {
    const auto device = DpdkDevice::make({.device = "net_null0", .packet_bytes = 2048});
    ASSERT_TRUE(device.has_value()) << device.error().sentence;
    EXPECT_EQ((*device)->driver(), "net_null");
    EXPECT_TRUE((*device)->interface().empty());
  }
}

TEST(DpdkDevice, lends_every_packet_once_and_gets_short_when_they_run_out) {
  start_small_eal();
  const auto made = DpdkDevice::make(
      {.device = "net_null0", .descriptors = 64, .packet_bytes = 512, .packets = 300});
  ASSERT_TRUE(made.has_value()) << made.error().sentence;
  DpdkDevice& device = **made;
  std::vector<Packet*> all(5000);
  const size_t count = device.take_burst(all);
  EXPECT_GE(count, 300u);
  ASSERT_LT(count, all.size());
  all.resize(count);
  for (Packet* packet : all) {
    EXPECT_EQ(packet->bytes_max, 512u);
    packet->data[0] = packet->data[511] = 1;
  }
  std::vector<Packet*> sorted = all;
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
  Packet* more = nullptr;
  EXPECT_EQ(device.take_burst({&more, 1}), 0u);
  device.give_back(all);
  EXPECT_EQ(device.take_burst(all), count);
  device.give_back(all);
}

}  // namespace
}  // namespace cw::test
