// A device of DPDK's as people write it, and what the EAL is started with.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "dataplane/device/device_obstacle.h"
#include "dataplane/device/device_text.h"
#include "dataplane/device/eal_arguments.h"
#include "dataplane/kernel/kernel_interface.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw {
namespace {

// ---- device text ----
// Devices as people write them: what is read in them, and what is chosen for who says nothing.

TEST(DeviceText, has_a_name_a_driver_and_arguments) {
  const std::string memif = "net_memif12,role=client,socket=/run/x,rsize=9";
  EXPECT_EQ(device_name(memif), "net_memif12");
  EXPECT_EQ(device_driver(memif), "net_memif");
  EXPECT_EQ(device_argument(memif, "socket"), "/run/x");
  EXPECT_EQ(device_argument(memif, "rsize", 1), 9u);
  EXPECT_EQ(device_argument(memif, "size"), "");
  EXPECT_EQ(device_argument(memif, "bsize", 7), 7u);
  EXPECT_EQ(device_name("3b:00.0,a=b"), "0000:3b:00.0");
  EXPECT_EQ(device_driver("3b:00.0"), "");
}

TEST(DeviceText, gets_buffers_that_hold_what_is_to_be_carried) {
  for (const uint32_t mtu : {576, 1500, 2026, 2027, 4096, 8300, 9216}) {
    for (const char* device : {"net_memif0,role=client", "net_af_packet0,iface=no-such-one"}) {
      const std::string whole = complete_device(device, mtu, 1);
      EXPECT_GE(slot_mtu_of(whole), mtu) << whole;
      EXPECT_EQ(mistake_in_device(whole), "") << whole;
    }
  }
  EXPECT_EQ(complete_device("net_memif0,role=client", 1500, 1),
            "net_memif0,role=client,bsize=2048");
  EXPECT_EQ(complete_device("net_memif0", 8300, 1), "net_memif0,bsize=9216");
  EXPECT_EQ(complete_device("net_af_packet0,iface=no-such-one", 1500, 3),
            "net_af_packet0,iface=no-such-one,blocksz=65536,framesz=2048,framecnt=2048,qpairs=3");
  EXPECT_EQ(complete_device("net_af_packet0,iface=lo", 1500, 1),
            "net_af_packet0,iface=lo,blocksz=65536,framesz=65536,framecnt=64,qpairs=1");
}

TEST(DeviceText, keeps_what_the_user_says) {
  for (const char* device :
       {"net_memif0,bsize=4096", "net_af_packet0,iface=lo,framesz=2048,qpairs=2",
        "net_af_xdp0,iface=lo,start_queue=1,queue_count=2", "0000:3b:00.0", "net_null0,copy=1"}) {
    EXPECT_EQ(complete_device(device, 9000, 1), device);
  }
}

TEST(DeviceText, has_an_argument_behind_every_comma) {
  EXPECT_EQ(mistake_in_device("net_memif0,role=client"), "");
  for (const char* wrong : {"net_memif0,role=client,", "net_memif0,,role=client", "net_memif0,"}) {
    EXPECT_TRUE(mistake_in_device(wrong).starts_with("net_memif has no argument \"\"")) << wrong;
  }
}

TEST(DeviceObstacle, is_told_before_dpdk_is_asked) {
  EXPECT_EQ(shared_mtu("net_af_packet0,iface=lo"), kernel_mtu("lo"));
  EXPECT_EQ(shared_mtu("net_memif0"), UINT32_MAX);
  EXPECT_EQ(obstacle_to_device("net_null0", 1), "");
  EXPECT_EQ(obstacle_to_device("net_af_packet0,iface=no-such-one", 1),
            "the kernel has no interface no-such-one here; `ip link` lists them, those of this "
            "network namespace");
}

// ---- What is chosen for whom when DPDK is started ----

constexpr uint64_t gibibyte = uint64_t{1} << 30;

bool has(const std::vector<std::string>& arguments, const std::string& wanted) {
  return std::ranges::find(arguments, wanted) != arguments.end();
}

TEST(EalArguments, takes_hugepages_where_enough_are_free_and_plain_memory_elsewhere) {
  const EalOptions options{.memory_mib = 256};
  const auto rich = eal_arguments(options, gibibyte), poor = eal_arguments(options, gibibyte / 8);
  EXPECT_TRUE(has(rich, "--in-memory") && !has(rich, "--no-huge"));
  EXPECT_TRUE(has(poor, "--no-huge") && has(poor, "256") && !has(poor, "--in-memory"));
  EXPECT_TRUE(has(rich, "--no-shconf") && has(poor, "--no-shconf"));
}

TEST(EalArguments, looks_at_the_pci_bus_only_for_devices_that_are_named) {
  EXPECT_TRUE(has(eal_arguments({.devices = {"net_memif0,role=client"}}, 0), "--no-pci"));
  const auto pci = eal_arguments({.devices = {"0000:3b:00.0,dv_flow_en=1"}}, 0);
  EXPECT_TRUE(has(pci, "-a") && has(pci, "0000:3b:00.0,dv_flow_en=1") && !has(pci, "--no-pci"));
  for (const char* device : {"3b:00.1", "0000:3b:00.0", "3b:00.0,a=b"}) {
    EXPECT_TRUE(is_pci_device(device)) << device;
  }
  for (const char* device : {"net_null0", "net_memif0,mac=02:00:00:00:00:01", "", "eth0.1"}) {
    EXPECT_FALSE(is_pci_device(device)) << device;
  }
}

TEST(EalArguments, leaves_out_what_the_user_says_himself) {
  const auto memory = eal_arguments({.arguments = {"-m", "64", "--no-huge"}}, gibibyte);
  EXPECT_FALSE(has(memory, "--in-memory"));
  EXPECT_EQ(std::ranges::count(memory, "-m"), 1);
  EXPECT_TRUE(has(memory, "--no-shconf"));
  const auto cores = eal_arguments({.arguments = {"-l1", "--file-prefix=mine"}}, gibibyte);
  EXPECT_FALSE(has(cores, "-l") || has(cores, "--file-prefix"));
  EXPECT_TRUE(has(eal_arguments({.core = 1}, 0), "-l"));
}

// ---- stale socket ----
// The socket of a memif's server: one that was killed leaves it behind, and one that lives keeps
// it.

std::string own_path() {
  return (std::filesystem::temp_directory_path() / ("cw-stale-" + std::to_string(getpid())))
      .string();
}

OwnedFd listen_at(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  OwnedFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(listen(fd.get(), 1), 0);
  return fd;
}

std::string server_at(const std::string& path) { return "net_memif0,role=server,socket=" + path; }

TEST(StaleSocket, of_a_server_that_was_killed_is_removed) {
  const std::string path = own_path();
  { const OwnedFd killed = listen_at(path); }
  ASSERT_TRUE(std::filesystem::exists(path));
  remove_stale_socket(server_at(path));
  EXPECT_FALSE(std::filesystem::exists(path));
  remove_stale_socket(server_at(path));  // of nobody
}

// DPDK's driver would end the server's process if its greeting found nobody.
TEST(StaleSocket, of_a_server_that_lives_stays_and_its_greeting_is_heard) {
  const std::string path = own_path();
  const OwnedFd server = listen_at(path);
  ssize_t sent = -1;
  std::thread greeter([&] {
    const OwnedFd caller(accept(server.get(), nullptr, nullptr));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    sent = send(caller.get(), "hello", 5, MSG_NOSIGNAL);
  });
  remove_stale_socket(server_at(path));
  greeter.join();
  EXPECT_EQ(sent, 5);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
}

}  // namespace

}  // namespace cw
