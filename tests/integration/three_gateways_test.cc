// Three gateways from their files, each with two peers, and real traffic between every two hosts.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "control/json/json.h"
#include "tests/integration/two_gateways.h"
#include "tests/lab/datagrams.h"
#include "tests/lab/gateway.h"
#include "tests/lab/pings.h"
#include "tests/lab/triangle.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Datagrams from one host to another, and whose they are.
struct Way {
  int from, to;
  std::string source, target;  // outlive the stream, which names them
  std::unique_ptr<Datagrams> stream;
};

/// Three sites, configured, none of them running.
class ThreeSites : public testing::Test {
 protected:
  explicit ThreeSites(Ports ports = Ports::Sockets) : ports_(ports) {}
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    lab_.emplace(CW_WAN_PROGRAM, Arguments{"--rtt", "12ms", "--loss", "0.5%"});
    folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    for (int site = 1; site <= Triangle::site_count; ++site) {
      gateways_.push_back(std::make_unique<Gateway>(lab_->gateway(site), folder_, CW_DAEMON_PROGRAM,
                                                    std::to_string(site)));
      gateway(site).configure(text_of_site(site));
    }
  }
  void TearDown() override {
    if (!HasFailure()) return;
    for (const auto& each : gateways_) std::cerr << each->program().err_so_far() << "\n";
  }

  void start_all() {
    for (const auto& each : gateways_) each->start();
  }
  void wait_all_up() {
    for (const auto& each : gateways_) ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
  }

  Gateway& gateway(int site) { return *gateways_[static_cast<size_t>(site - 1)]; }

  /// With `swaps`, it has the addresses of the two others for each other's.
  std::string text_of_site(int site, bool swaps = false) const {
    std::ostringstream file;
    file << "[site]\nname = \"" << site << "\"\nstatus = \"" << folder_.path(std::to_string(site))
         << ".json\"\n[wan]\naddress = \"" << Triangle::wan_address(site)
         << "\"\nrate = \"100 Mbit/s\"\n"
         << (ports_ == Ports::Xdp ? xdp_keys("wan") : "") << "[lan]\nqueue = \"100 ms\"\n"
         << (ports_ == Ports::Xdp ? xdp_keys("lan") + "addresses = [\"" +
                                        Triangle::gateway_address(site) + "/24\"]\n"
                                  : "")
         << "[pair]\nkey_file = \"pair.key\"\nrtt = \"25 ms\"\nrate = \"50 Mbit/s\"\n"
         << "[[class]]\nname = \"all\"\n"
         << patient_class;
    for (int far = 1; far <= Triangle::site_count; ++far) {
      if (far == site) continue;
      const int at = swaps ? 6 - site - far : far;
      file << "[[peer]]\nname = \"" << far << "\"\naddress = \"" << Triangle::wan_address(at)
           << "\"\nroutes = [\"" << Triangle::prefix(far) << "\"]\n";
    }
    return file.str();
  }

  static std::string xdp_keys(const std::string& interface) {
    return "port = \"xdp\"\ndevice = \"" + interface + "\"\n";
  }
  /// Kernels that know their neighbours have an answer for whoever asks them.
  void acquaint_kernels() {
    for (int site = 1; site <= Triangle::site_count; ++site) {
      std::vector<std::string> others = {Triangle::host_address(site)};
      for (int far = 1; far <= Triangle::site_count; ++far) {
        if (far != site) others.push_back(Triangle::wan_address(far));
      }
      for (const std::string& each : others) {
        EXPECT_TRUE(Pings(lab_->gateway(site), each.c_str()).ping(100, seconds(10))) << each;
      }
    }
  }

  /// One stream of datagrams for each of the six ways, running.
  std::vector<Way> send_all_ways() {
    std::vector<Way> ways;
    for (int from = 1; from <= Triangle::site_count; ++from) {
      for (int to = 1; to <= Triangle::site_count; ++to) {
        if (from == to) continue;
        ways.push_back(
            {from, to, Triangle::host_address(from), Triangle::host_address(to), nullptr});
      }
    }
    for (Way& way : ways) {
      DatagramsOptions options{.source = way.source.c_str(), .target = way.target.c_str()};
      options.udp_port = static_cast<uint16_t>(7000 + way.from * 10 + way.to);
      options.bytes = 600;
      options.per_second = 500;
      way.stream = std::make_unique<Datagrams>(lab_->host(way.from), lab_->host(way.to), options);
      way.stream->start();
    }
    return ways;
  }
  static void end(std::vector<Way>& ways) {
    for (Way& way : ways) way.stream->stop();
    for (Way& way : ways) {
      way.stream->settle();
      const DatagramCounts counts = way.stream->counts();
      std::cout << "             " << way.from << " to " << way.to << ": " << text_of(counts)
                << "\n";
      EXPECT_EQ(counts.doubled + counts.wrong, 0u);
      EXPECT_GT(counts.sent, 0u);
    }
  }

  /// What one gateway's status says of its exchange with another.
  static Json exchange_with(const Json& status, int far) {
    for (const Json& each : status.at("classes")) {
      if (each.at("peer") == std::to_string(far)) return each;
    }
    return {};
  }

 private:
  const Ports ports_;
  Folder folder_;
  std::optional<Triangle> lab_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
};

