// Peers that come and go at gateways that run: those that are there do not notice.
#include <gtest/gtest.h>
#include <signal.h>

#include <list>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/lab/datagrams.h"
#include "tests/lab/gateway.h"
#include "tests/lab/triangle.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PeersCome : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    lab_.emplace(CW_WAN_PROGRAM, Arguments{"--rtt", "6ms", "--loss", "0.2%"});
    folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    for (int site = 1; site <= Triangle::site_count; ++site) {
      gateways_.push_back(std::make_unique<Gateway>(lab_->gateway(site), folder_, CW_DAEMON_PROGRAM,
                                                    std::to_string(site)));
    }
  }
  Gateway& gateway(int site) { return *gateways_[static_cast<size_t>(site - 1)]; }

  /// With those peers, in that order; site 4 is nowhere.
  std::string file_of(int site, const std::vector<int>& peers) const {
    const bool has_cores = GetParam() > 1;
    std::ostringstream file;
    file << "[site]\nname = \"" << site << "\"\nspare_peers = 1\nstatus = \""
         << folder_.path(std::to_string(site)) << ".json\"\n"
         << (has_cores ? "cores = [0, 1]\n" : "") << "[wan]\naddress = \""
         << Triangle::wan_address(site) << "\"\nrate = \"60 Mbit/s\"\n"
         << "[pair]\nkey_file = \"pair.key\"\nrtt = \"20 ms\"\nrate = \"30 Mbit/s\"\nlinks = "
         << GetParam() << "\n[[class]]\nname = \"all\"\nhold = \"1 s\"\n";
    for (const int peer : peers) {
      file << "[[peer]]\nname = \"" << peer << "\"\naddress = \"" << Triangle::wan_address(peer)
           << "\"\nroutes = [\"" << Triangle::prefix(peer) << "\"]\nrate = \"20 Mbit/s\"\n";
    }
    return file.str();
  }
  /// What it says of it.
  std::string reload(int site, const std::vector<int>& peers) {
    Program& program = gateway(site).program();
    const size_t before = program.err_so_far().size();
    gateway(site).configure(file_of(site, peers));
    program.signal(SIGHUP);
    return wait_for(site, "reloaded", before);
  }
  std::string wait_for(int site, const std::string& text, size_t from) {
    const auto end = Time::now() + seconds(30);
    Program& program = gateway(site).program();
    while (program.err_so_far().find(text, from) == std::string::npos) {
      if (Time::now() > end) return ADD_FAILURE() << text << "\n" << program.err_so_far(), "";
      std::this_thread::sleep_for(milliseconds(10));
    }
    std::this_thread::sleep_for(milliseconds(20));  // the rest of the line
    return program.err_so_far().substr(from);
  }
  size_t said(int site) { return gateway(site).program().err_so_far().size(); }

  std::unique_ptr<Datagrams> stream(int from, int to) {
    addresses_.push_back(Triangle::host_address(from));
    const std::string& source = addresses_.back();
    addresses_.push_back(Triangle::host_address(to));
    DatagramsOptions options{.source = source.c_str(), .target = addresses_.back().c_str()};
    options.udp_port = static_cast<uint16_t>(7000 + from * 10 + to);
    options.per_second = 300;
    auto made = std::make_unique<Datagrams>(lab_->host(from), lab_->host(to), options);
    made->start();
    return made;
  }
  static void all_arrive(const Datagrams& stream) {
    const auto from = Time::now();
    std::this_thread::sleep_for(milliseconds(300));
    const auto to = Time::now();
    stream.wait_for_all(from, to);
    EXPECT_GT(stream.counts(from, to).sent, 0u);
    EXPECT_EQ(stream.counts(from, to).lost(), 0u) << text_of(stream.counts(from, to));
  }

  Folder folder_;
  std::optional<Triangle> lab_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::list<std::string> addresses_;
};

INSTANTIATE_TEST_SUITE_P(OfLinks, PeersCome, testing::Values(1, 2));

TEST_P(PeersCome, and_go_and_others_do_not_notice) {
  const std::vector<int> first[] = {{2}, {1}, {1, 2}};
  for (int site = 1; site <= 3; ++site) {
    gateway(site).configure(file_of(site, first[site - 1]));
    gateway(site).start();
  }
  (void)wait_for(1, "info up peer=2", 0);
  const auto there = stream(1, 2), back = stream(2, 1);
  all_arrive(*there);

  EXPECT_EQ(reload(1, {3, 2}).find("need_restart"), std::string::npos);
  (void)wait_for(1, "info up peer=3", 0);
  const auto there_3 = stream(1, 3), back_3 = stream(3, 1);
  all_arrive(*there_3);
  all_arrive(*back_3);

  // There is no place for one more.
  EXPECT_NE(reload(1, {2, 3, 4}).find("need_restart=[\"peer.4\"]"), std::string::npos);

  const size_t before = said(3);
  EXPECT_EQ(reload(1, {2}).find("need_restart"), std::string::npos);
  (void)wait_for(3, "down peer=1", before);
  EXPECT_EQ(gateway(3).program().err_so_far().find("why=\"the peer has left\"", before) !=
                std::string::npos,
            true)
      << gateway(3).program().err_so_far();
  EXPECT_EQ(lab_->gateway(1).run({"ip", "route", "show", "dev", "causeway0"}).out.find("10.3.0.0"),
            std::string::npos);

  // And is back, in another life of the link.
  const size_t then = said(1);
  EXPECT_EQ(reload(1, {2, 3}).find("need_restart"), std::string::npos);
  (void)wait_for(1, "info up peer=3", then);
  all_arrive(*there_3);
  all_arrive(*back_3);

  for (const auto& each : {there.get(), back.get()}) {
    each->stop();
    each->settle();
    EXPECT_EQ(each->counts().lost(), 0u) << text_of(each->counts());
    EXPECT_EQ(each->counts().wrong + each->counts().doubled, 0u);
  }
}

}  // namespace
}  // namespace cw::lab
