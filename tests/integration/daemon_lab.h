// causewayd as a process at the lab's sites, for its tests: files, status, hosts.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "control/json/json.h"
#include "tests/lab/lab.h"
#include "tests/lab/sites.h"

namespace cw::lab {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline std::string text_of(const fs::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

/// One end's file: site A of the lab, or B.
inline std::string config_of(bool is_a) {
  const SiteAddresses &own = is_a ? site_a : site_b, &other = is_a ? site_b : site_a;
  const std::string name = is_a ? "south" : "north", peer = is_a ? "north" : "south";
  return "[site]\nname = '" + name + "'\nstatus = '" + name +
         ".json'\n[api]\nfolder = 'api'\n[wan]\naddress = '" + own.wan +
         "'\nrate = '200 Mbit/s'\n[pair]\nkey_file = 'pair.key'\nrtt = '20 ms'\n" +
         "[[peer]]\nname = '" + peer + "'\naddress = '" + other.wan + "'\nroutes = ['" +
         other.prefix + "', '" + other.prefix_v6 + "']\n";
}

class Causewayd : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    std::string name = testing::TempDir() + "causewayd-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    before_ = fs::current_path();
    fs::current_path(folder_);  // where relative status files go
    std::ofstream("pair.key") << std::string(64, 'k');
    chmod("pair.key", 0600);
    sites_.emplace(SitesOptions{});
  }
  void TearDown() override {
    a_.reset(), b_.reset();  // who writes there
    if (folder_.empty()) return;
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

  Arguments command(const std::string& name, const std::string& config) const {
    std::ofstream(folder_ / (name + ".toml")) << config;
    return {CW_DAEMON_PROGRAM, "--config", folder_ / (name + ".toml")};
  }
  void start(std::optional<Program>& daemon, At place, const std::string& config) const {
    const std::string name = place == At::GatewayA ? "a" : "b";
    daemon.emplace(sites_->namespace_of(place), command(name, config));
  }
  /// Both gateways with a good link between them.
  void start_both() {
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
    start(a_, At::GatewayA, config_of(true));
    start(b_, At::GatewayB, config_of(false));
    ASSERT_TRUE(a_->wait_for("info up peer=north")) << a_->err_so_far();
    ASSERT_TRUE(b_->wait_for("info up peer=south")) << b_->err_so_far();
  }
  /// Of a gateway that is running, as of now or later: the next one that it writes may have been
  /// looked up before, the one after that was not.
  Json status(const std::string& name) const {
    for (int written = 0; written < 2; ++written) {
      const auto before = fs::last_write_time(name);
      const auto end = Time::now() + seconds(30);
      while (fs::last_write_time(name) == before && Time::now() < end) {
        std::this_thread::sleep_for(milliseconds(10));
      }
    }
    return Json::parse(text_of(name));
  }
  Outcome run(const std::string& config) const {
    return sites_->space(At::GatewayA).run(command("c", config));
  }

  fs::path folder_, before_;
  std::optional<Sites> sites_;
  std::optional<Program> a_, b_;
};

/// A host's UDP socket.
class Host {
 public:
  Host(const Sites& sites, At place, const char* address)
      : fd_(sites.space(place).socket(AF_INET, SOCK_DGRAM)), name_(socket_name(address, 7000)) {
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&name_), sizeof(name_)), 0);
    const timeval most{.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  }
  ~Host() { close(fd_); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void send(const Host& to, uint32_t number) const {
    sendto(fd_, &number, sizeof(number), 0, reinterpret_cast<const sockaddr*>(&to.name_),
           sizeof(to.name_));
  }
  std::optional<uint32_t> receive() const {
    uint32_t number = 0;
    if (recv(fd_, &number, sizeof(number), 0) != sizeof(number)) return std::nullopt;
    return number;
  }

 private:
  int fd_;
  sockaddr_in name_;
};

}  // namespace cw::lab
