// What both ends must have alike, changed at one gateway and a while later at the other, while
// datagrams cross both ways: none is lost.
#include <signal.h>

#include <iostream>
#include <memory>

#include "tests/integration/daemon_lab.h"
#include "tests/lab/datagrams.h"

namespace cw::lab {
namespace {

const std::string one_class = "[[class]]\nname = 'all'\nhold = '400 ms'\n";
const std::string two_classes =
    "[[class]]\nname = 'raw'\npolicy = 'selective_repeat'\nhold = '400 ms'\n"
    "[[class.match]]\nkind = 'udp'\nports = '7001'\n";

std::string config(bool is_a, const std::string& pair = "", const std::string& classes = one_class,
                   const std::string& rate = "100 Mbit/s") {
  std::string text = replaced(config_of(is_a), "rtt = '20 ms'\n", "");
  text = replaced(text, "200 Mbit/s", rate);
  text = replaced(text, "[pair]\n",
                  "[pair]\n" + pair + (pair.contains("rtt") ? "" : "rtt = '20 ms'\n"));
  return text + classes;
}

class Relink : public Causewayd {
 protected:
  void start_pair() {
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms", "--loss", "0.005"});
    start(a_, At::GatewayA, config(true));
    start(b_, At::GatewayB, config(false));
    ASSERT_TRUE(a_->wait_for("info up peer=north")) << a_->err_so_far();
    ASSERT_TRUE(b_->wait_for("info up peer=south")) << b_->err_so_far();
  }
  void send_both_ways() {
    const DatagramsOptions there{.udp_port = 7000, .bytes = 900, .per_second = 1000};
    DatagramsOptions back = there;
    back.from = At::HostB, back.to = At::HostA;
    back.source = site_b.host, back.target = site_a.host;
    back.udp_port = 7001;
    for (const auto& each : {there, back}) {
      streams_.push_back(std::make_unique<Datagrams>(*sites_, each));
      streams_.back()->start();
    }
  }
  void expect_nothing_lost() {
    for (const auto& each : streams_) each->stop();
    for (const auto& each : streams_) {
      each->settle();
      const DatagramCounts counts = each->counts();
      EXPECT_GT(counts.sent, 1000u);
      EXPECT_EQ(counts.lost(), 0u) << text_of(counts) << a_->err_so_far() << b_->err_so_far();
      EXPECT_EQ(counts.doubled + counts.wrong, 0u) << text_of(counts);
      std::cout << "             " << text_of(counts) << "\n";
    }
  }
  void write(bool is_a, const std::string& text) const {
    std::ofstream(folder_ / (is_a ? "a.toml" : "b.toml")) << text;
  }
  void reload(bool is_a, const std::string& text) {
    write(is_a, text);
    (is_a ? a_ : b_)->signal(SIGHUP);
  }
  Outcome ctl(const Arguments& more) const {
    Arguments all = {CW_CTL_PROGRAM, "--config", folder_ / "a.toml"};
    all.insert(all.end(), more.begin(), more.end());
    return sites_->space(At::GatewayA).run(all);
  }
  /// So many times since the start.
  static bool wait_for(Program& daemon, const std::string& text, size_t times) {
    for (const auto end = Time::now() + seconds(40); Time::now() < end;) {
      size_t count = 0;
      const std::string told = daemon.err_so_far();
      for (size_t at = told.find(text); at != told.npos; at = told.find(text, at + 1)) ++count;
      if (count >= times) return true;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return false;
  }

  std::vector<std::unique_ptr<Datagrams>> streams_;
};

TEST_F(Relink, loses_no_datagram_whatever_changes) {
  start_pair();
  send_both_ways();
  const std::string wanted[][3] = {
      {"mtu = 1300\n", one_class, "100 Mbit/s"},
      {"mtu = 1300\nrtt = '40 ms'\n", one_class, "100 Mbit/s"},
      {"mtu = 1300\n", two_classes + one_class, "100 Mbit/s"},
      {"", two_classes + one_class, "160 Mbit/s"},
  };
  size_t times = 0;
  for (const auto& [pair, classes, rate] : wanted) {
    SCOPED_TRACE(pair + classes + rate);
    ++times;
    reload(true, config(true, pair, classes, rate));
    ASSERT_TRUE(wait_for(*a_, "info relink_begun", times)) << a_->err_so_far();
    std::this_thread::sleep_for(seconds(1));
    reload(false, config(false, pair, classes, rate));
    for (const auto* daemon : {&a_, &b_}) {
      EXPECT_TRUE(wait_for(**const_cast<std::optional<Program>*>(daemon), "info relinked", times))
          << (*daemon)->err_so_far();
    }
  }
  expect_nothing_lost();
  const Json south = status("south.json");
  EXPECT_EQ(south["peers"][0]["link"], "up");
  EXPECT_EQ(south["peers"][0]["rate_mbps"], 160);
  EXPECT_EQ(south["classes"].size(), 2u);
  EXPECT_EQ(a_->err_so_far().find("warning down"), std::string::npos);
}

// Keys of one site alone: the other has nothing to load.
TEST_F(Relink, of_keys_of_one_site_needs_nobody_at_the_other) {
  start_pair();
  send_both_ways();
  std::this_thread::sleep_for(seconds(1));
  reload(true, config(true, "rtt = '12 ms'\nrtt_max = '80 ms'\n"));
  EXPECT_TRUE(wait_for(*a_, "info relinked", 1)) << a_->err_so_far() << b_->err_so_far();
  EXPECT_TRUE(wait_for(*b_, "info relinked", 1)) << b_->err_so_far();
  EXPECT_TRUE(b_->wait_for("info relink_asked")) << b_->err_so_far();
  std::this_thread::sleep_for(seconds(1));
  expect_nothing_lost();
}

TEST_F(Relink, is_waited_for_and_told_by_the_command) {
  start_pair();
  const std::string mtu = "mtu = 1300\n";
  write(true, config(true, mtu));
  const Outcome plan = ctl({"plan"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("by links that take the place"), std::string::npos) << plan.out;
  const Outcome early = ctl({"reload", "--wait", "1s"});
  EXPECT_EQ(early.status, 7) << early.out << early.err;
  EXPECT_NE(early.out.find("of \"north\" no such links are up"), std::string::npos) << early.out;
  EXPECT_TRUE(a_->wait_for("info relink_waits for=[\"north\"]")) << a_->err_so_far();
  const Outcome later = ctl({"reload", "--links-later"});
  EXPECT_EQ(later.status, 0) << later.out << later.err;
  EXPECT_NE(later.out.find("waits"), std::string::npos) << later.out;
  reload(false, config(false, mtu));
  const Outcome done = ctl({"reload", "--wait", "20s"});
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_TRUE(wait_for(*b_, "info relinked", 1)) << b_->err_so_far();
  EXPECT_NE(ctl({"plan"}).out.find("nothing differs"), std::string::npos);
}

// One dies while it waits, and its next life has the next file.
TEST_F(Relink, is_done_with_a_peer_that_dies_meanwhile) {
  start_pair();
  const std::string mtu = "mtu = 1300\n";
  reload(true, config(true, mtu));
  reload(false, config(false, mtu));
  ASSERT_TRUE(b_->wait_for("info relink_begun")) << b_->err_so_far();
  b_->signal(SIGKILL);
  (void)b_->finish();
  start(b_, At::GatewayB, config(false, mtu));
  EXPECT_TRUE(wait_for(*a_, "info relinked", 1)) << a_->err_so_far() << b_->err_so_far();
  send_both_ways();
  std::this_thread::sleep_for(seconds(2));
  expect_nothing_lost();
}

// And back to the file of before, at the one that had the next.
TEST_F(Relink, is_taken_back_while_it_waits) {
  start_pair();
  send_both_ways();
  reload(true, config(true, "mtu = 1300\n"));
  ASSERT_TRUE(a_->wait_for("info relink_begun")) << a_->err_so_far();
  reload(true, config(true));
  EXPECT_TRUE(a_->wait_for("info relink_cancelled")) << a_->err_so_far();
  std::this_thread::sleep_for(seconds(1));
  expect_nothing_lost();
}

}  // namespace
}  // namespace cw::lab
