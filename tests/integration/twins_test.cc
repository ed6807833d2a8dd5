// Two gateways before one host, and a third site whose host talks with it all the while: one of the
// two is drained, stopped, started again, killed.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "control/ctl/ask/client.h"
#include "control/ctl/exits.h"
#include "control/json/json.h"
#include "tests/lab/datagrams.h"
#include "tests/lab/gateway.h"
#include "tests/lab/triangle.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int preferred = 1, other = 2, far = 3;

class Twins : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    lab_.emplace(CW_WAN_PROGRAM, Arguments{"--rtt", "10ms", "--loss", "0.5%"});
    // The second way to the first host.
    lab_->gateway(other).must("ip link add name twin type veth peer name second netns " +
                              lab_->host(preferred).path() +
                              "; ip addr add 10.9.0.1/24 dev twin; ip link set dev twin up; "
                              "ip route add 10.1.0.0/24 via 10.9.0.2");
    lab_->host(preferred).must(
        "ip addr add 10.9.0.2/24 dev second; ip link set dev second up; "
        "for each in all default eth second; do "
        "echo 0 > /proc/sys/net/ipv4/conf/$each/rp_filter; done");
    folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    for (int site = 1; site <= far; ++site) {
      gateways_.push_back(std::make_unique<Gateway>(lab_->gateway(site), folder_, CW_DAEMON_PROGRAM,
                                                    std::to_string(site)));
      gateway(site).configure(text_of_site(site));
      gateway(site).start();
    }
    for (const auto& each : gateways_) ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
    for (const auto& [from, to] : {std::pair(preferred, far), {far, preferred}}) send(from, to);
    std::this_thread::sleep_for(milliseconds(500));
  }
  void TearDown() override {
    if (!HasFailure()) return;
    for (const auto& each : gateways_) std::cerr << each->program().err_so_far() << "\n";
  }

  std::string text_of_site(int site) const {
    std::string text = "[site]\nname = \"" + std::to_string(site) + "\"\nstatus = \"" +
                       folder_.path(std::to_string(site)) + ".json\"\n[api]\nfolder = \"" +
                       folder_.path("api") + "\"\n[wan]\naddress = \"" +
                       Triangle::wan_address(site) +
                       "\"\nrate = \"100 Mbit/s\"\n[lan]\nqueue = \"100 ms\"\n[pair]\nkey_file = "
                       "\"pair.key\"\nrtt = \"25 ms\"\nrate = \"50 Mbit/s\"\n[[class]]\nname = "
                       "\"all\"\n" +
                       patient_class;
    if (site != far) return text + text_of_peer(far, Triangle::prefix(far), 100);
    return text + text_of_peer(other, Triangle::prefix(preferred), 100) +
           text_of_peer(preferred, Triangle::prefix(preferred), 200);
  }
  static std::string text_of_peer(int site, const std::string& prefix, int prefer) {
    return "[[peer]]\nname = \"" + std::to_string(site) + "\"\naddress = \"" +
           Triangle::wan_address(site) + "\"\nroutes = [\"" + prefix +
           "\"]\nprefer = " + std::to_string(prefer) + "\n";
  }

  void send(int from, int to) {
    addresses_.push_back(std::make_unique<std::string>(Triangle::host_address(from)));
    const char* const source = addresses_.back()->c_str();
    addresses_.push_back(std::make_unique<std::string>(Triangle::host_address(to)));
    DatagramsOptions options{.source = source, .target = addresses_.back()->c_str()};
    options.udp_port = static_cast<uint16_t>(7000 + from * 10 + to);
    options.bytes = 600;
    options.per_second = 500;
    streams_.push_back(std::make_unique<Datagrams>(lab_->host(from), lab_->host(to), options));
    streams_.back()->start();
  }
  Datagrams& sent_by(int site) { return *streams_[site == preferred ? 0 : 1]; }
  void expect_nothing_lost() {
    for (const auto& each : streams_) each->stop();
    for (const auto& each : streams_) {
      each->settle();
      const DatagramCounts counts = each->counts();
      EXPECT_GT(counts.sent, 200u);
      EXPECT_EQ(counts.lost(), 0u) << text_of(counts);
      EXPECT_EQ(counts.doubled + counts.wrong, 0u) << text_of(counts);
      std::cout << "             " << text_of(counts) << "\n";
    }
  }
  /// Who chooses for the hosts: what keepalived does, or a routing daemon.
  void send_host_by(int site) const {
    lab_->host(preferred).must(std::string("ip route replace default via ") +
                               (site == preferred ? "10.1.0.1" : "10.9.0.1"));
  }
  Outcome ctl(int site, const Arguments& more) const {
    Arguments all = {CW_CTL_PROGRAM, "--config", folder_.path(std::to_string(site) + ".toml")};
    all.insert(all.end(), more.begin(), more.end());
    return lab_->gateway(site).run(all);
  }
  /// The status of HTTP.
  int healthz(int site) const {
    ctl::Client client(
        ctl::place_of_socket(folder_.path("api/" + std::to_string(site) + "/read.sock")));
    return client.get("/healthz").status;
  }
  bool has_moved(const std::string& from, const std::string& to, const std::string& why) {
    return gateway(far).program().wait_for("routes_moved from=" + from + " to=" + to + " why=\"" +
                                           why + "\"");
  }
  Gateway& gateway(int site) { return *gateways_[static_cast<size_t>(site - 1)]; }

  Folder folder_;
  std::optional<Triangle> lab_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::vector<std::unique_ptr<std::string>> addresses_;
  std::vector<std::unique_ptr<Datagrams>> streams_;
};

