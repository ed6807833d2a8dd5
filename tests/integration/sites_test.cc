// The lab itself: two sites whose hosts reach each other, and of which nothing is left.
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "control/json/json.h"
#include "tests/lab/enclosure.h"
#include "tests/lab/sites.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;

class SitesLab : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }
};

/// A UDP socket of a host, bound to one of its addresses.
class Talker {
 public:
  Talker(const Sites& sites, At place, const char* address)
      : name_(name_of(address)), fd_(sites.space(place).socket(name_.ss_family, SOCK_DGRAM)) {
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&name_), sizeof(name_)), 0) << address;
    const int whole = IP_PMTUDISC_PROBE;
    setsockopt(fd_, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof(whole));
  }
  ~Talker() { close(fd_); }
  Talker(const Talker&) = delete;
  Talker& operator=(const Talker&) = delete;

  /// Whether a datagram of so many bytes gets there, sooner or later.
  bool reaches(const Talker& other, size_t bytes = 100) const {
    return reaches_within({.tv_sec = 20, .tv_usec = 0}, other, bytes);
  }
  /// Whether it does so against all expectation.
  bool reaches_after_all(const Talker& other, size_t bytes = 100) const {
    return reaches_within({.tv_sec = 0, .tv_usec = 200'000}, other, bytes);
  }

 private:
  bool reaches_within(const timeval& most, const Talker& other, size_t bytes) const {
    setsockopt(other.fd_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    std::vector<uint8_t> sent(bytes, 7), received(bytes);
    sendto(fd_, sent.data(), bytes, 0, reinterpret_cast<const sockaddr*>(&other.name_),
           sizeof(other.name_));
    return recv(other.fd_, received.data(), bytes, 0) == static_cast<ssize_t>(bytes) &&
           sent == received;
  }
  static sockaddr_storage name_of(const char* address) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST;
    EXPECT_EQ(getaddrinfo(address, "7000", &hints, &found), 0);
    sockaddr_storage name{};
    std::memcpy(&name, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return name;
  }

  sockaddr_storage name_;
  int fd_;
};

struct Hosts {
  Hosts(const Sites& sites, const char* address_of_a, const char* address_of_b)
      : a(sites, At::HostA, address_of_a), b(sites, At::HostB, address_of_b) {}
  Talker a, b;
};

TEST_F(SitesLab, hosts_reach_each_other_in_both_families_when_routed_plainly) {
  Sites sites({});
  sites.join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
  const Hosts v4(sites, site_a.host, site_b.host), v6(sites, site_a.host_v6, site_b.host_v6);
  EXPECT_FALSE(v4.a.reaches_after_all(v4.b));
  EXPECT_FALSE(v6.a.reaches_after_all(v6.b));
  sites.route_plainly();
  for (const Hosts* hosts : {&v4, &v6}) {
    EXPECT_TRUE(hosts->a.reaches(hosts->b));
    EXPECT_TRUE(hosts->b.reaches(hosts->a));
  }
  const Json report = Json::parse(sites.part());
  // IPv6 says a word of its own now and then.
  EXPECT_GE(report["a_to_b"]["forwarded"], 2);
  EXPECT_GE(report["b_to_a"]["forwarded"], 2);
}

TEST_F(SitesLab, the_address_beside_has_a_route_of_its_own) {
  Sites sites({});
  sites.join(CW_WAN_PROGRAM, {});
  sites.route_beside();
  const Hosts v4(sites, site_a.beside, site_b.beside),
      v6(sites, site_a.beside_v6, site_b.beside_v6);
  EXPECT_TRUE(v4.a.reaches(v4.b));
  EXPECT_TRUE(v6.a.reaches(v6.b));
  const Hosts others(sites, site_a.host, site_b.host);
  EXPECT_FALSE(others.a.reaches_after_all(others.b));
}

TEST_F(SitesLab, cables_take_packets_as_long_as_asked) {
  Sites sites({.lan_mtu = 9000, .wan_mtu = 1280});
  sites.join(CW_WAN_PROGRAM, {});
  sites.route_plainly();
  const Hosts hosts(sites, site_a.host, site_b.host);
  EXPECT_TRUE(hosts.a.reaches(hosts.b, 1252));  // 1280 with its headers
  EXPECT_FALSE(hosts.a.reaches_after_all(hosts.b, 1253));
  const Talker gateway(sites, At::GatewayA, site_a.gateway);
  EXPECT_TRUE(hosts.a.reaches(gateway, 8972));
  EXPECT_FALSE(hosts.a.reaches_after_all(gateway, 8973));
}

/// The processes whose command line holds `word`.
int processes_with(const std::string& word) {
  int count = 0;
  FILE* const list = popen("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '", "r");
  std::string text;
  for (int each; (each = fgetc(list)) != EOF;) text += static_cast<char>(each);
  pclose(list);
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++count;
  return count;
}

/// Runs a lab with a long sleep in an enclosure, in a process of its own; returns that process.
pid_t start_enclosed(const std::string& seconds, const std::string& ready_file) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  _exit(run_enclosed([&] {
    Sites sites({});
    // The shell's child is not a child of ours.
    Program sleeper(sites.namespace_of(At::HostA), {"sh", "-c", "sleep " + seconds + "; true"});
    std::ofstream(std::string(enclosure_folder) + "/file") << "left behind?";
    while (processes_with("sleep " + seconds + " ") == 0) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    std::ofstream(ready_file) << "ready\n";
    sleeper.finish();
    return 0;
  }));
}

class Enclosure : public SitesLab, public testing::WithParamInterface<int> {};

TEST_P(Enclosure, leaves_nothing_behind_when_its_process_is_ended_by) {
  const std::string seconds = "86" + std::to_string(getpid()) + std::to_string(GetParam());
  const std::string ready_file = testing::TempDir() + "enclosure_" + seconds;
  const pid_t pid = start_enclosed(seconds, ready_file);
  while (access(ready_file.c_str(), F_OK) != 0) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GT(processes_with("sleep " + seconds + " "), 0);
  kill(pid, GetParam());
  int status = 0;
  waitpid(pid, &status, 0);
  if (GetParam() == SIGKILL) {
    EXPECT_TRUE(WIFSIGNALED(status));
  } else {
    EXPECT_EQ(WEXITSTATUS(status), 128 + GetParam());
  }
  for (int i = 0; i < 1000 && processes_with("sleep " + seconds + " ") > 0; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(processes_with("sleep " + seconds + " "), 0);
  EXPECT_NE(access((std::string(enclosure_folder) + "/file").c_str(), F_OK), 0);
  unlink(ready_file.c_str());
}

INSTANTIATE_TEST_SUITE_P(Signals, Enclosure, testing::Values(SIGINT, SIGTERM, SIGKILL));

}  // namespace
}  // namespace cw::lab
