// What surrounds a running gateway: its log, its status, who starts it and who watches it.
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "control/daemon/log.h"
#include "control/daemon/status.h"
#include "control/daemon/system/notify.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"
#include "control/json/json.h"

namespace cw::daemon {
namespace {

// ---- log ----

std::string logged(LogLevel least, LogFormat format, LogLevel level) {
  testing::internal::CaptureStderr();
  Log(least, format).event(level, "up", {{"peer", "north"}, {"rtt_ms", 24.5}});
  return testing::internal::GetCapturedStderr();
}

TEST(Log, quotes_what_would_be_taken_apart) {
  EXPECT_EQ(line_of("down", {{"peer", "north"}, {"why", "no answer"}, {"count", 3}}),
            "down peer=north why=\"no answer\" count=3");
  EXPECT_EQ(line_of("x", {{"a", ""}, {"b", "c=d"}, {"e", "say \"f\""}, {"g", true}}),
            "x a=\"\" b=\"c=d\" e=\"say \\\"f\\\"\" g=true");
  EXPECT_EQ(line_of("ready", Fields::object()), "ready");
}

// A kernel lets an interface be called nearly anything.
TEST(Log, takes_any_bytes_and_gives_a_terminal_none_to_obey) {
  EXPECT_EQ(line_of("x", {{"a", "\xff b"}, {"c", "d\x1b[2J"}}),
            "x a=\"\xef\xbf\xbd b\" c=\"d\\u001b[2J\"");
}

TEST(Log, writes_a_line_with_its_time_and_level) {
  const char* const line =
      "20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9].[0-9][0-9][0-9]Z"
      " info up peer=north rtt_ms=24.5\n";
  const std::string text = logged(LogLevel::Info, LogFormat::Text, LogLevel::Info);
  EXPECT_EQ(fnmatch(line, text.c_str(), 0), 0) << text;
}

TEST(Log, writes_an_object_a_line) {
  const auto json = Fields::parse(logged(LogLevel::Info, LogFormat::Json, LogLevel::Warning));
  EXPECT_EQ(json["level"], "warning");
  EXPECT_EQ(json["event"], "up");
  EXPECT_EQ(json["peer"], "north");
  EXPECT_EQ(json["rtt_ms"], 24.5);
}

TEST(Log, writes_nothing_below_its_level) {
  EXPECT_EQ(logged(LogLevel::Warning, LogFormat::Text, LogLevel::Info), "");
  EXPECT_NE(logged(LogLevel::Warning, LogFormat::Text, LogLevel::Warning), "");
  EXPECT_EQ(logged(LogLevel::Error, LogFormat::Text, LogLevel::Warning), "");
}

// ---- notify ----

/// A service manager's socket; a name that begins with @ lies in no file system.
class Manager {
 public:
  explicit Manager(const std::string& name) : name_(name), fd_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), bytes), 0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Manager() {
    unsetenv("NOTIFY_SOCKET");
    close(fd_);
    unlink(name_.c_str());
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  std::string heard() const {
    char text[100];
    const ssize_t count = recv(fd_, text, sizeof(text), MSG_DONTWAIT);
    return count < 0 ? "nothing" : std::string(text, static_cast<size_t>(count));
  }

 private:
  std::string name_;
  int fd_;
};

TEST(Notify, tells_the_socket_that_the_environment_names) {
  const Manager manager(testing::TempDir() + "notify_" + std::to_string(getpid()));
  EXPECT_TRUE(notify_manager("READY=1"));
  EXPECT_EQ(manager.heard(), "READY=1");
}

TEST(Notify, knows_names_outside_of_the_file_system) {
  const Manager manager("@causeway_notify_" + std::to_string(getpid()));
  EXPECT_TRUE(notify_manager("STOPPING=1"));
  EXPECT_EQ(manager.heard(), "STOPPING=1");
}

TEST(Notify, is_silent_when_nobody_asks_and_says_when_nobody_hears) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(notify_manager("READY=1"));
  setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
  EXPECT_FALSE(notify_manager("READY=1"));
  setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  EXPECT_FALSE(notify_manager("READY=1"));
  unsetenv("NOTIFY_SOCKET");
}

// ---- status ----

