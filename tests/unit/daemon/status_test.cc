#include "control/daemon/status.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

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
  ASSERT_TRUE(write_atomically(path, "a long first text"));
  std::ifstream reader(path);  // holds the old file
  ASSERT_TRUE(write_atomically(path, "second"));
  EXPECT_EQ(text_of(path), "second");
  std::string old;
  std::getline(reader, old);
  EXPECT_EQ(old, "a long first text");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  unlink(path.c_str());
}

TEST(Status, says_which_file_cannot_be_written) {
  const auto written = write_atomically("/nowhere/status.json", "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().sentence,
            "site.status: cannot write /nowhere/status.json.new: No such file or directory");
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
