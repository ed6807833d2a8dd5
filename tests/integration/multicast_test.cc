// Multicast of the hosts of two sites, by two gateways: over TUN, where each gateway's kernel
// routes the group, and over an Ethernet of DPDK's, where the gateway itself is on the hosts' wire.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/two_gateways.h"
#include "tests/lab/multicast_routes.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char *group = "239.1.2.3", *other_group = "239.1.2.99";
constexpr const char* group_mac = ",01:00:5e:01:02:03,";
constexpr uint16_t udp_port = 7123;
constexpr uint32_t count = 200;

in_addr address_of(const char* text) {
  in_addr address{};
  EXPECT_EQ(inet_pton(AF_INET, text, &address), 1);
  return address;
}

sockaddr_in name_of(const char* address) {
  return {.sin_family = AF_INET,
          .sin_port = htons(udp_port),
          .sin_addr = address_of(address),
          .sin_zero = {}};
}

/// A member of the group on a LAN, who also sends to it; each datagram bears its number.
class Member {
 public:
  Member(const Space& space, const char* own) : fd_(space.socket(AF_INET, SOCK_DGRAM)) {
    const sockaddr_in name = name_of(group);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    const ip_mreq request{.imr_multiaddr = address_of(group), .imr_interface = address_of(own)};
    set(IP_ADD_MEMBERSHIP, request);
    set(IP_MULTICAST_IF, address_of(own));
    set(IP_MULTICAST_TTL, 8);
    set(IP_MULTICAST_LOOP, 0);
    const int room = 4 << 20;
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room), 0);
    const timeval most{.tv_sec = 2, .tv_usec = 0};
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most), 0);
  }
  ~Member() { close(fd_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void send(uint32_t number, const char* to = group) const {
    const sockaddr_in name = name_of(to);
    std::array<uint32_t, 100> datagram{number};
    EXPECT_EQ(sendto(fd_, datagram.data(), sizeof datagram, 0,
                     reinterpret_cast<const sockaddr*>(&name), sizeof name),
              static_cast<ssize_t>(sizeof datagram));
  }
  /// Numbers as they come, up to `most` of them, until nothing has for two seconds.
  std::vector<uint32_t> receive(size_t most) const {
    std::vector<uint32_t> numbers;
    std::array<uint32_t, 100> datagram;
    while (numbers.size() < most && recv(fd_, datagram.data(), sizeof datagram, 0) > 0) {
      numbers.push_back(datagram[0]);
    }
    return numbers;
  }

 private:
  template <class Value>
  void set(int option, const Value& value) {
    EXPECT_EQ(setsockopt(fd_, IPPROTO_IP, option, &value, sizeof value), 0) << strerror(errno);
  }
  int fd_;
};

/// What is to be seen on a host's cable: each frame of the group, with its source and hops.
class Listener {
 public:
  Listener(const Space& space, const std::string& interface)
      : tshark_(space.fd(), {"tshark", "-l", "-i", interface, "-f", "dst net 239.1.2.0/24", "-T",
                             "fields", "-E", "separator=,", "-e", "ip.src", "-e", "ip.ttl", "-e",
                             "eth.dst", "-e", "data.data"}) {}
  /// `host` sends to a group that nobody has until it is seen: what a capture says before it begins
  /// is only that it will.
  void wait_for(const Member& host) {
    for (int again = 0; again < 200 && tshark_.out_so_far().empty(); ++again) {
      host.send(0, other_group);
      std::this_thread::sleep_for(milliseconds(50));
    }
    EXPECT_FALSE(tshark_.out_so_far().empty()) << tshark_.err_so_far();
  }
  /// Lines so far, once there are `least`.
  std::vector<std::string> lines(size_t least) {
    std::vector<std::string> all;
    for (int again = 0; again < 50 && all.size() < least; ++again) {
      std::this_thread::sleep_for(milliseconds(100));
      all.clear();
      std::istringstream text(tshark_.out_so_far());
      for (std::string line; std::getline(text, line);) {
        if (line.find(group_mac) != line.npos) all.push_back(line);
      }
    }
    return all;
  }

 private:
  Program tshark_;
};

class Multicast : public TwoGateways {
 protected:
  struct Site {
    Gateway& gateway;
    const SiteAddresses& addresses;
    std::string number;
  };
  static constexpr const char* keys = "\n[[group]]\naddress = \"239.1.2.3\"\n";

  /// `lan`: lines of that table in the place of its device.
  template <class Lan>
  void begin(Lan lan) {
    prepare({}, {}, {"--delay", "10ms"});
    for (const Site& site : {Site{a(), site_a, "1"}, Site{b(), site_b, "2"}}) {
      std::string text = GatewayFile().text(&site.addresses == &site_a, folder());
      const std::string tun = "device = \"causeway0\"\n";
      text.replace(text.find(tun), tun.size(),
                   lan(site.addresses) + "prefixes = [\"" + site.addresses.prefix + "\"]\n");
      site.gateway.configure(text + keys);
      site.gateway.start();
    }
    for (Gateway* each : {&a(), &b()}) {
      ASSERT_TRUE(each->wait_up(seconds(20))) << each->program().err_so_far();
    }
  }

  static void expect_each_once(const std::vector<uint32_t>& numbers) {
    EXPECT_EQ(numbers.size(), count);
    EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), count);
  }
  /// On a cable: what the near host sent, and what the far one did, and each once.
  static void expect_seen_once(const std::vector<std::string>& lines, const char* near,
                               const char* far, uint8_t far_ttl) {
    const auto of = [&](const std::string& begin) {
      std::set<std::string> distinct;
      size_t all = 0;
      for (const std::string& line : lines) {
        if (!line.starts_with(begin)) continue;
        ++all;
        distinct.insert(line);
      }
      EXPECT_EQ(all, distinct.size()) << begin;
      return all;
    };
    EXPECT_EQ(of(std::string(near) + ",8" + group_mac), count);
    EXPECT_EQ(of(std::string(far) + "," + std::to_string(far_ttl) + group_mac), count);
    EXPECT_EQ(lines.size(), 2 * count) << "nothing else";
  }

  /// Both hosts send to the group and hear each other, and their cables show each frame once.
  void exchange_once(uint8_t far_ttl) {
    const Space &host_a = sites().space(At::HostA), &host_b = sites().space(At::HostB);
    const Member at_a(host_a, site_a.host), at_b(host_b, site_b.host);
    Listener on_a(host_a, "va"), on_b(host_b, "vb");
    on_a.wait_for(at_a);
    on_b.wait_for(at_b);
    for (uint32_t number = 0; number < count; ++number) {
      at_a.send(number);
      at_b.send(number);
      std::this_thread::sleep_for(milliseconds(1));
    }
    expect_each_once(at_b.receive(count));
    expect_each_once(at_a.receive(count));
    expect_seen_once(on_a.lines(2 * count), site_a.host, site_b.host, far_ttl);
    expect_seen_once(on_b.lines(2 * count), site_b.host, site_a.host, far_ttl);
    const Json status = a().status();
    ASSERT_EQ(status["groups"].size(), 1u);
    EXPECT_EQ(status["groups"][0]["address"], group);
    EXPECT_EQ(status["groups"][0]["sites"], 1);
    EXPECT_EQ(status["groups"][0]["frames"], count);
    EXPECT_EQ(status["groups"][0]["bytes"], count * 428);
    EXPECT_FALSE(status["drops"].contains("multicast_looped")) << status["drops"].dump();
  }
};

