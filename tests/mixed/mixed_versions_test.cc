// A link between today's gateway and an older one carries traffic in both directions, whichever is
// at which site, and comes back when either is restarted. `with_older` builds the older program and
// says where it is: CW_OLDER_PROGRAM.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "tests/lab/datagrams.h"
#include "tests/lab/gateway.h"
#include "tests/lab/restarts/tcp_file.h"
#include "tests/lab/sites.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class MixedVersions : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!obstacle().empty()) GTEST_SKIP() << obstacle();
    const char* const older = std::getenv("CW_OLDER_PROGRAM");
    if (older == nullptr) GTEST_SKIP() << "no older program: run tests/mixed/with_older";
    sites_.emplace(SitesOptions{});
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "20ms", "--rate", "200Mbit/s", "--loss", "1%"});
    folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    const bool is_a_older = GetParam();
    a_.emplace(*sites_, folder_, is_a_older ? older : CW_DAEMON_PROGRAM, true);
    b_.emplace(*sites_, folder_, is_a_older ? CW_DAEMON_PROGRAM : older, false);
    a_->configure(text_for(/*is_a=*/true, is_a_older));
    b_->configure(text_for(/*is_a=*/false, !is_a_older));
    for (Gateway* each : {&*a_, &*b_}) each->start();
  }
  void TearDown() override {
    if (!HasFailure()) return;
    for (std::optional<Gateway>* each : {&a_, &b_}) {
      if (*each) std::cerr << (*each)->program().err_so_far() << "\n";
    }
  }

  /// Tables that came later are left out of an older file, and policies of both are one.
  std::string text_for(bool is_a, bool is_older) const {
    GatewayFile file;
    file.rtt = "20 ms";
    file.classes = std::string("[[class]]\nname = \"all\"\npolicy = \"hybrid\"\n") + patient_class;
    std::string text = file.text(is_a, folder_);
    const size_t api = text.find("\n[api]\n");
    if (is_older) text.erase(api, text.find("[lan]", api) - api);
    return text;
  }

  void expect_up() {
    for (Gateway* each : {&*a_, &*b_}) {
      ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
    }
  }
  void expect_traffic_both_ways() {
    Datagrams out(*sites_, {.per_second = 1000});
    Datagrams back(*sites_, {.from = At::HostB,
                             .to = At::HostA,
                             .source = site_b.host,
                             .target = site_a.host,
                             .udp_port = 7001,
                             .per_second = 1000});
    TcpFile file(*sites_, 500'000);
    for (Datagrams* each : {&out, &back}) each->start();
    std::this_thread::sleep_for(seconds(2));
    for (Datagrams* each : {&out, &back}) {
      each->stop();
      each->settle();
      const DatagramCounts counts = each->counts();
      std::cout << "             " << text_of(counts) << "\n";
      EXPECT_GT(counts.sent, 0u);
      EXPECT_EQ(counts.lost() + counts.doubled + counts.wrong, 0u) << text_of(counts);
    }
    EXPECT_TRUE(file.finish(seconds(20)).is_whole());
  }

  Folder folder_;
  std::optional<Sites> sites_;
  std::optional<Gateway> a_, b_;
};

INSTANTIATE_TEST_SUITE_P(, MixedVersions, testing::Bool(),
                         [](const auto& it) { return it.param ? "older_at_a" : "older_at_b"; });

TEST_P(MixedVersions, carry_traffic_both_ways_and_after_either_was_restarted) {
  ASSERT_NO_FATAL_FAILURE(expect_up());
  expect_traffic_both_ways();
  for (Gateway* each : {&*a_, &*b_}) {
    EXPECT_EQ(each->stop().status, 0);
    each->start();
    ASSERT_NO_FATAL_FAILURE(expect_up());
    expect_traffic_both_ways();
  }
}

}  // namespace
}  // namespace cw::lab
