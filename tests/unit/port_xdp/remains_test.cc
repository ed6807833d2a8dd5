// An interface is left as it was found, whatever becomes of the gateway.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include <fstream>
#include <string>

#include "dataplane/port/xdp/xdp_device.h"
#include "dataplane/port/xdp/xdp_socket.h"
#include "tests/unit/port_xdp/veth.h"

namespace cw::test {
namespace {

FrameDeviceOptions options() {
  FrameDeviceOptions it;
  it.device = "v0";
  it.packet_bytes = 1500;
  it.packets = 256;
  it.descriptors = 64;
  it.flows = {{.target_udp_port = 4791}};
  return it;
}

bool has_program() { return std::system("ip -d link show v0 | grep -q xdp") == 0; }
bool is_pinged() { return std::system("busybox ping -c 2 -W 2 192.0.2.2 > /dev/null") == 0; }

TEST(XdpRemains, none_are_left_by_a_gateway_that_ends) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  ASSERT_FALSE(has_program());
  {
    const auto device = XdpDevice::make(options());
    ASSERT_TRUE(device) << device.error().sentence;
    EXPECT_TRUE(has_program());
    EXPECT_TRUE(is_pinged()) << "the kernel has the rest";
  }
  EXPECT_FALSE(has_program());
}

/// A process that has a device at v0 and waits to be killed; -1: it has none.
pid_t start_gateway(const FrameDeviceOptions& of = options()) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const auto device = XdpDevice::make(of);
    const char word = device ? 'y' : 'n';
    if (write(ready[1], &word, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char word = 0;
  const bool is_ready = read(ready[0], &word, 1) == 1 && word == 'y';
  close(ready[0]), close(ready[1]);
  return is_ready ? child : -1;
}

int queues_of_v0() {
  return std::system("[ $(ethtool -l v0 | sed -n 's/RX:[[:space:]]*//p' | tail -1) = 2 ]") == 0 ? 2
                                                                                                : 1;
}

/// As many queues as the file says, while there is a gateway, and those that were there before.
TEST(XdpRemains, are_no_queues_that_a_gateway_has_had_made) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth(2);
  veth.far.enter();
  run("ethtool -L v1 rx 1 tx 1");
  veth.near.enter();
  run("ethtool -L v0 rx 1 tx 1");
  FrameDeviceOptions two = options();
  two.queues = 2;
  {
    const auto device = XdpDevice::make(two);
    ASSERT_TRUE(device) << device.error().sentence;
    EXPECT_EQ((*device)->queues(), 2);
    EXPECT_EQ(queues_of_v0(), 2);
  }
  EXPECT_EQ(queues_of_v0(), 1);
  const pid_t child = start_gateway(two);
  ASSERT_GT(child, 0);
  EXPECT_EQ(queues_of_v0(), 2);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 200 && queues_of_v0() == 2; ++i) usleep(10'000);
  EXPECT_EQ(queues_of_v0(), 1);
}

/// A process that has a socket at the queue of v0 and soon ends; -1: it has none.
pid_t start_leaver() {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const auto frames = XdpFrames::make(256, 2048);
    OwnedFd fd(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    XdpSocket it;
    const bool has_it = XdpSocket::give_memory(fd.get(), *frames) == 0 &&
                        it.make(std::move(fd), 64) == 0 && it.bind_to("v0", 0, false) == 0;
    const char word = has_it ? 'y' : 'n';
    if (write(ready[1], &word, 1) != 1) _exit(1);
    usleep(500'000);
    _exit(0);
  }
  char word = 0;
  const bool is_ready = read(ready[0], &word, 1) == 1 && word == 'y';
  close(ready[0]), close(ready[1]);
  return is_ready ? child : -1;
}

/// As of a gateway that has ended: the kernel takes its socket off the queue a little later.
TEST(XdpRemains, on_a_queue_that_somebody_is_about_to_leave_are_waited_for) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  const pid_t child = start_leaver();
  ASSERT_GT(child, 0);
  const auto device = XdpDevice::make(options());
  EXPECT_TRUE(device) << device.error().sentence;
  waitpid(child, nullptr, 0);
}

TEST(XdpRemains, of_one_that_was_killed_with_its_keeper_swallow_nothing_and_go_with_the_next) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  const pid_t child = start_gateway();
  ASSERT_GT(child, 0);
  const auto second = XdpDevice::make(options());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().sentence.find("a gateway's XDP program already"), std::string::npos)
      << second.error().sentence;
  EXPECT_TRUE(has_program()) << "a second one takes nothing off";
  const pid_t keeper = child_of(child);
  ASSERT_GT(keeper, 0);
  kill(keeper, SIGKILL);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_pinged());
  EXPECT_TRUE(has_program()) << "nobody has taken it off";
  {
    const auto next = XdpDevice::make(options());
    ASSERT_TRUE(next) << next.error().sentence;
    EXPECT_TRUE(is_pinged());
  }
  EXPECT_FALSE(has_program());
}