std::string text_of(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(Status, replaces_the_file_as_a_whole) {
  const std::string path = testing::TempDir() + "status_" + std::to_string(getpid());
  ASSERT_TRUE(try_write_atomically(path, "a long first text"));
  std::ifstream reader(path);  // holds the old file
  ASSERT_TRUE(try_write_atomically(path, "second"));
  EXPECT_EQ(text_of(path), "second");
  std::string old;
  std::getline(reader, old);
  EXPECT_EQ(old, "a long first text");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  unlink(path.c_str());
}

TEST(Status, says_which_file_cannot_be_written) {
  const auto written = try_write_atomically("/nowhere/status.json", "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().sentence,
            "site.status: cannot write /nowhere/status.json.new: No such file or directory");
}

/// What this process may write into a file.
class FileSizeMost {
 public:
  explicit FileSizeMost(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit most{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &most);
  }
  ~FileSizeMost() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeMost(const FileSizeMost&) = delete;
  FileSizeMost& operator=(const FileSizeMost&) = delete;

 private:
  rlimit before_{};
};

TEST(Status, keeps_the_old_file_and_says_why_when_the_new_one_cannot_be_whole) {
  const std::string path = testing::TempDir() + "status_full_" + std::to_string(getpid());
  ASSERT_TRUE(try_write_atomically(path, "old"));
  {
    const FileSizeMost most(10);
    const auto written = try_write_atomically(path, std::string(100, 'x'));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().sentence,
              "site.status: cannot write " + path + ".new: File too large");
  }
  EXPECT_EQ(text_of(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  unlink(path.c_str());
}

TEST(Status, leaves_nothing_when_a_folder_is_in_its_place) {
  const std::string path = testing::TempDir() + "status_folder_" + std::to_string(getpid());
  std::filesystem::create_directory(path);
  const auto written = try_write_atomically(path, "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().sentence, "site.status: cannot replace " + path + ": Is a directory");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  std::filesystem::remove(path);
}

// In a folder that others may write to, such as /tmp.
TEST(Status, does_not_write_where_a_stranger_has_put_a_link) {
  const std::string path = testing::TempDir() + "status_link_" + std::to_string(getpid());
  std::ofstream(path + ".precious") << "precious";
  ASSERT_EQ(symlink((path + ".precious").c_str(), (path + ".new").c_str()), 0);
  EXPECT_TRUE(try_write_atomically(path, "text").value());
  EXPECT_EQ(text_of(path), "text");
  EXPECT_EQ(text_of(path + ".precious"), "precious");
  for (const char* end : {"", ".precious", ".new"}) unlink((path + end).c_str());
}

TEST(Status, bears_the_time_it_was_written) {
  const std::string now = utc_now();
  const Json json =
      status_of(site::Plan(), site::SiteState(), {.state = "worker stuck", .stuck_since = now});
  const char* const iso =
      "20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9].[0-9][0-9][0-9]Z";
  EXPECT_EQ(fnmatch(iso, json["written"].get<std::string>().c_str(), 0), 0) << json["written"];
  EXPECT_GE(json["written"], now);
  EXPECT_EQ(json["stuck_since"], now);
  std::ifstream uptime("/proc/uptime");
  double seconds = 0;
  uptime >> seconds;
  EXPECT_NEAR(json["machine_uptime_s"].get<double>(), seconds, 60);
  EXPECT_EQ(status_at_start(site::Plan())["state"], "starting");
}

site::Plan plan_of_one_peer() {
  site::Plan plan;
  plan.site = "south";
  plan.gateway.peers.push_back({.peer = 0, .name = "north", .routes = {}});
  plan.wan.peers.push_back({.address = "192.0.2.2"});
  plan.classes.push_back({.name = "all", .policy = "passthrough"});
  return plan;
}

TEST(Status, shows_links_classes_counters_and_the_drops_there_were) {
  site::SiteState state;
  state.peers.push_back({.is_up = false, .why = "no answer"});
  state.peers[0].paths.resize(2);
  state.peers[0].paths[0].rtt_smoothed = Duration::from_ms(30);
  state.peers[0].paths[1].rtt_smoothed = Duration::from_ms(25);
  state.lanes.emplace_back().sent = 7;
  state.lanes[0].inbound.given_up = 2;
  state.drops.values[static_cast<size_t>(DropReason::peer_unknown)] = 3;
  state.rooms.values[static_cast<size_t>(Counter::data_sent)] = 5;
  state.worker.values[static_cast<size_t>(Counter::turns)] = 9;

  const Json json = status_of(plan_of_one_peer(), state, {.state = "draining", .cpu = 0.5});
  EXPECT_EQ(json["site"], "south");
  EXPECT_EQ(json["state"], "draining");
  EXPECT_EQ(json["cpu"], 0.5);
  EXPECT_EQ(json["peers"][0]["link"], "down");
  EXPECT_EQ(json["peers"][0]["why"], "no answer");
  EXPECT_EQ(json["peers"][0]["rtt_ms"], 25);
  EXPECT_EQ(json["peers"][0]["paths"].size(), 2u);
  EXPECT_EQ(json["classes"][0]["class"], "all");
  EXPECT_EQ(json["classes"][0]["sent"], 7);
  EXPECT_EQ(json["classes"][0]["received"]["given_up"], 2);
  EXPECT_EQ(json["counters"]["data_sent"], 5);
  EXPECT_EQ(json["counters"]["turns"], 9);
  EXPECT_EQ(json["drops"].size(), 1u);
  EXPECT_EQ(json["drops"]["peer_unknown"]["count"], 3);
  EXPECT_EQ(json["drops"]["peer_unknown"]["sentence"], sentence_of(DropReason::peer_unknown));
  EXPECT_FALSE(json.contains("impair"));
  EXPECT_FALSE(json.contains("shards"));
}

/// A shard whose link is number `link`, with as many frames as that and one.
site::SiteState state_of_shard(uint16_t link) {
  site::SiteState state;
  state.peers.push_back({.link = link, .is_up = link == 0, .why = "no answer"});
  state.peers[0].rate = Rate::from_mbps(100);
  state.peers[0].paths.resize(1);
  state.peers[0].paths[0].rtt_smoothed = Duration::from_ms(30 - link);
  state.lanes.emplace_back().sent = link + 1;
  state.lanes[0].inbound.out = link + 1;
  state.lan_port.rx_packets = state.wan_port.tx_packets = link + 1;
  state.drops.values[static_cast<size_t>(DropReason::peer_unknown)] = link + 1;
  state.is_quiet = state.is_drained = link == 0;
  state.shards.push_back({.core = 4 + link, .from_lan = link + 1u});
  return state;
}

TEST(Status, adds_up_what_shards_say) {
  site::Plan plan = plan_of_one_peer();
  plan.links = 2;
  plan.cores = {4, 5};
  site::SiteState state = state_of_shard(1);
  state.add(state_of_shard(0));
  EXPECT_FALSE(state.is_quiet);
  EXPECT_FALSE(state.is_drained);
  const Json json = status_of(plan, state, {});
  ASSERT_EQ(json["peers"].size(), 1u);
  const Json& peer = json["peers"][0];
  EXPECT_EQ(peer["link"], "down");
  EXPECT_EQ(peer["why"], "link 1: no answer");
  EXPECT_EQ(peer["rtt_ms"], 29);
  EXPECT_EQ(peer["rate_mbps"], 200);
  ASSERT_EQ(peer["links"].size(), 2u);
  EXPECT_EQ(peer["links"][0]["number"], 0);
  EXPECT_EQ(peer["links"][0]["link"], "up");
  EXPECT_EQ(peer["links"][1]["why"], "no answer");
  ASSERT_EQ(json["classes"].size(), 1u);
  EXPECT_EQ(json["classes"][0]["sent"], 3);
  EXPECT_EQ(json["classes"][0]["received"]["out"], 3);
  EXPECT_EQ(json["lan"]["rx_packets"], 3);
  EXPECT_EQ(json["wan"]["tx_packets"], 3);
  EXPECT_EQ(json["drops"]["peer_unknown"]["count"], 3);
  ASSERT_EQ(json["shards"].size(), 2u);
  EXPECT_EQ(json["shards"][0]["core"], 5);
  EXPECT_EQ(json["shards"][1]["from_lan"], 1);
}

}  // namespace

}  // namespace cw::daemon
