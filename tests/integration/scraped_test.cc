// Metrics as a scraper of this machine finds them, while hosts send over a line that loses.
#include <map>

#include "tests/integration/daemon_lab.h"
#include "tests/lab/datagrams.h"
#include "tests/metric_values.h"

namespace cw::lab {
namespace {

constexpr const char* own = "127.0.0.1:9464";

std::string file_of(bool is_a) {
  return replaced(config_of(is_a), "[wan]", "metrics = '" + std::string(own) + "'\n[wan]") +
         "[wan.impair]\nloss = '1 %'\n" + "[[class]]\nname = 'all'\npolicy = 'hybrid'\n";
}

class Scraped : public Causewayd {
 protected:
  void SetUp() override {
    Causewayd::SetUp();
    if (IsSkipped()) return;
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
    start(a_, At::GatewayA, file_of(true));
    start(b_, At::GatewayB, file_of(false));
    ASSERT_TRUE(a_->wait_for("info up peer=north")) << a_->err_so_far();
    ASSERT_TRUE(b_->wait_for("info up peer=south")) << b_->err_so_far();
  }
  /// What is there, with the status in front.
  std::string get(At place, const std::string& path) const {
    const std::string url = "http://" + std::string(own) + path;
    const char* const script =
        "import sys, urllib.request, urllib.error\n"
        "try: answer = urllib.request.urlopen(sys.argv[1], timeout=10)\n"
        "except urllib.error.HTTPError as error: answer = error\n"
        "print(answer.status, answer.headers['Content-Type'])\n"
        "print(answer.read().decode(), end='')\n";
    const Outcome outcome = sites_->space(place).run({"python3", "-c", script, url});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
  std::map<std::string, double> values(At place) const {
    const std::string answer = get(place, "/metrics");
    const size_t end = answer.find('\n');
    EXPECT_EQ(answer.substr(0, end), "200 text/plain; version=0.0.4; charset=utf-8");
    return test::metric_values(end == std::string::npos ? "" : answer.substr(end + 1));
  }
};

TEST_F(Scraped, adds_up_under_load) {
  Datagrams datagrams(*sites_, {});
  datagrams.start();
  std::this_thread::sleep_for(seconds(4));
  const auto before = values(At::GatewayB);
  std::this_thread::sleep_for(seconds(2));
  datagrams.stop();
  datagrams.settle();
  std::this_thread::sleep_for(seconds(1));  // the daemon looks five times in one
  const auto sent = values(At::GatewayA), came = values(At::GatewayB);
  const std::string there = "{class=\"all\",peer=\"north\"", here = "{class=\"all\",peer=\"south\"";
  const auto lost = came.at("causeway_slots_lost_total" + here + "}");
  EXPECT_GT(lost, 20);
  EXPECT_GE(lost, before.at("causeway_slots_lost_total" + here + "}"));
  EXPECT_EQ(lost, came.at("causeway_slots_mended_total" + here + ",by=\"code\"}") +
                      came.at("causeway_slots_mended_total" + here + ",by=\"resend\"}") +
                      came.at("causeway_slots_given_up_total" + here + "}") +
                      came.at("causeway_slots_missing" + here + "}"));
  EXPECT_GT(came.at("causeway_slots_mended_total" + here + ",by=\"code\"}"), 0);
  EXPECT_EQ(sent.at("causeway_frames_sent_total" + there + "}"),
            came.at("causeway_frames_received_total" + here + "}") +
                came.at("causeway_frames_given_up_total" + here + "}"));
  EXPECT_EQ(sent.at("causeway_slot_wait_seconds_count{class=\"all\"}"),
            sent.at("causeway_slots_sent_total" + there + ",kind=\"data\"}"));
  EXPECT_GT(sent.at("causeway_link_lost_there_total{peer=\"north\",link=\"0\"}"), 20);
  EXPECT_EQ(sent.at("causeway_link_up{peer=\"north\",link=\"0\"}"), 1);
}

TEST_F(Scraped, tells_nothing_else_there) {
  EXPECT_TRUE(get(At::GatewayA, "/healthz").starts_with("200 "));
  const std::string status = get(At::GatewayA, "/v1/status");
  EXPECT_TRUE(status.starts_with("403 ")) << status;
  EXPECT_NE(status.find("metrics alone are told here"), std::string::npos) << status;
}

TEST_F(Scraped, is_read_by_promtool) {
  std::string text = get(At::GatewayA, "/metrics");
  text.erase(0, text.find('\n') + 1);
  std::ofstream("metrics") << text;
  const Outcome outcome =
      sites_->space(At::GatewayA).run({"sh", "-c", "promtool check metrics < metrics"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace cw::lab
