// An interface that changes, goes and comes back under a port that has no rights any more.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/kernel/kernel_interface.h"
#include "dataplane/port/xdp/xdp_driver.h"
#include "tests/unit/port/made_packet.h"
#include "tests/unit/port/polling.h"
#include "tests/unit/port_xdp/veth.h"
#include "tests/unit/port_xdp/wan_ports.h"

namespace cw::test {
namespace {

/// What a gateway does once it has started; of this thread, until this ends.
class WithoutRights {
 public:
  WithoutRights() {
    get(rights_);
    Sets none = rights_;
    for (auto& each : none.sets) each.effective = 0;
    set(none);
  }
  ~WithoutRights() { set(rights_); }

 private:
  struct Sets {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct sets[2] = {};
  };
  static void get(Sets& it) { EXPECT_EQ(syscall(SYS_capget, &it.header, it.sets), 0); }
  static void set(Sets& it) { EXPECT_EQ(syscall(SYS_capset, &it.header, it.sets), 0); }
  Sets rights_;
};

/// A WAN port over AF_XDP at v0 and its peer's over sockets.
class Pair {
 public:
  explicit Pair(const Veth& veth) : veth_(veth) {
    auto port = FrameWanPort::make(xdp_driver(), wan_options("192.0.2.1", "192.0.2.2"));
    if (!port) ADD_FAILURE() << port.error().sentence;
    if (port) port_ = std::move(*port);
    connect_peer();
  }
  explicit operator bool() const { return port_ != nullptr && peer_ != nullptr; }
  FrameWanPort& port() { return *port_; }
  FrameDeviceStatus device() { return port_->status().device; }

  /// The far kernel's end is another one too.
  void connect_peer() {
    peer_.reset();
    veth_.far.enter();
    auto peer = udp_port("192.0.2.2", "192.0.2.1");
    if (!peer) ADD_FAILURE() << peer.error().sentence;
    if (peer) peer_ = std::move(*peer);
    veth_.near.enter();
  }

  /// Some packets each way; all of them have come.
  bool is_whole() {
    const WithoutRights none;
    constexpr size_t count = 20;
    const auto is_met = [&] { return port_->status().unresolved.empty() && device().is_link_up; };
    receive_until(*port_, is_met);
    if (!is_met()) return false;
    std::vector<Packet*> packets;
    for (uint8_t i = 0; i < count; ++i) packets.push_back(make_packet(*peer_, 900, i));
    if (peer_->tx_burst(packets, clock_now()) != count) return false;
    const auto there = receive(*port_, count);
    if (there.size() != count || port_->tx_burst(there, clock_now()) != count) return false;
    const auto back = receive(*peer_, count);
    bool is_right = back.size() == count;
    for (uint8_t i = 0; i < back.size(); ++i) is_right &= is_made_packet(*back[i], 900, i);
    peer_->give_back(back);
    return is_right;
  }

  /// Turns of the port until it is so, or it never is.
  template <class Condition>
  bool comes_to(Condition condition) {
    const WithoutRights none;
    receive_until(*port_, condition);
    return condition();
  }

