// What the log says of a site that changes, and that it says it once.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "control/daemon/log.h"
#include "control/daemon/watch/watcher.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"

namespace cw::daemon {
namespace {

using namespace literals;

site::Plan watched_plan() {
  site::Plan plan;
  plan.gateway.peers.push_back({.peer = 0, .name = "north", .routes = {}});
  plan.peers.emplace_back();
  plan.rtt = 20_ms;
  plan.rtt_max = 80_ms;
  return plan;
}

class Watching : public testing::Test {
 protected:
  Watching() {
    state_.peers.push_back({.is_up = false, .why = "no answer", .paths = {}});
    state_.peers[0].paths.emplace_back();
    state_.at = Instant() + 1_s;
  }

  /// The lines that looking after `time` brings, without their times.
  std::string after(Duration time) {
    testing::internal::CaptureStderr();
    state_.at += time;
    watcher_.look(state_);
    std::istringstream lines(testing::internal::GetCapturedStderr());
    std::string text;
    for (std::string line; std::getline(lines, line);)
      text += line.substr(line.find("Z ") + 2) + "\n";
    return text;
  }
  void set_up(Duration rtt) {
    state_.peers[0].is_up = true;
    state_.peers[0].rate = 500_Mbps;
    state_.peers[0].paths[0].rtt_smoothed = state_.peers[0].paths[0].rtt_min = rtt;
  }

