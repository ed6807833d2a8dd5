// The other end of a memif comes and goes while frames cross.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "dataplane/port/dpdk/eal/device.h"
#include "tests/unit/port_dpdk/dpdk_pair.h"
#include "tests/unit/port_dpdk/other_process.h"

namespace cw::test {
namespace {
using namespace literals;

FrameDeviceOptions memif(const std::string& name, const std::string& role,
                         const std::string& wire = own_path("memif")) {
  return {.device = name + ",role=" + role + ",socket-abstract=no,socket=" + wire,
          .descriptors = 256,
          .ip_bytes_max = 1500,
          .packet_bytes = 1500,
          .packets = 256};
}

/// Sends and receives as fast as it can; returns how many frames came.
uint64_t turn(DpdkDevice& device) {
  std::array<Packet*, 32> burst;
  const size_t taken = device.take_burst(burst);
  for (size_t i = 0; i < taken; ++i) burst[i]->bytes = 1000;
  const size_t sent = device.tx_burst({burst.data(), taken});
  device.give_back(std::span(burst.data(), taken).subspan(sent));
  const size_t got = device.rx_burst(burst);
  device.give_back({burst.data(), got});
  return got;
}

struct Stage {
  std::atomic<bool> is_over = false, is_free = true;
  std::atomic<uint64_t> visits = 0;
};

/// Comes, sees a frame, and goes; as often as it can.
void visit(Stage& stage) {
  while (!stage.is_over) {
    if (!stage.is_free) continue;
    auto client = DpdkDevice::make(memif("net_memif1", "client"));
    if (!client) return (void)(ADD_FAILURE() << client.error().sentence);
    const Instant start = clock_now();
    bool has_seen = false;
    while (!has_seen && clock_now() - start < 2_s) has_seen = turn(**client) > 0;
    stage.visits += has_seen;
  }
}

// DPDK 22.11 unmaps the rings on a thread of its own, whatever the worker does with them.
TEST(Memif, hundreds_of_visitors_who_leave_in_the_middle_of_a_burst_hurt_nobody) {
  expect_in_own_process([] {
    start_small_eal();
    auto server = DpdkDevice::make(memif("net_memif0", "server"));
    ASSERT_TRUE(server) << server.error().sentence;
    Stage stage;
    uint64_t frames = 0;
    std::thread visitor([&] { visit(stage); });
    const Instant start = clock_now();
    while (stage.visits < 200 && clock_now() - start < 60_s) {
      frames += turn(**server);
      stage.is_free = !(*server)->is_link_up();
    }
    stage.is_over = true;
    visitor.join();
    EXPECT_GE(stage.visits, 200u);
    EXPECT_GT(frames, 10'000u);
  });
}

/// Sends, receives and looks after the device, as a port does, until it `is_over`, which is
/// told how many frames have just come. False: that took too long.
template <class IsOver>
bool turn_until(DpdkDevice& device, IsOver is_over) {
  const Instant start = clock_now();
  for (Instant now = start; now - start < 30_s; now = clock_now()) {
    if (is_over(turn(device))) return true;
    device.look_after(now);
    if (!device.is_link_up()) usleep(1000);
  }
  return false;
}

/// Our end lives on while those at the other end are killed one by one, in the middle of bursts.
void outlive_the_other_end(const std::string& own_role, const std::string& other_role) {
  const std::string wire = own_path("memif");
  OtherProcess other([&] {
    auto end = DpdkDevice::make(memif("net_memif1", other_role, wire));
    while (end) turn(**end), (*end)->look_after(clock_now());
  });
  start_small_eal();
  auto own = DpdkDevice::make(memif("net_memif0", own_role, wire));
  ASSERT_TRUE(own) << own.error().sentence;
  for (int life = 0; life < 6; ++life) {
    other.start();
    ASSERT_TRUE(turn_until(**own, [](uint64_t frames) { return frames > 0; })) << life;
    other.kill();
    ASSERT_TRUE(turn_until(**own, [&](uint64_t) { return !(*own)->is_link_up(); })) << life;
  }
}

// As by a server that has a socket already and is still being made.
TEST(Memif, a_client_that_is_turned_away_calls_again) {
  start_small_eal();
  const std::string wire = own_path("memif");
  const auto stranger = DpdkDevice::make(memif("net_memif0,id=0", "server", wire));
  const auto client = DpdkDevice::make(memif("net_memif1,id=1", "client", wire));
  ASSERT_TRUE(stranger && client);
  usleep(100'000);  // it calls, and nobody there has its number
  EXPECT_FALSE((*client)->is_link_up());
  const auto server = DpdkDevice::make(memif("net_memif2,id=1", "server", wire));
  ASSERT_TRUE(server) << server.error().sentence;
  EXPECT_TRUE(turn_until(**client, [&](uint64_t) { return (*client)->is_link_up(); }));
}

TEST(Memif, a_server_outlives_clients_that_are_killed) {
  expect_in_own_process([] { outlive_the_other_end("server", "client"); });
}

TEST(Memif, a_client_outlives_servers_that_are_killed_and_finds_the_next) {
  expect_in_own_process([] { outlive_the_other_end("client", "server"); });
}

}  // namespace
}  // namespace cw::test