TEST_F(Twins, one_is_drained_stopped_and_started_again_without_a_loss) {
  EXPECT_EQ(healthz(preferred), 200);
  const Outcome ordered = ctl(preferred, {"drain", "--wait", "100ms"});
  EXPECT_EQ(ordered.status, ctl::exit_waiting) << ordered.out << ordered.err;
  EXPECT_EQ(healthz(preferred), 503);
  EXPECT_TRUE(has_moved("1", "2", "1 drains"));
  EXPECT_NE(ctl(far, {"links"}).out.find("up, drains"), std::string::npos);

  // What the host sends is carried by the drained one until somebody chooses for the host.
  std::this_thread::sleep_for(seconds(1));
  send_host_by(other);
  const Outcome quiet = ctl(preferred, {"drain", "--wait", "20s"});
  EXPECT_EQ(quiet.status, ctl::exit_done) << quiet.out << quiet.err;
  gateway(preferred).stop();
  std::this_thread::sleep_for(seconds(1));

  gateway(preferred).start();
  EXPECT_TRUE(has_moved("2", "1", "1 is preferred"));
  EXPECT_EQ(healthz(preferred), 200);
  send_host_by(preferred);
  std::this_thread::sleep_for(seconds(1));
  expect_nothing_lost();
}

TEST_F(Twins, a_drain_is_undone) {
  EXPECT_EQ(ctl(preferred, {"drain", "--wait", "0 s"}).status, ctl::exit_waiting);
  EXPECT_TRUE(has_moved("1", "2", "1 drains"));
  const Outcome undone = ctl(preferred, {"drain", "--undo"});
  EXPECT_EQ(undone.status, ctl::exit_done) << undone.out << undone.err;
  EXPECT_TRUE(has_moved("2", "1", "1 is preferred"));
  EXPECT_EQ(healthz(preferred), 200);
  expect_nothing_lost();
}

TEST_F(Twins, the_other_takes_over_from_one_that_is_killed) {
  gateway(preferred).kill();
  send_host_by(other);
  EXPECT_TRUE(has_moved("1", "2", "1 does not answer"));
  const auto moved = Time::now();
  std::this_thread::sleep_for(seconds(1));
  const auto end = Time::now();
  for (const int site : {preferred, far}) {
    sent_by(site).wait_for_all(moved, end);
    const DatagramCounts counts = sent_by(site).counts(moved, end);
    EXPECT_GT(counts.sent, 300u);
    EXPECT_EQ(counts.lost(), 0u) << text_of(counts);
  }
}

}  // namespace
}  // namespace cw::lab