  site::Plan plan_ = watched_plan();
  site::SiteState state_;
  Log log_{LogLevel::Info, LogFormat::Text};
  Watcher watcher_{plan_, log_};
};

TEST_F(Watching, says_why_a_link_is_not_up_once_it_has_been_so_for_a_while) {
  EXPECT_EQ(after(0_ms), "");
  EXPECT_EQ(after(500_ms), "");
  EXPECT_EQ(after(600_ms), "warning waiting peer=north why=\"no answer\"\n");
  EXPECT_EQ(after(5_s), "");
  state_.peers[0].why = "pair.rtt is 1 here and 2 at the peer";
  EXPECT_EQ(after(200_ms), "");
  EXPECT_EQ(after(1_s),
            "warning waiting peer=north why=\"pair.rtt is 1 here and 2 at the peer\"\n");
}

TEST_F(Watching, says_that_a_peer_asks_for_others_and_no_longer) {
  set_up(19_ms);
  (void)after(200_ms);
  state_.peers[0].is_drain_wanted = true;
  EXPECT_EQ(after(200_ms), "info peer_drains peer=north\n");
  EXPECT_EQ(after(200_ms), "");
  state_.peers[0].is_drain_wanted = false;
  EXPECT_EQ(after(200_ms), "info peer_drains_no_more peer=north\n");
}

TEST_F(Watching, says_once_that_a_link_is_up_and_once_that_it_is_down) {
  set_up(19_ms);
  EXPECT_EQ(after(200_ms), "info up peer=north rtt_ms=19.0 rate_mbps=500.0\n");
  EXPECT_EQ(after(200_ms), "");
  state_.peers[0].is_up = false;
  state_.peers[0].why = "the peer has left";
  EXPECT_EQ(after(200_ms), "warning down peer=north why=\"the peer has left\"\n");
  EXPECT_EQ(after(3_s), "");
}

TEST_F(Watching, says_that_a_link_began_anew_that_was_never_seen_to_be_down) {
  set_up(19_ms);
  state_.peers[0].epoch = 1;
  (void)after(200_ms);
  state_.peers[0].epoch = 2;
  EXPECT_TRUE(after(200_ms).starts_with("info began_anew peer=north meaning="));
  EXPECT_EQ(after(200_ms), "");
  state_.peers[0].epoch = 1;
  EXPECT_EQ(after(200_ms), "") << "of a link that took its place";
  state_.peers[0].is_up = false;
  (void)after(200_ms);
  state_.peers[0].epoch = 2;
  state_.peers[0].is_up = true;
  EXPECT_EQ(after(200_ms), "info up peer=north rtt_ms=19.0 rate_mbps=500.0\n");
}

TEST(WatchingSeveralLinks, says_which_of_them_it_means) {
  site::Plan plan = watched_plan();
  plan.links = 2;
  site::SiteState state;
  for (uint16_t link : {0, 1}) {
    state.peers.push_back({.link = link, .is_up = link == 1, .why = "no answer", .paths = {}});
    state.peers.back().paths.emplace_back();
  }
  const Log log{LogLevel::Info, LogFormat::Text};
  Watcher watcher(plan, log);
  testing::internal::CaptureStderr();
  watcher.look(state);
  state.peers[1].down_paths = 1;
  watcher.look(state);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("info up peer=north link=1 rtt_ms=0.0"), std::string::npos) << text;
  EXPECT_EQ(text.find("link=0"), std::string::npos) << text;
  EXPECT_NE(text.find("warning path_down peer=north link=1 path=0"), std::string::npos) << text;
  ASSERT_EQ(watcher.alarms().size(), 1u);
  EXPECT_TRUE(watcher.alarms()[0].starts_with("path 0 to north link 1: ")) << watcher.alarms()[0];
}

TEST_F(Watching, tells_of_a_way_that_is_longer_than_the_file_says_and_warns_where_memory_ends) {
  set_up(25_ms);
  EXPECT_EQ(after(200_ms), "info up peer=north rtt_ms=25.0 rate_mbps=500.0\n");
  set_up(26_ms);
  const std::string line = after(200_ms);
  EXPECT_TRUE(line.starts_with("info rtt_above_plan peer=north rtt_min_ms=26.0 pair_rtt_ms=20.0"))
      << line;
  set_up(80_ms);
  EXPECT_EQ(after(200_ms), "");
  set_up(81_ms);
  const std::string warning = after(200_ms);
  EXPECT_TRUE(
      warning.starts_with("warning rtt_above_max peer=north rtt_min_ms=81.0 pair_rtt_max_ms=80.0"))
      << warning;
  EXPECT_TRUE(warning.contains("pair.rtt_max")) << warning;
  EXPECT_EQ(after(200_ms), "");
}

TEST_F(Watching, sums_up_every_ten_seconds_what_has_moved_and_nothing_else) {
  set_up(19_ms);
  after(0_ms);
  EXPECT_EQ(after(11_s), "");
  state_.lan_port.rx_packets = 1000;
  state_.lan_port.rx_bytes = 1'250'000;
  state_.drops.values[static_cast<size_t>(DropReason::peer_unknown)] = 3;
  EXPECT_EQ(after(5_s), "");
  EXPECT_EQ(after(5_s),
            "info traffic from_hosts=1000 from_hosts_mbps=1.0 to_hosts=0 to_hosts_mbps=0.0 "
            "sent_again=0 lost_on_the_way_here=0\ninfo dropped peer_unknown=3\n");
  EXPECT_EQ(after(10_s), "");
}

TEST_F(Watching, says_once_that_a_path_has_become_too_small_and_once_that_it_fits) {
  set_up(20_ms);
  state_.peers[0].paths.resize(2);
  after(0_ms);
  EXPECT_TRUE(watcher_.alarms().empty());
  state_.peers[0].too_small_paths = 2;
  const std::string told = after(200_ms);
  EXPECT_TRUE(
      told.starts_with("warning path_too_small peer=north path=1 meaning=\"packets as long "))
      << told;
  EXPECT_EQ(after(1_s), "");
  ASSERT_EQ(watcher_.alarms().size(), 1u);
  EXPECT_TRUE(watcher_.alarms()[0].starts_with("path 1 to north: packets as long as pair.mtu"))
      << watcher_.alarms()[0];
  state_.peers[0].too_small_paths = 0;
  EXPECT_EQ(after(200_ms), "info path_fits peer=north path=1\n");
  EXPECT_TRUE(watcher_.alarms().empty());
  // A link that ends takes what was known of its paths with it.
  state_.peers[0].too_small_paths = 1;
  after(200_ms);
  state_.peers[0] = {.is_up = false, .why = "silent", .paths = state_.peers[0].paths};
  EXPECT_EQ(after(200_ms), "warning down peer=north why=silent\n");
  EXPECT_TRUE(watcher_.alarms().empty());
}

TEST_F(Watching, says_once_that_a_path_is_down_and_once_that_it_is_up) {
  set_up(20_ms);
  state_.peers[0].paths.resize(3);
  after(0_ms);
  state_.peers[0].down_paths = 1 << 2;
  const std::string told = after(200_ms);
  EXPECT_TRUE(told.starts_with("warning path_down peer=north path=2 meaning=\"questions on it "))
      << told;
  EXPECT_EQ(after(1_s), "");
  ASSERT_EQ(watcher_.alarms().size(), 1u);
  EXPECT_TRUE(watcher_.alarms()[0].starts_with("path 2 to north: questions on it find no answer"))
      << watcher_.alarms()[0];
  // It answers again, but only short ones.
  state_.peers[0].too_small_paths = 1 << 2;
  EXPECT_TRUE(after(200_ms).starts_with("warning path_too_small peer=north path=2"));
  state_.peers[0].down_paths = state_.peers[0].too_small_paths = 0;
  EXPECT_EQ(after(200_ms), "info path_fits peer=north path=2\n");
  state_.peers[0].down_paths = 1;
  after(200_ms);
  state_.peers[0].down_paths = 0;
  EXPECT_EQ(after(200_ms), "info path_up peer=north path=0\n");
  EXPECT_TRUE(watcher_.alarms().empty());
}

TEST_F(Watching, says_once_that_the_interface_has_become_too_small) {
  set_up(20_ms);
  after(0_ms);
  for (int i = 0; i < 5; ++i) {
    state_.wan.tx_too_big += 100;
    const std::string told = after(1_s);
    EXPECT_EQ(told.starts_with("warning too_big meaning="), i == 0) << told;
    EXPECT_EQ(watcher_.alarms().size(), 1u);
  }
  EXPECT_EQ(after(9_s), "");
  EXPECT_EQ(after(1_s), "info too_big_no_more packets=500\n");
  EXPECT_TRUE(watcher_.alarms().empty());
}

TEST_F(Watching, says_once_that_a_device_has_no_link_or_a_trouble_and_once_that_it_has_none) {
  FrameDeviceStatus& device = state_.wan_over_frames.emplace().device;
  device.name = "eth1";
  device.is_link_up = true;
  EXPECT_EQ(after(200_ms), "");
  device.is_link_up = false;
  const std::string down = after(200_ms);
  EXPECT_TRUE(down.starts_with("warning device_down port=wan device=eth1 meaning=")) << down;
  ASSERT_EQ(watcher_.alarms().size(), 1u);
  EXPECT_TRUE(watcher_.alarms()[0].starts_with("eth1: it has no link"));
  device.trouble = "eth1 is gone";
  EXPECT_EQ(after(200_ms), "warning device_trouble port=wan device=eth1 why=\"eth1 is gone\"\n");
  EXPECT_EQ(watcher_.alarms(), std::vector<std::string>{"eth1 is gone"});
  device.is_link_up = true;
  device.trouble.clear();
  EXPECT_EQ(after(200_ms),
            "info device_up port=wan device=eth1\ninfo device_well port=wan device=eth1\n");
  EXPECT_TRUE(watcher_.alarms().empty());
}

TEST_F(Watching, says_once_what_an_rnic_cannot_do_and_once_that_it_can) {
  set_up(20_ms);
  VerbsPortStatus& rnic = state_.wan_by_rnic.emplace();
  rnic.device = "mlx5_0";
  rnic.address = "10.9.0.1";
  after(200_ms);
  rnic.is_port_up = false;
  ++rnic.port_downs;
  EXPECT_TRUE(after(200_ms).starts_with("warning rnic_port_down device=mlx5_0 meaning="));
  EXPECT_EQ(after(1_s), "");
  ASSERT_EQ(watcher_.alarms().size(), 1u);
  EXPECT_TRUE(watcher_.alarms()[0].starts_with("device mlx5_0: its port has no link"));
  rnic.is_port_up = true;
  rnic.queues_broken = rnic.queues_mended = 3;
  EXPECT_EQ(after(200_ms), "info rnic_port_up device=mlx5_0\ninfo rnic_queues_mended queues=3\n");
  rnic.has_address = false;
  rnic.trouble = "device \"mlx5_0\" has lost the address 10.9.0.1";
  const std::string gone = after(200_ms);
  EXPECT_TRUE(gone.starts_with("warning rnic_address_gone device=mlx5_0 address=10.9.0.1 "))
      << gone;
  EXPECT_TRUE(gone.contains("\nwarning rnic_trouble why=")) << gone;
  rnic.has_address = true;
  EXPECT_EQ(after(200_ms), "info rnic_address_back device=mlx5_0 address=10.9.0.1\n");
  EXPECT_TRUE(watcher_.alarms().empty());
}

TEST_F(Watching, says_that_an_rnics_port_was_down_between_two_looks) {
  set_up(20_ms);
  VerbsPortStatus& rnic = state_.wan_by_rnic.emplace();
  after(0_ms);
  ++rnic.port_downs;
  const std::string told = after(200_ms);
  EXPECT_TRUE(told.starts_with("warning rnic_port_down ")) << told;
  EXPECT_TRUE(told.contains("\ninfo rnic_port_up ")) << told;
}

TEST_F(Watching, says_when_an_rnics_queues_begin_to_starve_and_when_they_do_no_more) {
  set_up(20_ms);
  VerbsPortStatus& rnic = state_.wan_by_rnic.emplace();
  after(0_ms);
  for (int i = 0; i < 3; ++i) {
    rnic.rx_starved += 4;
    const std::string told = after(1_s);
    EXPECT_EQ(told.starts_with("warning rnic_starved times=4 meaning="), i == 0) << told;
    EXPECT_EQ(watcher_.alarms().size(), 1u);
  }
  EXPECT_EQ(after(9_s), "");
  EXPECT_EQ(after(1_s), "info rnic_starved_no_more times=12\n");
  EXPECT_TRUE(watcher_.alarms().empty());
}

TEST_F(Watching, says_that_an_rnic_is_lost) {
  set_up(20_ms);
  VerbsPortStatus& rnic = state_.wan_by_rnic.emplace();
  after(0_ms);
  EXPECT_FALSE(watcher_.has_lost_wan());
  ++rnic.fatal;
  const std::string told = after(200_ms);
  EXPECT_TRUE(told.starts_with("error rnic_lost ")) << told;
  EXPECT_TRUE(watcher_.has_lost_wan());
  EXPECT_EQ(after(200_ms), "");
}

TEST_F(Watching, says_what_to_do_about_frames_of_several_segments) {
  set_up(20_ms);
  state_.lan_over_frames = FrameLanStatus{.device = {.interface = "eth1"}};
  after(0_ms);
  state_.lan_over_frames->rx_joined = 7;
  const std::string told = after(Watcher::summary_interval);
  EXPECT_TRUE(told.starts_with("warning joined frames=7 meaning=\"hosts hand over several "))
      << told;
  EXPECT_NE(told.find("gro off lro off for eth1"), std::string::npos) << told;
  EXPECT_EQ(after(Watcher::summary_interval), "");
}

}  // namespace

}  // namespace cw::daemon
