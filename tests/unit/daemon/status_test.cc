#include "control/daemon/status.h"

#include <fnmatch.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "control/gateway/plan.h"
#include "control/gateway/site_state.h"

namespace cw::daemon {
namespace {

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
}

}  // namespace
}  // namespace cw::daemon
