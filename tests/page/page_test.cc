// The page of a gateway with three peers, one of which is not there, looked at in a real browser by
// look.py. CW_PAGE_PICTURES in the environment: a folder for the pictures of bench/report/page.md.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "dataplane/kernel/owned_fd.h"
#include "tests/demo/page/forwarder.h"
#include "tests/lab/datagrams.h"
#include "tests/lab/gateway.h"
#include "tests/lab/triangle.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array names = {"south", "north", "west"};
constexpr const char* strange_name = "<img src=x onerror=alert(1)> & a name longer than boxes have";

const char* name_of(int site) { return names[static_cast<size_t>(site - 1)]; }

std::string why_no_browser() {
  const std::string why_not = obstacle();
  if (!why_not.empty() || std::filesystem::exists(CW_BROWSER)) return why_not;
  return std::string("there is no ") + CW_BROWSER + "; ./packages installs it for the night";
}

/// A gateway's socket as a browser on this machine finds it.
class AsPage {
 public:
  AsPage(demo::Forwarder forwarder, std::string socket)
      : forwarder_(std::move(forwarder)),
        behind_{.gateway = std::move(socket), .demo = {}},
        thread_([this] { forwarder_.run(behind_, is_ended_); }) {}
  ~AsPage() { is_ended_ = true; }
  AsPage(const AsPage&) = delete;
  AsPage& operator=(const AsPage&) = delete;

  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(forwarder_.port()) + "/?page";
  }

 private:
  const demo::Forwarder forwarder_;
  const demo::Behind behind_;
  std::atomic<bool> is_ended_ = false;
  std::jthread thread_;  // ends first
};

class Page : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = why_no_browser();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    lab_.emplace(
        CW_WAN_PROGRAM, Arguments{"--rtt", "12ms"}, Triangle::site_count,
        std::map<int, Arguments>{{3, {"--loss", "0.5%", "--control", folder_.path("line")}}});
    folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    for (int site = 1; site <= Triangle::site_count; ++site) {
      gateways_.push_back(std::make_unique<Gateway>(lab_->gateway(site), folder_, CW_DAEMON_PROGRAM,
                                                    name_of(site)));
      gateways_.back()->configure(text_of_site(site));
      gateways_.back()->start();
    }
    send_all_ways();
  }

  std::string text_of_site(int site) const {
    std::ostringstream file;
    file << "[site]\nname = \"" << name_of(site) << "\"\nstatus = \"" << folder_.path(name_of(site))
         << ".json\"\n[api]\nfolder = \"" << folder_.path("api")
         << "\"\n[wan]\npaths = 2\naddress = \"" << Triangle::wan_address(site)
         << "\"\nrate = \"100 Mbit/s\"\n[pair]\nkey_file = \"pair.key\"\nrtt = \"25 ms\"\n"
         << "rate = \"50 Mbit/s\"\n[[class]]\nname = \"storage\"\npolicies = [\"go_back_n\", "
         << "\"hybrid\"]\n[[class.match]]\nports = \"7000-7049\"\n[[class]]\nname = \"the rest\"\n"
         << "policy = \"adaptive\"\npolicies = [\"selective_repeat\", \"erasure\"]\n"
         << "transfer = \"64 KiB\"\n";
    for (int far = 1; far <= Triangle::site_count; ++far) {
      if (far != site)
        file << peer(name_of(far), Triangle::wan_address(far), Triangle::prefix(far));
    }
    if (site == 1) file << peer(strange_name, "192.0.2.77", "10.77.0.0/24");
    return file.str();
  }
  static std::string peer(const std::string& name, const std::string& address,
                          const std::string& routes) {
    return "[[peer]]\nname = \"" + name + "\"\naddress = \"" + address + "\"\nroutes = [\"" +
           routes + "\"]\n";
  }

  /// Of both classes, between the own site and both others, and to nobody.
  void send_all_ways() {
    for (const uint16_t port : {uint16_t{7010}, uint16_t{7060}}) {
      for (const int far : {2, 3}) {
        send(1, far, static_cast<uint16_t>(port + far));
        send(far, 1, static_cast<uint16_t>(port + 10 + far));
      }
    }
    nobody_.emplace([this](const std::stop_token& stop) {
      const int fd = lab_->host(1).socket(AF_INET, SOCK_DGRAM);
      const OwnedFd owner(fd);
      const sockaddr_in there = socket_name("10.77.0.9", 7000);
      while (!stop.stop_requested()) {
        sendto(fd, "?", 1, 0, reinterpret_cast<const sockaddr*>(&there), sizeof(there));
        std::this_thread::sleep_for(milliseconds(200));
      }
    });
  }
  void send(int from, int to, uint16_t port) {
    const std::string& source = addresses_.emplace_back(Triangle::host_address(from));
    const std::string& target = addresses_.emplace_back(Triangle::host_address(to));
    DatagramsOptions options{.source = source.c_str(), .target = target.c_str(), .udp_port = port};
    options.per_second = 400;
    traffic_.push_back(std::make_unique<Datagrams>(lab_->host(from), lab_->host(to), options));
    traffic_.back()->start();
  }
  AsPage page_at(const char* socket) const {
    auto forwarder = demo::Forwarder::open(0);
    EXPECT_TRUE(forwarder) << forwarder.error().sentence;
    return {std::move(*forwarder), folder_.path(std::string("api/south/") + socket)};
  }

  Folder folder_;
  std::optional<Triangle> lab_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::list<std::string> addresses_;
  std::vector<std::unique_ptr<Datagrams>> traffic_;
  std::optional<std::jthread> nobody_;
};

/// What look.py says of it.
void expect_right(const Space* where, Arguments arguments) {
  arguments.insert(arguments.begin(), {"python3", CW_LOOK, "--browser", CW_BROWSER});
  const char* const pictures = getenv("CW_PAGE_PICTURES");
  if (pictures != nullptr) arguments.insert(arguments.end(), {"--pictures", pictures});
  const OwnedFd here(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  const Outcome outcome = Program(where ? where->fd() : here.get(), arguments).finish();
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  std::cout << outcome.out;
}

TEST_F(Page, is_as_it_should_be_in_a_browser) {
  const AsPage order = page_at("control.sock"), read = page_at("read.sock");
  expect_right(nullptr,
               {"--order", order.url(), "--read", read.url(), "--line", folder_.path("line"),
                "--gateway", std::to_string(gateways_.front()->program().pid())});
}

TEST(DemoPage, has_a_line_that_the_keyboard_turns_up) {
  const std::string why_not = why_no_browser();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  const Space here = Space::make();
  Program demo(here.fd(), {CW_DEMO_PROGRAM, "--page", "--seconds", "400", "--rate", "200Mbit/s"});
  ASSERT_TRUE(demo.wait_for("the page of site A's gateway is there")) << demo.err_so_far();
  std::string url = demo.out_so_far();
  url.erase(url.find('\n'));
  expect_right(&here, {"--demo", url});
  demo.signal(SIGINT);
  const Outcome outcome = demo.finish();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

}  // namespace
}  // namespace cw::lab