 private:
  const Veth& veth_;
  std::unique_ptr<FrameWanPort> port_;
  std::unique_ptr<UdpPort> peer_;
};

/// That are free.
size_t packets_of(FrameWanPort& port) {
  std::vector<Packet*> all(8192);
  const size_t count = port.take_burst(all);
  port.give_back(std::span(all).first(count));
  return count;
}

constexpr size_t packets_in_all = 512 + 2 * 256;  // of wan_options()

TEST(XdpReturns, find_an_interface_that_was_gone_and_lose_no_packet_of_the_port) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  Pair pair(veth);
  ASSERT_TRUE(pair);
  ASSERT_TRUE(pair.is_whole());
  const size_t packets = packets_of(pair.port());
  uint64_t calls = pair.port().counters().system_calls;
  for (int round = 0; round < 3; ++round) {
    run("ip link del v0");
    ASSERT_TRUE(pair.comes_to([&] { return !pair.device().trouble.empty(); }));
    EXPECT_NE(pair.device().trouble.find("v0 is gone"), std::string::npos) << pair.device().trouble;
    EXPECT_FALSE(pair.device().is_link_up);
    EXPECT_EQ(packets_of(pair.port()), packets_in_all) << "the kernel has none";
    Packet* lost = make_packet(pair.port(), 900, 1);
    EXPECT_EQ(pair.port().tx_burst({&lost, 1}, clock_now()), 1u) << "dropped, as on a dead link";
    veth.connect();
    pair.connect_peer();
    EXPECT_TRUE(pair.is_whole()) << pair.device().trouble;
    EXPECT_EQ(pair.device().trouble, "");
    EXPECT_EQ(packets_of(pair.port()), packets);
    EXPECT_GT(pair.port().counters().system_calls, calls) << "counts only grow";
    calls = pair.port().counters().system_calls;
  }
}

TEST(XdpReturns, are_told_where_an_interface_has_another_mac) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  Pair pair(veth);
  ASSERT_TRUE(pair);
  const std::string mac = text_of(kernel_mac("v0"));
  run("ip link set v0 address 02:00:00:00:00:07");
  ASSERT_TRUE(pair.comes_to([&] { return !pair.device().trouble.empty(); }));
  EXPECT_NE(pair.device().trouble.find("has the MAC 02:00:00:00:00:07 now"), std::string::npos)
      << pair.device().trouble;
  run("ip link set v0 address " + mac);
  EXPECT_TRUE(pair.comes_to([&] { return pair.device().trouble.empty(); }));
}

TEST(XdpReturns, put_a_program_back_that_somebody_took_off) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  Pair pair(veth);
  ASSERT_TRUE(pair);
  ASSERT_TRUE(pair.is_whole());
  const auto is_back = [] { return std::system("ip -d link show v0 | grep -q xdp") == 0; };
  const pid_t keeper = child_of(getpid());
  ASSERT_GT(keeper, 0);
  kill(keeper, SIGSTOP);  // it looks away
  run("ip link set dev v0 xdp off");
  EXPECT_FALSE(is_back());
  kill(keeper, SIGCONT);
  ASSERT_TRUE(pair.comes_to(is_back));
  EXPECT_TRUE(pair.is_whole());
}

TEST(XdpReturns, say_that_nobody_keeps_the_program_any_more) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth;
  Pair pair(veth);
  ASSERT_TRUE(pair);
  kill(child_of(getpid()), SIGKILL);
  ASSERT_TRUE(pair.comes_to([&] { return !pair.device().trouble.empty(); }));
  EXPECT_NE(pair.device().trouble.find("has ended"), std::string::npos) << pair.device().trouble;
  EXPECT_TRUE(pair.is_whole()) << "and it goes on";
}

TEST(XdpReturns, are_of_more_queues_and_say_what_a_smaller_mtu_means) {
  CW_NEEDS_NETWORK_SPACE();
  const Veth veth(2);
  veth.far.enter();
  run("ethtool -L v1 rx 1 tx 1");
  veth.near.enter();
  run("ethtool -L v0 rx 1 tx 1");
  Pair pair(veth);
  ASSERT_TRUE(pair);
  ASSERT_TRUE(pair.is_whole());
  EXPECT_EQ(pair.device().rx_of_queue.size(), 1u);
  run("ethtool -L v0 rx 2 tx 2");
  ASSERT_TRUE(pair.comes_to([&] { return pair.device().rx_of_queue.size() == 2; }));
  EXPECT_EQ(pair.device().queues, 2);
  run("ip link set v0 mtu 1000");
  ASSERT_TRUE(pair.comes_to([&] { return !pair.device().trouble.empty(); }));
  EXPECT_NE(pair.device().trouble.find("an MTU of 1000 now, and had 1500"), std::string::npos)
      << pair.device().trouble;
  run("ip link set v0 mtu 1500");
  EXPECT_TRUE(pair.comes_to([&] { return pair.device().trouble.empty(); }));
}

}  // namespace
}  // namespace cw::test
