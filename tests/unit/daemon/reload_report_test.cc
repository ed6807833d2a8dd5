// What a file that is read again comes to at a gateway that runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "control/config/text/write.h"
#include "control/daemon/reload.h"
#include "control/gateway/keys/prefix.h"
#include "tests/sim/gateway/sites.h"

namespace cw::daemon {
namespace {

using Fate = Step::Fate;
using site::KeyKind;

constexpr Duration patience = Duration::from_ms(200);

/// Routes as a kernel would have them, one of which leads elsewhere.
struct FakeRoutes final : RouteSetter {
  Result<void> add(const gateway::Prefix& route) override {
    const std::string text = site::prefix_text(route);
    if (text == elsewhere) return failure("peer.routes: " + text + " is routed elsewhere");
    has.push_back(text);
    return {};
  }
  Result<void> remove(const gateway::Prefix& route) override {
    std::erase(has, site::prefix_text(route));
    return {};
  }
  std::vector<std::string> has;
  std::string elsewhere;
};

const std::string two_classes =
    "[[class]]\nname = \"one\"\nmatch = [{ dscp = 1 }]\nhold = \"200 ms\"\n"
    "[[class]]\nname = \"all\"\n";

/// One of two simulated sites, whose time passes while it is told to.
class ReloadReports : public testing::Test {
 protected:
  ReloadReports()
      : ReloadReports({sim::site_files(2, {.rate = "100 Mbit/s", .classes = two_classes})[0],
                       sim::site_files(2)[1]}) {}
  explicit ReloadReports(const std::vector<std::string>& files) : text_(files[0]) {
    sites_.emplace(sim::SitesOptions{.files = files});
    file_ = testing::TempDir() + "reload-" + std::to_string(getpid()) + ".toml";
    write(text_);
    reload_.emplace(site(), Source{file_, text_}, log_,
                    Surroundings{.routes = &routes_, .on_status_file = {}});
  }
  ~ReloadReports() override { std::remove(file_.c_str()); }

  site::Site& site() { return sites_->gateway(1); }
  void write(const std::string& text) const { std::ofstream(file_) << text; }
  /// The file that it was started with, and others in place of some of its words.
  std::string with(std::vector<std::pair<std::string, std::string>> words) const {
    std::string text = text_;
    for (const auto& [from, to] : words) {
      const size_t at = text.find(from);
      EXPECT_NE(at, text.npos) << from;
      text.replace(at, from.size(), to);
    }
    return text;
  }
  ReloadReport run_while_it_turns() {
    std::atomic<bool> stop = false;
    std::jthread turns([&] {
      while (!stop) sites_->run_for(Duration::from_ms(1));
    });
    ReloadReport report = reload_->run(Duration::from_s(10));
    stop = true;
    return report;
  }
  Rate rate() { return site().plan().peers[0].pacer.rate; }
  /// As the daemon looks, for so long at most; false: it has not come to that.
  bool look_until(const std::function<bool()>& is_so, Duration time) {
    for (const Instant end = sites_->now() + time; sites_->now() < end;) {
      sites_->run_for(Duration::from_ms(10));
      std::atomic<bool> stop = false;
      std::jthread turns([&] {
        while (!stop) sites_->run_for(Duration::from_us(100));
      });
      if (const auto state = site().state(Duration::from_s(10))) {
        (void)reload_->look_at_links(*state, Duration::from_s(10));
      }
      stop = true;
      turns.join();
      if (is_so()) return true;
    }
    return false;
  }

