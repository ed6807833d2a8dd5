// What scrapers are told: names, values, bounds; and whether rules and the dashboard ask for what
// there is.
#include "control/daemon/metrics/metrics.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "control/config/text/file.h"
#include "control/daemon/metrics/families.h"
#include "tests/command.h"
#include "tests/metric_values.h"

namespace cw::daemon {
namespace {

using test::metric_values;
using test::output_of;

const std::filesystem::path configs = std::filesystem::path(CW_SOURCE_DIR) / "configs";

std::string text_of(const std::filesystem::path& path) {
  return config::text_of_file(path).value();
}

/// A gateway with so many peers and classes, and two paths to each peer.
struct Scene {
  Scene(size_t peers, size_t classes) {
    plan.site = "south";
    for (size_t i = 0; i < classes; ++i) {
      plan.classes.push_back({.name = "c" + std::to_string(i), .policy = "hybrid"});
    }
    for (uint16_t i = 0; i < peers; ++i) {
      plan.gateway.peers.push_back({.peer = i, .name = "peer " + std::to_string(i), .routes = {}});
      plan.peers.emplace_back();
      site::PeerView& view = state.peers.emplace_back(site::PeerView{.peer = i, .is_up = true});
      view.paths.resize(2);
      view.paths[0].rtt_smoothed = Duration::from_ms(26);
      view.paths[0].rtt_min = Duration::from_ms(25);
      for (uint16_t j = 0; j < classes; ++j) {
        gateway::LaneView& lane = state.lanes.emplace_back();
        lane.peer = i;
        lane.class_index = j;
        lane.policy_out = "hybrid";
        lane.policy_in = "erasure";
        lane.heard_slots = {.by_code = 5, .by_resend = 3, .given_up = 2, .open = 1};
        lane.sent_slots = {.data = 100, .resends = 7, .repairs = 20};
      }
    }
  }
  std::string text(const ProcessView& process = {}) const {
    return metrics_of(plan, state, process);
  }

