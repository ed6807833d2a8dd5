// Four gateways from one deployment's file, and what causeway-deploy plans, writes and applies
// while every host sends to every other.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <list>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "control/config/text/file.h"
#include "control/json/json.h"
#include "tests/lab/datagrams.h"
#include "tests/lab/gateway.h"
#include "tests/lab/pings.h"
#include "tests/lab/triangle.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int site_count = 4;
const std::string usual_pair = "rtt = \"14 ms\"\n";

class Deployed : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    lab_.emplace(CW_WAN_PROGRAM, Arguments{"--rtt", "6ms", "--loss", "0.3%"}, site_count);
    folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    for (int site = 1; site <= site_count; ++site) {
      gateways_.push_back(std::make_unique<Gateway>(lab_->gateway(site), folder_, CW_DAEMON_PROGRAM,
                                                    std::to_string(site)));
    }
  }
  void TearDown() override {
    if (!HasFailure()) return;
    for (const auto& each : gateways_) {
      if (each->is_running()) std::cerr << each->program().err_so_far() << "\n";
    }
  }

  /// All sites send by `policy`, and at such a rate; `memory` is of the second.
  void write(const std::string& policy, const std::string& rate, int count = site_count,
             const std::string& memory = "4 GiB", const std::string& pair = usual_pair) const {
    std::ostringstream text;
    text << "[pair]\nkey_file = \"pair.key\"\nrate = \"60 Mbit/s\"\n"
         << pair << "[defaults.wan]\nrate = \"" << rate
         << "\"\n[defaults.lan]\nqueue = \"100 ms\"\n[defaults.api]\nfolder = \"api\"\n"
         << "[defaults]\nspare_peers = 1\n"
         << "[[class]]\nname = \"all\"\npolicies = [\"selective_repeat\", \"hybrid\"]\npolicy = \""
         << policy << "\"\n"
         << patient_class;
    for (int site = 1; site <= count; ++site) {
      text << "[[site]]\nname = \"" << site << "\"\naddress = \"" << Triangle::wan_address(site)
           << "\"\nroutes = [\"" << Triangle::prefix(site) << "\"]\nstatus = \"" << site
           << ".json\"\n";
      if (site == 2) text << "memory = \"" << memory << "\"\n";
    }
    folder_.write("deployment.toml", text.str());
  }
  Outcome deploy(const std::string& command, Arguments more = {}) const {
    Arguments all = {CW_DEPLOY_PROGRAM, command, folder_.path("deployment.toml"), "--out",
                     folder_.path("")};
    all.insert(all.end(), more.begin(), more.end());
    return lab_->gateway(1).run(all);
  }
  Json plan() const {
    const Outcome outcome = deploy("plan", {"--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return Json::parse_or_null(outcome.out);
  }
  /// As a person types it.
  Outcome type(const std::string& command) const {
    return lab_->gateway(1).run({"sh", "-c", "PATH=" CW_PROGRAMS ":$PATH; " + command});
  }
  void expect_as_planned() const {
    const Json json = plan();
    EXPECT_EQ(json["steps"].size(), 0u) << json;
    for (const Json& site : json["sites"]) {
      EXPECT_TRUE(site["running"]["reached"].get<bool>()) << site;
      EXPECT_EQ(site["running"]["differences"].size(), 0u) << site;
      EXPECT_EQ(site["running"]["open"].size(), 0u) << site;
    }
  }

  Gateway& gateway(const std::string& site) { return *gateways_[std::stoul(site) - 1]; }
  void start(int count) {
    for (int site = 1; site <= count; ++site) gateway(std::to_string(site)).start();
    for (int site = 1; site <= count; ++site) {
      ASSERT_TRUE(gateway(std::to_string(site)).wait_up());
    }
  }
  /// Takes a step where its site is; the service manager's part is played here.
  void take(const Json& step) {
    const std::string what = step["do"].get<std::string>();
    const std::string site = step["site"].get<std::string>();
    if (what == "stop" || what == "restart") gateway(site).stop();
    if (what == "start" || what == "restart") gateway(site).start();
    if (what == "reload") {
      const Outcome outcome = type(step["command"].get<std::string>());
      EXPECT_EQ(outcome.status, 0) << step << outcome.out << outcome.err;
    }
    for (const Json& far : step["waits_for"]) wait_for_link(site, far.get<std::string>());
  }
  void wait_for_link(const std::string& site, const std::string& far) {
    const auto end = Time::now() + seconds(30);
    while (Time::now() < end) {
      const Json status = gateway(site).status();
      for (const Json& each : status["peers"]) {
        if (each["name"] == far && each["link"] == "up") return;
      }
    }
    ADD_FAILURE() << site << " has no link with " << far;
  }
  /// All that was loaded is in force.
  void wait_for_links_in_place() const {
    for (const auto end = Time::now() + seconds(30); Time::now() < end;) {
      if (plan()["steps"].empty()) return;
      std::this_thread::sleep_for(milliseconds(50));
    }
    ADD_FAILURE() << plan();
  }
  /// "start 4, reload 1": the steps that were taken.
  std::string change() {
    const Json planned = plan();
    EXPECT_EQ(deploy("render").status, 0);
    std::string row;
    for (const Json& step : planned["steps"]) {
      row += (row.empty() ? "" : ", ") + step["do"].get<std::string>() + " " +
             step["site"].get<std::string>();
      take(step);
    }
    return row;
  }
  template <class Call>
  static void for_each_way(const Call& call, int count = site_count) {
    for (int from = 1; from <= count; ++from) {
      for (int to = 1; to <= count; ++to) {
        if (from != to) call(from, to);
      }
    }
  }
  void expect_pings() {
    for_each_way([&](int from, int to) {
      const std::string target = Triangle::host_address(to);
      Pings pings(lab_->host(from), target.c_str());
      EXPECT_TRUE(pings.ping(100, seconds(10))) << from << " to " << to;
    });
  }
  void send_all_ways(int count = site_count) {
    const auto send = [&](int from, int to) {
      const std::string& source = addresses_.emplace_back(Triangle::host_address(from));
      const std::string& target = addresses_.emplace_back(Triangle::host_address(to));
      DatagramsOptions options{.source = source.c_str(), .target = target.c_str()};
      options.udp_port = static_cast<uint16_t>(7000 + from * 10 + to);
      options.bytes = 600;
      options.per_second = 200;
      streams_.push_back(std::make_unique<Datagrams>(lab_->host(from), lab_->host(to), options));
      streams_.back()->start();
    };
    for_each_way(send, count);
  }
  /// Of ways that do not begin or end at one site.
  void expect_nothing_lost(int but_of = 0) {
    for (const auto& each : streams_) each->stop();
    DatagramCounts all;
    const std::string away = Triangle::host_address(but_of);
    auto address = addresses_.begin();
    for (const auto& each : streams_) {
      const std::string &source = *address++, &target = *address++;
      if (source == away || target == away) continue;
      each->settle();
      const DatagramCounts counts = each->counts();
      EXPECT_GT(counts.sent, 0u);
      EXPECT_EQ(counts.lost(), 0u) << text_of(counts);
      EXPECT_EQ(counts.doubled + counts.wrong, 0u) << text_of(counts);
      all.sent += counts.sent, all.arrived += counts.arrived;
    }
    std::cout << "             " << text_of(all) << "\n";
  }
  void expect_policy(const std::string& policy) {
    for (const auto& each : gateways_) {
      const Json status = each->status();
      for (const Json& lane : status["classes"]) EXPECT_EQ(lane["policy"]["out"], policy) << lane;
    }
  }

  Folder folder_;
  std::optional<Triangle> lab_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::list<std::string> addresses_;
  std::vector<std::unique_ptr<Datagrams>> streams_;
};

TEST_F(Deployed, four_sites_reach_each_other_and_take_another_policy_without_a_loss) {
  write("selective_repeat", "40 Mbit/s");
  const Outcome rendered = deploy("render");
  ASSERT_EQ(rendered.status, 0) << rendered.err;
  EXPECT_NE(rendered.out.find("no gateway answers"), std::string::npos) << rendered.out;
  start(site_count);
  expect_pings();
  expect_as_planned();

  send_all_ways();
  std::this_thread::sleep_for(milliseconds(300));
  write("hybrid", "40 Mbit/s");
  const Json planned = plan();
  ASSERT_EQ(planned["steps"].size(), size_t{site_count}) << planned;
  ASSERT_EQ(deploy("render").status, 0);
  for (const Json& step : planned["steps"]) {
    EXPECT_EQ(step["do"], "reload");
    const Outcome outcome = type(step["command"].get<std::string>());
    EXPECT_EQ(outcome.status, 0) << step << outcome.out << outcome.err;
  }
  expect_policy("hybrid");
  expect_as_planned();

  // And back, by the program alone; with a key that is live.
  write("selective_repeat", "50 Mbit/s");
  const Outcome applied = deploy("apply");
  EXPECT_EQ(applied.status, 0) << applied.out << applied.err;
  expect_policy("selective_repeat");
  expect_as_planned();

  // Whose file is not there runs all the same, and tells by what.
  std::filesystem::remove(folder_.path("2.toml"));
  EXPECT_EQ(plan()["sites"][1]["found"], "missing");
  EXPECT_EQ(change(), "");
  EXPECT_EQ(plan()["sites"][1]["found"], "made");
  std::this_thread::sleep_for(milliseconds(300));
  expect_nothing_lost();
}

TEST_F(Deployed, a_file_that_is_not_what_runs_is_told_as_such) {
  write("selective_repeat", "40 Mbit/s", 2);
  ASSERT_EQ(deploy("render").status, 0);
  start(2);
  expect_as_planned();

  // Written and not loaded.
  write("selective_repeat", "50 Mbit/s", 2);
  ASSERT_EQ(deploy("render").status, 0);
  const Json written = plan();
  ASSERT_EQ(written["steps"].size(), 2u) << written;
  for (const Json& site : written["sites"]) {
    EXPECT_EQ(site["file_changes"].size(), 0u) << site;
    ASSERT_EQ(site["changes"].size(), 1u) << site;
    EXPECT_EQ(site["changes"][0]["before"], "\"40 Mbit/s\"");
    EXPECT_EQ(site["changes"], site["running"]["not_loaded"]) << site;
  }
  EXPECT_EQ(deploy("apply").status, 0);
  expect_as_planned();

  // Loaded, and then changed by hand.
  std::string text = config::text_of_file(folder_.path("1.toml")).value();
  text.replace(text.find("50 Mbit/s"), 9, "30 Mbit/s");
  folder_.write("1.toml", text);
  const Json edited = plan();
  EXPECT_EQ(edited["steps"].size(), 0u) << edited;
  const Json& site = edited["sites"][0];
  EXPECT_EQ(site["found"], "edited");
  ASSERT_EQ(site["running"]["not_loaded"].size(), 1u) << site;
  EXPECT_EQ(site["running"]["not_loaded"][0]["before"], "\"50 Mbit/s\"");
  EXPECT_EQ(site["running"]["not_loaded"][0]["after"], "\"30 Mbit/s\"");
  gateway("2").stop();
  const Outcome told = deploy("plan");
  for (const char* const sentence : {"not by the file that is there, which differs in wan.rate",
                                     "not reached, so compared with that file alone"}) {
    EXPECT_TRUE(told.out.contains(sentence)) << told.out;
  }
  EXPECT_EQ(deploy("apply").status, 1) << "it is somebody's";
  EXPECT_EQ(deploy("apply", {"--force"}).status, 0);
  EXPECT_EQ(plan()["sites"][0]["running"]["not_loaded"].size(), 0u);
}

TEST_F(Deployed, a_fourth_site_comes_and_goes_and_the_others_lose_nothing) {
  write("selective_repeat", "40 Mbit/s", 3);
  ASSERT_EQ(deploy("render").status, 0);
  start(3);
  send_all_ways(3);
  write("selective_repeat", "40 Mbit/s", 4);
  EXPECT_EQ(change(), "start 4, reload 1, reload 2, reload 3");
  expect_pings();
  expect_as_planned();
  write("selective_repeat", "40 Mbit/s", 3);
  EXPECT_EQ(change(), "reload 1, reload 2, reload 3, stop 4");
  std::this_thread::sleep_for(milliseconds(300));
  expect_nothing_lost();
}

TEST_F(Deployed, what_must_be_alike_is_changed_by_reloads_without_a_loss) {
  write("selective_repeat", "40 Mbit/s");
  ASSERT_EQ(deploy("render").status, 0);
  start(site_count);
  send_all_ways();
  std::this_thread::sleep_for(milliseconds(300));

  // As people do it who sit at each site; those that have their file wait for the others.
  const auto with = [&](const std::string& pair) {
    write("selective_repeat", "40 Mbit/s", site_count, "4 GiB", pair);
  };
  with(usual_pair + "mtu = 1300\n");
  const Json planned = plan();
  ASSERT_EQ(planned["steps"].size(), size_t{site_count}) << planned;
  EXPECT_EQ(planned["steps"][0]["carries_on"].size(), size_t{site_count - 1}) << planned;
  EXPECT_NE(deploy("plan").out.find("its links of before carry on with 2, 3, 4\n"),
            std::string::npos);
  EXPECT_EQ(change(), "reload 1, reload 2, reload 3, reload 4");
  wait_for_links_in_place();
  expect_as_planned();

  // And by the program alone.
  for (const std::string& pair : {std::string("rtt = \"30 ms\"\nmtu = 1200\n"),
                                  std::string("rtt = \"20 ms\"\nmtu = 1200\n"), usual_pair}) {
    with(pair);
    const Outcome applied = deploy("apply", {"--wait", "30s"});
    EXPECT_EQ(applied.status, 0) << applied.out << applied.err;
    expect_as_planned();
  }
  std::this_thread::sleep_for(milliseconds(300));
  expect_nothing_lost();
  for (const auto& each : gateways_) {
    EXPECT_EQ(each->program().err_so_far().find("warning down"), std::string::npos);
  }
}

TEST_F(Deployed, who_starts_again_among_reloads_finds_the_links_of_its_file) {
  write("selective_repeat", "40 Mbit/s");
  ASSERT_EQ(deploy("render").status, 0);
  start(site_count);
  send_all_ways();
  write("selective_repeat", "40 Mbit/s", site_count, "3 GiB", usual_pair + "mtu = 1300\n");
  EXPECT_EQ(change(), "reload 1, reload 3, reload 4, restart 2");
  wait_for_links_in_place();
  expect_pings();
  expect_as_planned();
  std::this_thread::sleep_for(milliseconds(300));
  expect_nothing_lost(/*but_of=*/2);
}

TEST_F(Deployed, a_site_that_starts_again_is_away_alone) {
  write("selective_repeat", "40 Mbit/s");
  ASSERT_EQ(deploy("render").status, 0);
  start(site_count);
  send_all_ways();
  write("hybrid", "40 Mbit/s", site_count, "3 GiB");
  EXPECT_EQ(change(), "reload 1, reload 3, reload 4, restart 2");
  expect_policy("hybrid");
  expect_pings();
  std::this_thread::sleep_for(milliseconds(300));
  expect_nothing_lost(/*but_of=*/2);
}

}  // namespace
}  // namespace cw::lab