TEST_F(Multicast, crosses_over_tun_by_the_kernels_multicast_routing) {
  begin([](const SiteAddresses&) { return std::string("device = \"causeway0\"\n"); });
  MulticastRoutes near(sites().space(At::GatewayA), "la", "causeway0");
  MulticastRoutes far(sites().space(At::GatewayB), "lb", "causeway0");
  near.add(group, site_a.host, site_b.host);
  far.add(group, site_b.host, site_a.host);
  exchange_once(/*far_ttl=*/3);  // four on the long line; the far kernel takes one
}

#ifdef CW_HAVE_DPDK
TEST_F(Multicast, crosses_over_an_ethernet_of_dpdk_whose_kernel_joins) {
  begin([](const SiteAddresses& own) {
    return "port = \"dpdk\"\ndevice = \"net_af_packet0,iface=" + std::string(own.lan_interface) +
           ",blocksz=65536,framesz=2048,framecnt=1024\"\naddresses = [\"" + own.gateway +
           "/24\"]\n";
  });
  for (const auto& [place, interface] : {std::pair(At::GatewayA, "la"), {At::GatewayB, "lb"}}) {
    const Outcome joined = sites().space(place).run({"ip", "maddress", "show", "dev", interface});
    EXPECT_NE(joined.out.find(group), std::string::npos) << joined.out;
  }
  exchange_once(/*far_ttl=*/3);
}
#endif

}  // namespace
}  // namespace cw::lab
