// A test's two sites: the line, a gateway at each, and what is asked of them again and again.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/lab/datagrams.h"
#include "tests/lab/gateway.h"
#include "tests/lab/sites.h"

namespace cw::lab {

/// Of a test with parameters: the WAN ports that are built in.
enum class Wan { Sockets, Dpdk };
inline std::vector<Wan> every_wan() {
#ifdef CW_HAVE_DPDK
  return {Wan::Sockets, Wan::Dpdk};
#else
  return {Wan::Sockets};
#endif
}
inline std::string name_of(Wan wan) { return wan == Wan::Dpdk ? "dpdk" : "sockets"; }
inline void PrintTo(Wan wan, std::ostream* out) { *out << name_of(wan); }

class TwoGateways : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }

  void TearDown() override {
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
};

}  // namespace cw::lab