  site::Plan plan;
  site::SiteState state;
};

TEST(Metrics, tell_whether_a_policy_helped_and_add_up) {
  const auto values = metric_values(Scene(2, 2).text());
  const auto of = [&](const std::string& name, const std::string& more = "") {
    return values.at("causeway_" + name + "{class=\"c1\",peer=\"peer 1\"" + more + "}");
  };
  EXPECT_EQ(of("slots_lost_total"), 11);
  EXPECT_EQ(of("slots_mended_total", ",by=\"code\"") + of("slots_mended_total", ",by=\"resend\"") +
                of("slots_given_up_total") + of("slots_missing"),
            of("slots_lost_total"));
  EXPECT_EQ(of("slots_sent_total", ",kind=\"repair\""), 20);
  EXPECT_EQ(of("policy_info", ",way=\"in\",policy=\"erasure\""), 1);
}

TEST(Metrics, tell_of_paths_in_seconds_and_of_bursts_by_size) {
  Scene scene(1, 1);
  PathState& path = scene.state.peers[0].paths[0];
  path.lost = 12;
  path.bursts_by_octave = {3, 1, 0, 1};
  scene.state.peers[0].down_paths = 2;
  const auto values = metric_values(scene.text());
  const std::string labels = "{peer=\"peer 0\",link=\"0\",path=\"0\"";
  EXPECT_DOUBLE_EQ(values.at("causeway_path_rtt_seconds" + labels + "}"), 0.026);
  EXPECT_NEAR(values.at("causeway_path_queue_seconds" + labels + "}"), 0.001, 1e-9);
  EXPECT_EQ(values.at("causeway_path_up{peer=\"peer 0\",link=\"0\",path=\"1\"}"), 0);
  EXPECT_EQ(values.at("causeway_path_burst_packets_bucket" + labels + ",le=\"1\"}"), 3);
  EXPECT_EQ(values.at("causeway_path_burst_packets_bucket" + labels + ",le=\"4\"}"), 4);
  EXPECT_EQ(values.at("causeway_path_burst_packets_bucket" + labels + ",le=\"8\"}"), 5);
  EXPECT_EQ(values.at("causeway_path_burst_packets_count" + labels + "}"), 5);
}

TEST(Metrics, tell_of_each_drop_and_event_with_its_sentence) {
  Scene scene(1, 1);
  scene.state.drops.values[static_cast<size_t>(DropReason::peer_unknown)] = 3;
  scene.state.rooms.values[static_cast<size_t>(Counter::data_sent)] = 5;
  const std::string text = scene.text();
  const auto values = metric_values(text);
  EXPECT_EQ(values.at("causeway_dropped_total{reason=\"peer_unknown\"}"), 3);
  EXPECT_EQ(values.at("causeway_worker_data_sent_total"), 5);
  EXPECT_NE(text.find("# HELP causeway_worker_data_sent_total a data slot sent for the first time"),
            std::string::npos);
}

/// However many peers there are.
TEST(Metrics, are_bounded) {
  for (const auto& [peers, classes] :
       {std::pair(1, 1), std::pair(64, 4), std::pair(65, 4), std::pair(256, 16), std::pair(600, 16),
        std::pair(4000, 8)}) {
    const auto values =
        metric_values(Scene(static_cast<size_t>(peers), static_cast<size_t>(classes)).text());
    EXPECT_LE(values.size(), series_max) << peers << " peers, " << classes << " classes";
    double lost = 0;
    for (const auto& [name, value] : values) {
      if (name.starts_with("causeway_slots_lost_total")) lost += value;
    }
    EXPECT_EQ(lost, 11.0 * peers * classes) << "nothing is left out of the sums";
  }
}

/// Names of ours that a text asks for, without what a histogram's have behind them.
std::set<std::string> asked_in(const std::string& text) {
  std::set<std::string> names;
  const std::regex name("causeway_[a-z_]+");
  for (std::sregex_iterator i(text.begin(), text.end(), name), end; i != end; ++i) {
    names.insert(std::regex_replace(i->str(), std::regex("_bucket$"), ""));
  }
  return names;
}

TEST(Metrics, are_what_rules_and_dashboard_ask_for) {
  Scene scene(1, 1);
  scene.plan.seal.emplace();
  scene.state.keys.resize(1);
  scene.state.shards.emplace_back();
  ProcessView process;
  process.adaptive.emplace_back();
  const std::string text = scene.text(process);
  size_t asked = 0;
  for (const char* file : {"prometheus.rules.yaml", "grafana-dashboard.json"}) {
    for (const std::string& each : asked_in(text_of(configs / file))) {
      EXPECT_NE(text.find("# TYPE " + each + " "), std::string::npos) << file << ": " << each;
      ++asked;
    }
  }
  EXPECT_GT(asked, 30u);
}

class Promtool : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "metrics_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const char* name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string folder_;
};

TEST_F(Promtool, has_nothing_to_say_of_our_metrics) {
  Scene scene(2, 2);
  scene.state.shards.emplace_back().turn_times.add(Duration::from_us(30));
  const std::string file = write("metrics", scene.text());
  const auto [said, status] = output_of("promtool check metrics < " + file + " 2>&1");
  EXPECT_EQ(status, 0) << said;
  EXPECT_EQ(said, "");
}

TEST_F(Promtool, finds_that_each_rule_fires_when_it_should) {
  std::string test =
      text_of(std::filesystem::path(CW_SOURCE_DIR) / "tests/data/metrics/rules_test.yaml");
  test.replace(test.find("RULES"), 5, (configs / "prometheus.rules.yaml").string());
  const auto [said, status] =
      output_of("promtool test rules " + write("rules_test.yaml", test) + " 2>&1");
  EXPECT_EQ(status, 0) << said;
  const std::string rules = text_of(configs / "prometheus.rules.yaml");
  const std::regex alert("alert: ([A-Za-z]+)");
  for (std::sregex_iterator i(rules.begin(), rules.end(), alert), end; i != end; ++i) {
    EXPECT_NE(test.find("alertname: " + (*i)[1].str() + "\n"), std::string::npos)
        << (*i)[1].str() << " is not tested";
  }
}

}  // namespace
}  // namespace cw::daemon