  const Log log_{LogLevel::Error, LogFormat::Text};
  std::string text_, file_;
  std::optional<sim::Sites> sites_;
  FakeRoutes routes_;
  std::optional<Reload> reload_;
};

Step step(const std::string& key, KeyKind kind, const std::string& before, const std::string& after,
          Fate fate, const std::string& why = "") {
  return {.key = key, .kind = kind, .before = before, .after = after, .fate = fate, .why = why};
}

TEST_F(ReloadReports, tell_what_becomes_of_each_key_and_change_nothing) {
  EXPECT_EQ(reload_->plan().steps, std::vector<Step>());
  write(with({{"100 Mbit/s", "50 Mbit/s"},
              {"dscp = 1", "dscp = 2"},
              {"hold = \"200 ms\"", "hold = \"200 ms\"\npolicy = \"go_back_n\""},
              {"[pair]\n", "[pair]\nmtu = 1400\n"},
              {"[wan]\n", "[wan]\ndevice = \"\"\n"}}));
  for (int i = 0; i < 2; ++i) {
    const ReloadReport report = reload_->plan();
    EXPECT_TRUE(report.is_done);
    EXPECT_EQ(report.mistakes, std::vector<std::string>());
    ASSERT_EQ(report.steps.size(), 5u);
    EXPECT_EQ(report.steps[0], step("class.one.match", KeyKind::Live, "[{dscp = 1}]",
                                    "[{dscp = 2}]", Fate::Applied));
    EXPECT_EQ(report.steps[1],
              step("class.one.policy", KeyKind::Swap, "", "\"go_back_n\"", Fate::Waits));
    EXPECT_EQ(report.steps[2].key, "pair.mtu");
    EXPECT_EQ(report.steps[2].fate, Fate::Waits);
    EXPECT_EQ(report.steps[2].why.find("by links that take the place of"), 0u);
    EXPECT_EQ(report.steps[3],
              step("wan.device", KeyKind::Restart, "", "\"\"", Fate::NeedsRestart));
    EXPECT_EQ(report.steps[4],
              step("wan.rate", KeyKind::Live, "\"100 Mbit/s\"", "\"50 Mbit/s\"", Fate::Applied));
  }
  EXPECT_EQ(rate(), Rate::from_mbps(100));
  EXPECT_EQ(reload_->open(), std::vector<Step>()) << "nothing of it has been wanted yet";
}

TEST_F(ReloadReports, say_what_the_next_start_brings) {
  write(with({{"100 Mbit/s", "50 Mbit/s"}}));
  const ReloadReport report = reload_->plan();
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_EQ(report.warnings[0],
            "pair.rate is 100 Mbit/s for the peers and will be 50 Mbit/s when this site starts "
            "again; it must be so at all sites then");
}

TEST_F(ReloadReports, say_why_a_live_key_goes_too_far) {
  write(with({{"100 Mbit/s", "150 Mbit/s"}, {"200 ms", "300 ms"}}));
  const ReloadReport report = reload_->plan();
  ASSERT_EQ(report.steps.size(), 2u);
  EXPECT_EQ(report.steps[0], step("class.one.hold", KeyKind::Live, "\"200 ms\"", "\"300 ms\"",
                                  Fate::Waits, "hold would be 300 ms, and memory is for 200 ms"));
  EXPECT_EQ(report.steps[1].fate, Fate::Waits);
  EXPECT_EQ(report.steps[1].why.find("peer \"site 2\" would be sent 150 Mbit/s"), 0u)
      << report.steps[1].why;
}

TEST_F(ReloadReports, take_a_peer_where_there_is_a_place) {
  const std::string peer =
      "[[peer]]\nname = \"site 3\"\naddress = \"192.0.2.3\"\nroutes = [\"10.3.0.0/16\"]\n";
  write(text_ + peer);
  ReloadReport report = reload_->plan();
  ASSERT_EQ(report.steps.size(), 1u);
  EXPECT_EQ(report.steps[0],
            step("peer.site 3", KeyKind::Live, "", "[[peer]]", Fate::NeedsRestart,
                 "there are places for 1 peers, and site.spare_peers makes more at a start"));
  // One that goes leaves its place, which another may have.
  std::string other = text_;
  for (const auto& [from, to] : {std::pair("\"site 2\"", "\"site 3\""), {"10.2.0.0", "10.3.0.0"}}) {
    other.replace(other.find(from), std::string(from).size(), to);
  }
  write(other);
  report = run_while_it_turns();
  ASSERT_EQ(report.steps.size(), 2u);
  EXPECT_EQ(report.steps[0].fate, Fate::Applied);
  EXPECT_EQ(report.steps[1].fate, Fate::Applied);
  EXPECT_EQ(site().plan().gateway.peers[0].name, "site 3");
  EXPECT_EQ(routes_.has, (std::vector<std::string>{"10.3.0.0/16"}));
}

TEST_F(ReloadReports, have_each_mistake_and_no_step) {
  write(with({{"100 Mbit/s", "many"}, {"dscp = 1", "dscp = 99"}}));
  const ReloadReport report = reload_->run(patience);
  EXPECT_FALSE(report.is_done);
  EXPECT_EQ(report.mistakes.size(), 2u);
  EXPECT_EQ(report.steps, std::vector<Step>());
}

TEST_F(ReloadReports, tell_a_second_time_only_what_still_differs) {
  const std::string text =
      with({{"100 Mbit/s", "50 Mbit/s"}, {"[pair]\n", "[pair]\nmtu = 1400\n"}});
  write(text);
  const ReloadReport first = run_while_it_turns();
  EXPECT_TRUE(first.is_done);
  EXPECT_EQ(first.steps.size(), 2u);
  EXPECT_EQ(rate(), Rate::from_mbps(50));
  const ReloadReport second = run_while_it_turns();
  ASSERT_EQ(second.steps.size(), 1u);
  EXPECT_EQ(second.steps[0].key, "pair.mtu");
  ASSERT_EQ(reload_->open().size(), 1u);
  EXPECT_EQ(reload_->open()[0].key, "pair.mtu");
  write(text_);
  const ReloadReport back = run_while_it_turns();
  ASSERT_EQ(back.steps.size(), 1u);
  EXPECT_EQ(back.steps[0],
            step("wan.rate", KeyKind::Live, "\"50 Mbit/s\"", "\"100 Mbit/s\"", Fate::Applied));
  EXPECT_EQ(reload_->open(), std::vector<Step>());
}

// The peer has always had one class, so that no link was up.
TEST_F(ReloadReports, have_other_links_in_force_once_these_are_up) {
  const std::string wanted = sim::site_files(2)[0];
  write(wanted);
  const ReloadReport report = run_while_it_turns();
  EXPECT_TRUE(report.is_done);
  EXPECT_EQ(reload_->relinking().json()["phase"], "waiting");
  const auto of_classes = std::ranges::find(report.steps, "class.one", &Step::key);
  ASSERT_NE(of_classes, report.steps.end());
  EXPECT_EQ(of_classes->fate, Fate::Waits);
  EXPECT_EQ(site().plan().classes.size(), 2u);
  const auto is_moved = [&] { return site().plan().classes.size() == 1; };
  ASSERT_TRUE(look_until(is_moved, Duration::from_s(2)));
  EXPECT_EQ(site::changes_between(wanted, toml_of(reload_->in_force())),
            std::vector<site::Change>());
  EXPECT_EQ(reload_->open(), std::vector<Step>());
  const auto is_over = [&] { return reload_->relinking().json().is_null(); };
  EXPECT_TRUE(look_until(is_over, Duration::from_s(3)));
  EXPECT_EQ(site().plan_beside(), nullptr);
  EXPECT_TRUE(site().state(sites_->now()).peers[0].is_up);
}

/// Both sites have had two classes, go over to one, and have both sets of links for a moment.
class TurningReloads : public ReloadReports {
 protected:
  TurningReloads() : ReloadReports(sim::site_files(2, {.classes = two_classes})) {
    EXPECT_TRUE(sites_->come_up());
    load(next_);
    EXPECT_TRUE(sites_->seat(2).relink(sim::site_files(2)[1], sites_->now()));
    EXPECT_TRUE(look_until(has_classes(1), Duration::from_s(2)));
    EXPECT_TRUE(look_until([] { return true; }, Duration::from_s(1)));  // who answers by what
  }
  void load(const std::string& text) {
    write(text);
    EXPECT_TRUE(run_while_it_turns().is_done);
  }
  std::function<bool()> has_classes(size_t count) {
    return [this, count] { return site().plan().classes.size() == count; };
  }
  void expect_at_rest(const std::string& text) {
    const auto is_over = [&] { return reload_->relinking().json().is_null(); };
    EXPECT_TRUE(look_until(is_over, Duration::from_s(5)));
    EXPECT_EQ(site::changes_between(text, toml_of(reload_->in_force())),
              std::vector<site::Change>());
    EXPECT_EQ(reload_->open(), std::vector<Step>());
    EXPECT_TRUE(site().state(sites_->now()).peers[0].is_up);
  }