TEST(XdpRemains, are_none_of_one_that_was_killed) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  const pid_t child = start_gateway();
  ASSERT_GT(child, 0);
  EXPECT_TRUE(has_program());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 200 && has_program(); ++i) usleep(10'000);
  EXPECT_FALSE(has_program());
}

/// bpffs, for this process and its children alone; a dispatcher needs it.
bool try_mount_bpffs() {
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("bpf", "/sys/fs/bpf", "bpf", 0, nullptr) == 0;
}

/// How many programs the dispatcher of v0 has; -1: there is none.
int dispatched_count() {
  xdp_multiprog* const all =
      xdp_multiprog__get_from_ifindex(static_cast<int>(if_nametoindex("v0")));
  if (libxdp_get_error(all) != 0) return -1;
  const int count = xdp_multiprog__is_legacy(all) ? -1 : xdp_multiprog__program_count(all);
  xdp_multiprog__close(all);
  return count;
}

/// They stay, whether there is a dispatcher to put ours beside them, which takes bpffs and a kernel
/// that lets one program replace a function of another, or none, and we are refused.
TEST(XdpRemains, are_the_programs_of_others) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  ASSERT_TRUE(try_mount_bpffs());
  // Of the package that libxdp comes in: it lets all frames pass on.
  xdp_program* const other = xdp_program__find_file("xdpfilt_alw_all.o", nullptr, nullptr);
  ASSERT_EQ(libxdp_get_error(other), 0);
  const auto index = static_cast<int>(if_nametoindex("v0"));
  ASSERT_EQ(xdp_program__attach(other, index, XDP_MODE_NATIVE, 0), 0);
  const bool has_dispatcher = dispatched_count() == 1;
  {
    const auto device = XdpDevice::make(options());
    ASSERT_EQ(device.has_value(), has_dispatcher);
    if (device) {
      EXPECT_EQ(dispatched_count(), 2);
      EXPECT_NE((*device)->status().text.find("dispatcher"), std::string::npos);
    } else {
      EXPECT_NE(device.error().sentence.find("v0 has another XDP program"), std::string::npos)
          << device.error().sentence;
    }
    EXPECT_TRUE(is_pinged());
  }
  EXPECT_TRUE(has_program());
  EXPECT_EQ(dispatched_count() == 1, has_dispatcher);
  xdp_program__detach(other, index, XDP_MODE_NATIVE, 0);
  xdp_program__close(other);
  EXPECT_FALSE(has_program());
}

TEST(XdpRemains, are_none_of_one_that_is_refused) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth(1, 9500);
  const auto tall = XdpDevice::make(options());
  ASSERT_FALSE(tall);
  EXPECT_NE(tall.error().sentence.find("mtu 9198"), std::string::npos) << tall.error().sentence;
  FrameDeviceOptions absent = options();
  absent.device = "v9";
  const auto none = XdpDevice::make(absent);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().sentence.find("no interface v9"), std::string::npos);
  run("ip link set v0 mtu 1500");
  FrameDeviceOptions more = options();
  more.queues = 2;
  const auto spread = XdpDevice::make(more);
  ASSERT_FALSE(spread);
  EXPECT_NE(spread.error().sentence.find("cannot be changed"), std::string::npos)
      << spread.error().sentence;
  FrameDeviceOptions many = options();
  many.shards = 4;
  const auto wide = XdpDevice::make(many);
  ASSERT_FALSE(wide);
  EXPECT_NE(wide.error().sentence.find("ethtool -L v0"), std::string::npos)
      << wide.error().sentence;
  EXPECT_FALSE(has_program());
}

}  // namespace
}  // namespace cw::test
