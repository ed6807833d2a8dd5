// What tests with virtual machines begin from: the machines are started once, for all cases of a
// program.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/lab/enclosure.h"
#include "tests/rdma/rdma_sites.h"

namespace cw::lab {

class RdmaSuite : public testing::Test {
 protected:
  // A suite that throws here would be skipped, and nobody would miss it.
  static void SetUpTestSuite() {
    if (sites_ || !obstacle().empty()) return;
    const auto begin = Time::now();
    try {
      auto sites = std::make_unique<RdmaSites>(
          RdmaPrograms{CW_WAN_PROGRAM, CW_DAEMON_PROGRAM, CW_GUEST_FOLDER}, CW_LAB_MTU);
      sites->wait_ready();
      sites_ = std::move(sites);
      tell("two machines started in " + seconds_since(begin));
    } catch (const std::exception& error) {
      why_not_ = error.what();
    }
  }

  void SetUp() override {
    if (!obstacle().empty()) GTEST_SKIP() << obstacle();
    ASSERT_TRUE(sites_) << why_not_;
    begin_ = Time::now();
  }

  void TearDown() override {
    if (!sites_) return;
    tell(seconds_since(begin_));
    if (!HasFailure()) return;
    for (Gateway* each : {&sites_->gateway_a(), &sites_->gateway_b()}) {
      if (each->is_running()) std::cerr << each->status().dump() << "\n";
    }
  }

  static VirtualHost& a() { return sites_->host_a(); }
  static VirtualHost& b() { return sites_->host_b(); }
  static RdmaSites& sites() { return *sites_; }

  static std::string seconds_since(Time::time_point begin) {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(Time::now() - begin);
    return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() / 100 % 10) +
           " s";
  }
  static void tell(const std::string& text) { std::cout << "             " << text << "\n"; }

 private:
  static inline std::unique_ptr<RdmaSites> sites_;
  static inline std::string why_not_;
  Time::time_point begin_;
};

}  // namespace cw::lab