/// The same, running, with all links up.
class ThreeGateways : public ThreeSites, public testing::WithParamInterface<Ports> {
 protected:
  ThreeGateways() : ThreeSites(GetParam()) {}
  void SetUp() override {
    ThreeSites::SetUp();
    if (IsSkipped()) return;
    acquaint_kernels();
    start_all();
    wait_all_up();
  }
};

TEST_F(ThreeSites, whose_addresses_one_has_swapped_stay_apart_and_both_ends_say_why) {
  gateway(1).configure(text_of_site(1, /*swaps=*/true));
  start_all();
  const struct {
    int site;
    const char* sentence;
  } rows[] = {
      {1, R"(peer \"2\" at 192.0.2.3 says it is site \"3\")"},
      {1, R"(peer \"3\" at 192.0.2.2 says it is site \"2\")"},
      {2, R"(peer \"1\" at 192.0.2.1 takes this site for \"3\", and it is \"2\")"},
      {3, R"(peer \"1\" at 192.0.2.1 takes this site for \"2\", and it is \"3\")"},
  };
  for (const auto& row : rows) {
    EXPECT_TRUE(gateway(row.site).program().wait_for(row.sentence)) << row.sentence;
  }
  for (const int site : {1, 2, 3}) {
    const Json status = gateway(site).status();
    for (const Json& peer : status["peers"]) {
      const bool is_wrong = site == 1 || peer["name"] == "1";
      EXPECT_EQ(peer["link"], is_wrong ? "down" : "up") << site << peer;
      if (!is_wrong) continue;
      EXPECT_NE(peer.value("why", "").find("site"), std::string::npos) << peer;
    }
  }
}

TEST_P(ThreeGateways, carry_all_six_ways_at_once_and_account_for_each_peer) {
  std::vector<Way> ways = send_all_ways();
  std::this_thread::sleep_for(seconds(2));
  end(ways);
  std::vector<Json> statuses;
  for (int site : {1, 2, 3}) statuses.push_back(gateway(site).status());
  const auto status = [&](int site) -> const Json& {
    return statuses[static_cast<size_t>(site - 1)];
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(testing::Message() << way.from << " to " << way.to);
    const DatagramCounts counts = way.stream->counts();
    EXPECT_EQ(counts.lost(), 0u);
    // Nothing else travels here, but what a kernel answers to strangers.
    const Json sent = exchange_with(status(way.from), way.to),
               received = exchange_with(status(way.to), way.from)["received"];
    EXPECT_EQ(sent["sent"], counts.sent);
    EXPECT_EQ(received["out"], counts.arrived);
    EXPECT_EQ(received["seen"].get<uint64_t>(),
              received["out"].get<uint64_t>() + received["dropped"].get<uint64_t>());
  }
  for (int site : {1, 2, 3}) {
    const Json& counters = status(site)["counters"];
    uint64_t sent = 0;
    for (const Json& each : status(site)["classes"]) sent += each["sent"].get<uint64_t>();
    // A kernel greets the routers of every device that it finds, in vain here.
    const Json& drops = status(site)["drops"];
    const uint64_t greetings =
        drops.contains("lan_unroutable") ? drops["lan_unroutable"]["count"].get<uint64_t>() : 0;
    EXPECT_EQ(counters["lan_in"], sent + greetings);
    EXPECT_EQ(counters["lan_sent"], sent);
  }
}

TEST_P(ThreeGateways, go_on_in_pairs_while_one_of_them_is_killed_and_started_again) {
  std::vector<Way> ways = send_all_ways();
  std::this_thread::sleep_for(milliseconds(700));
  gateway(3).kill();
  std::this_thread::sleep_for(milliseconds(700));
  gateway(3).start();
  const auto ready = gateway(3).ready_at();
  // A second and an RTT are promised of a gateway that gets a core; six processes share two here.
  for (const Way& way : ways) {
    if (way.from != 3 && way.to != 3) continue;
    ASSERT_TRUE(way.stream->wait_for_arrival(ready, seconds(20))) << way.from << way.to;
  }
  std::this_thread::sleep_for(milliseconds(500));
  const auto again = Time::now();
  std::this_thread::sleep_for(milliseconds(500));
  end(ways);
  for (const Way& way : ways) {
    SCOPED_TRACE(testing::Message() << way.from << " to " << way.to);
    const bool is_others = way.from != 3 && way.to != 3;
    const DatagramCounts counts =
        is_others ? way.stream->counts() : way.stream->counts(again, Time::time_point::max());
    EXPECT_GT(counts.sent, 0u);
    EXPECT_EQ(counts.lost(), 0u) << text_of(counts);
    if (!is_others) {
      EXPECT_GT(way.stream->counts().lost(), 0u);
    }
  }
}

/// AF_XDP's program has to tell peers apart itself; the others leave that to code of ours.
std::vector<Ports> ports_of_three() {
  std::vector<Ports> all = every_port();
  std::erase(all, Ports::Dpdk);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Over, ThreeGateways, testing::ValuesIn(ports_of_three()),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace cw::lab