  const std::string next_ = sim::site_files(2)[0];
};

TEST_F(TurningReloads, have_the_links_of_before_while_these_are_there) {
  load(text_);
  EXPECT_TRUE(look_until(has_classes(2), Duration::from_s(3)));
  sites_->crash(2);  // and begins with the file of before
  sites_->start(2);
  EXPECT_EQ(site::changes_between(text_, toml_of(reload_->in_force())),
            std::vector<site::Change>());
  EXPECT_EQ(reload_->open(), std::vector<Step>());
}

TEST_F(TurningReloads, are_taken_back_in_the_middle) {
  load(text_);
  ASSERT_TRUE(look_until([&] { return site().relink().is_turning(); }, Duration::from_s(1)));
  load(next_);
  EXPECT_TRUE(look_until(has_classes(2), Duration::from_s(3)));
  EXPECT_TRUE(look_until(has_classes(1), Duration::from_s(8)));
  expect_at_rest(next_);
}

TEST_F(ReloadReports, take_a_policy_without_room_by_other_links) {
  write(with({{"name = \"all\"\n", "name = \"all\"\npolicy = \"hybrid\"\n"}}));
  const ReloadReport report = reload_->plan();
  const auto step = std::ranges::find(report.steps, "class.all.policy", &Step::key);
  ASSERT_NE(step, report.steps.end());
  EXPECT_EQ(step->fate, Fate::Waits);
  EXPECT_EQ(step->why, "messages have no room for blocks of hybrid");
  EXPECT_TRUE(run_while_it_turns().is_done);
  ASSERT_NE(site().plan_beside(), nullptr);
  EXPECT_EQ(site().plan_beside()->classes[1].policy, "hybrid");
  for (const site::SwapView& each : site().state(sites_->now()).swaps) {
    EXPECT_FALSE(each.policy.starts_with("hybrid")) << "tried in vain";
  }
}

TEST_F(ReloadReports, give_up_other_links_that_nobody_wants_any_more) {
  for (const char* const mtu : {"1400", "1300"}) {
    write(with({{"[pair]\n", std::string("[pair]\nmtu = ") + mtu + "\n"}}));
    (void)run_while_it_turns();
  }
  EXPECT_NE(site().plan_beside(), nullptr);
  const auto is_the_second = [&] {
    return site().plan_beside() != nullptr &&
           site().plan_beside()->wan.payload_bytes_max < site().plan().wan.payload_bytes_max - 150;
  };
  EXPECT_TRUE(look_until(is_the_second, Duration::from_s(2))) << "the first has gone before";
  write(text_);
  (void)run_while_it_turns();
  const auto is_over = [&] { return reload_->relinking().json().is_null(); };
  EXPECT_TRUE(look_until(is_over, Duration::from_s(2)));
  EXPECT_EQ(reload_->open(), std::vector<Step>());
}

TEST_F(ReloadReports, have_in_force_what_was_taken_and_nothing_else) {
  const auto differing = [&] {
    std::vector<std::string> keys;
    for (const site::Change& each : site::changes_between(text_, toml_of(reload_->in_force()))) {
      keys.push_back(each.key + " " + each.after);
    }
    return keys;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(differing(), Keys());
  write(with({{"100 Mbit/s", "50 Mbit/s"}, {"[pair]\n", "[pair]\nmtu = 1400\n"}}));
  (void)reload_->plan();
  EXPECT_EQ(differing(), Keys()) << "nobody has loaded it";
  (void)run_while_it_turns();
  EXPECT_EQ(differing(), Keys({"wan.rate \"50 Mbit/s\""})) << "the other takes links";
  write(with({{"100 Mbit/s", "many"}}));
  (void)run_while_it_turns();
  EXPECT_EQ(differing(), Keys({"wan.rate \"50 Mbit/s\""})) << "a mistake takes nothing";
}

TEST_F(ReloadReports, keep_a_swap_open_until_it_is_done) {
  write(with({{"hold = \"200 ms\"", "hold = \"200 ms\"\npolicy = \"go_back_n\""}}));
  const ReloadReport report = run_while_it_turns();
  ASSERT_EQ(report.steps.size(), 1u);
  EXPECT_EQ(report.steps[0].fate, Fate::Waits);
  (void)reload_->look(sites_->state(1), patience);
  const std::vector<Step> open = reload_->open();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].key, "class.one.policy");
  EXPECT_EQ(open[0].fate, Fate::Waits);
  EXPECT_EQ(open[0].why.find("the link is down"), 0u) << open[0].why;
  EXPECT_EQ(reload_->plan().steps, open) << "what still waits is told again";
}

TEST_F(ReloadReports, undo_all_where_one_route_cannot_be_had) {
  const std::string own = "\"10.2.0.0/16\"";
  write(with({{"100 Mbit/s", "50 Mbit/s"}, {own, own + ", \"10.77.0.0/16\", \"10.78.0.0/16\""}}));
  routes_.elsewhere = "10.78.0.0/16";
  const ReloadReport report = run_while_it_turns();
  EXPECT_FALSE(report.is_done);
  ASSERT_EQ(report.steps.size(), 2u);
  for (const Step& each : report.steps) {
    EXPECT_EQ(each.fate, Fate::NotDone) << each.key;
    EXPECT_NE(each.why.find("10.78.0.0/16 is routed elsewhere"), std::string::npos) << each.why;
  }
  EXPECT_EQ(routes_.has, std::vector<std::string>());
  EXPECT_EQ(rate(), Rate::from_mbps(100));
  routes_.elsewhere.clear();
  EXPECT_TRUE(run_while_it_turns().is_done);
  EXPECT_EQ(routes_.has, (std::vector<std::string>{"10.77.0.0/16", "10.78.0.0/16"}));
  EXPECT_EQ(rate(), Rate::from_mbps(50));
}

TEST_F(ReloadReports, undo_the_loading_of_a_policy_where_something_else_cannot_be_had) {
  const std::string name = "\"site 1\"\n", own = "\"10.2.0.0/16\"";
  const std::string plugins = name + "plugins = [\"" CW_PLUGIN "\"]\n";
  const cw_policy_ops* const before = site().newest_policy("selective_repeat");
  write(with({{name, plugins}, {own, own + ", \"10.78.0.0/16\""}}));
  routes_.elsewhere = "10.78.0.0/16";
  EXPECT_FALSE(run_while_it_turns().is_done);
  EXPECT_EQ(site().newest_policy("selective_repeat"), before);
  routes_.elsewhere.clear();
  EXPECT_TRUE(run_while_it_turns().is_done);
  EXPECT_NE(site().newest_policy("selective_repeat"), before);
}

/// Whoever stands still is told to do nothing when it goes on.
TEST_F(ReloadReports, undo_all_where_a_worker_has_no_turn) {
  const std::string own = "\"10.2.0.0/16\"";
  write(with({{"100 Mbit/s", "50 Mbit/s"}, {own, own + ", \"10.77.0.0/16\""}}));
  const ReloadReport report = reload_->run(Duration::from_ms(20));
  EXPECT_FALSE(report.is_done);
  ASSERT_EQ(report.mistakes.size(), 1u);
  EXPECT_NE(report.mistakes[0].find("has no turn"), std::string::npos) << report.mistakes[0];
  EXPECT_EQ(routes_.has, std::vector<std::string>());
  EXPECT_EQ(rate(), Rate::from_mbps(100));
  sites_->run_for(Duration::from_ms(50));
  EXPECT_EQ(sites_->state(1).peers[0].rate, Rate::from_mbps(100));
  EXPECT_TRUE(run_while_it_turns().is_done);
  EXPECT_EQ(sites_->state(1).peers[0].rate, Rate::from_mbps(50));
}

}  // namespace
}  // namespace cw::daemon
