// A test's two sites: the line, a gateway at each, and what is asked of them again and again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/lab/datagrams.h"
#include "tests/lab/gateway.h"
#include "tests/lab/kernel_talk.h"
#include "tests/lab/pings.h"
#include "tests/lab/sites.h"

namespace cw::lab {

/// Of a test with parameters: the ports that are built in. Sockets with a tun device on the LAN,
/// DPDK with one too, AF_XDP on both sides.
enum class Ports { Sockets, Dpdk, Xdp };
inline std::vector<Ports> every_port() {
  std::vector<Ports> all = {Ports::Sockets};
#ifdef CW_HAVE_DPDK
  all.push_back(Ports::Dpdk);
#endif
#ifdef CW_HAVE_XDP
  all.push_back(Ports::Xdp);
#endif
  return all;
}
/// Of cases that say `ports`, those whose ports are built in.
template <class Case>
std::vector<Case> built_in(std::vector<Case> cases) {
  const std::vector<Ports> all = every_port();
  std::erase_if(cases, [&](const Case& it) { return !std::ranges::count(all, it.ports); });
  return cases;
}
inline std::string name_of(Ports ports) {
  if (ports == Ports::Xdp) return "xdp";
  return ports == Ports::Dpdk ? "dpdk" : "sockets";
}
inline void PrintTo(Ports ports, std::ostream* out) { *out << name_of(ports); }
inline GatewayFile over(Ports ports, GatewayFile file) {
  file.is_over_dpdk = ports == Ports::Dpdk;
  file.is_over_xdp = file.is_lan_over_xdp = ports == Ports::Xdp;
  return file;
}

class TwoGateways : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }

  void TearDown() override {
    expect_kernels_undisturbed();
    if (!HasFailure()) return;
    for (std::optional<Gateway>* each : {&a_, &b_}) {
      if (*each && (*each)->is_running()) std::cerr << (*each)->status().dump() << "\n";
      if (*each) std::cerr << (*each)->program().err_so_far() << "\n";
    }
  }

  /// Makes the sites and the line, and both gateways' files.
  void prepare(const SitesOptions& sites, const GatewayFile& file, const Arguments& line) {
    sites_.emplace(sites);
    sites_->join(CW_WAN_PROGRAM, line);
    folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    a_.emplace(*sites_, folder_, CW_DAEMON_PROGRAM, true);
    b_.emplace(*sites_, folder_, CW_DAEMON_PROGRAM, false);
    for (Gateway* each : {&*a_, &*b_}) each->configure(file);
  }

  /// The same, and starts both until their link is up.
  void build(const SitesOptions& sites, const GatewayFile& file, const Arguments& line) {
    prepare(sites, file, line);
    for (Gateway* each : {&*a_, &*b_}) each->start();
    for (Gateway* each : {&*a_, &*b_}) ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
  }

  /// The same over these ports. Beside AF_XDP's frames the kernels have the same cables, and talk
  /// on them from then on until the test is over, which asks how they fared.
  void build_over(Ports ports, const GatewayFile& file, const Arguments& line,
                  SitesOptions sites = {}) {
    sites.lan_offloads &= ports != Ports::Xdp;
    build(sites, over(ports, file), line);
    if (ports == Ports::Xdp && !HasFatalFailure()) let_kernels_talk();
  }
  void let_kernels_talk() {
    meet();
    const Space &host = sites_->space(At::HostA), &near = sites_->space(At::GatewayA),
                &far = sites_->space(At::GatewayB);
    // An address that no packet of the hosts goes by: what waits for ARP is lost when it is
    // forgotten again.
    constexpr const char* aside = "10.1.0.5";
    near.must(std::string("ip addr add ") + aside + "/24 dev la");
    talks_.push_back(std::make_unique<KernelTalk>(KernelTalker{host, site_a.host, "va"},
                                                  KernelTalker{near, aside, "la"}));
    talks_.push_back(std::make_unique<KernelTalk>(KernelTalker{near, site_a.wan, "wa"},
                                                  KernelTalker{far, site_b.wan, "wb"}));
  }

  /// And so they were; while there still is a line. They say no more then.
  void expect_kernels_undisturbed() {
    for (const char* cable : {"LAN", "WAN"}) {
      if (talks_.empty()) return;
      const KernelTalkCounts counts = talks_.front()->finish(std::chrono::seconds(30));
      tell(std::string("kernels on the ") + cable + ": " + text_of(counts));
      EXPECT_GT(counts.answers, 0u);
      EXPECT_TRUE(counts.is_whole()) << cable << ": " << text_of(counts);
      talks_.erase(talks_.begin());
    }
  }

  /// Until both gateways know both hosts: the first packets to a host may be lost while its
  /// gateway asks where it is. False: they do not meet.
  bool meet(const char* target = site_b.host) {
    Pings pings(sites_->space(At::HostA), target);
    for (int i = 0; i < 20; ++i) {
      if (pings.ping(100, std::chrono::seconds(1))) return true;
    }
    return false;
  }

  static uint64_t number(const Json& json, const char* key) { return json.at(key).get<uint64_t>(); }

  /// Sends datagrams for a time and waits for them.
  DatagramCounts exchange(const DatagramsOptions& options, std::chrono::milliseconds time) {
    Datagrams datagrams(*sites_, options);
    datagrams.start();
    std::this_thread::sleep_for(time);
    datagrams.stop();
    datagrams.settle();
    const DatagramCounts counts = datagrams.counts();
    tell(std::string(options.source) + " to " + options.target + ", " +
         std::to_string(options.bytes) + " bytes: " + text_of(counts));
    return counts;
  }

  /// Everything that was sent has come, once, and as it was.
  static void expect_all(const DatagramCounts& counts) {
    EXPECT_GT(counts.sent, 0u);
    EXPECT_EQ(counts.lost(), 0u) << text_of(counts);
    expect_sound(counts);
  }
  /// Nothing came that had not been sent.
  static void expect_sound(const DatagramCounts& counts) {
    EXPECT_EQ(counts.doubled, 0u);
    EXPECT_EQ(counts.wrong, 0u);
  }

  /// A figure for people.
  static void tell(const std::string& text) { std::cout << "             " << text << "\n"; }

  Sites& sites() { return *sites_; }
  Gateway& a() { return *a_; }
  Gateway& b() { return *b_; }
  const Folder& folder() const { return folder_; }

 private:
  Folder folder_;
  std::optional<Sites> sites_;
  std::optional<Gateway> a_, b_;
  std::vector<std::unique_ptr<KernelTalk>> talks_;
};

}  // namespace cw::lab
