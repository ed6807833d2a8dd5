// Classes that adapt, at two sites whose line changes.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/sim/gateway/sites.h"
#include "tests/sim/gateway/transfers.h"

namespace cw::sim {
namespace {

using namespace literals;

struct Phase {
  const char* name;
  double loss = 0, burst = 1;
  Duration rtt = 25_ms;
  Duration time = 90_s;
};

Impairment wan_of(const Phase& phase) {
  Impairment wan{.delay = phase.rtt / 2};
  if (phase.burst > 1) {
    wan.gilbert_elliott = GilbertElliott::from_burst(phase.burst, phase.loss);
  } else {
    wan.loss = phase.loss;
  }
  return wan;
}

std::string class_text(const std::string& policy) {
  return "[[class]]\nname = \"bulk\"\npolicies = [\"selective_repeat\", \"erasure\"]\n" + policy;
}

const std::string adaptive = "policy = \"adaptive\"\ntransfer = \"64 KiB\"\n";

struct Tally {
  double p50 = 0, p99 = 0, p999 = 0;
  uint64_t transfers = 0, broken = 0;
  double sent = 0;
};

class AdaptSites {
 public:
  explicit AdaptSites(const std::string& policy, uint64_t seed = 7)
      : sites_({.seed = seed,
                .files = site_files(
                    2, {.rate = "500 Mbit/s", .rtt = "25 ms", .classes = class_text(policy)}),
                .wan = wan_of({.name = "begin"})}) {
    EXPECT_TRUE(sites_.come_up());
    options_.begin = sites_.now();
    options_.every = Duration::from_us(6'000);
    sender_.emplace(options_);
    receiver_.emplace(options_);
    sites_.host(1).run(*sender_);
    sites_.host(2).run(*receiver_);
  }

  Tally run(const Phase& phase, Duration left_out = 1_s) {
    sites_.set_wan(wan_of(phase));
    sites_.run_for(left_out);
    const uint64_t first = sender_->begun();
    const uint64_t wan_before = wan_bytes(), lan_before = lan_bytes();
    sites_.run_for(phase.time);
    const uint64_t end = sender_->begun();
    Tally tally;
    tally.sent = double(wan_bytes() - wan_before) / double(lan_bytes() - lan_before);
    sites_.run_for(1_s);
    std::vector<double> times;
    for (uint64_t i = first; i < end; ++i) {
      const auto& each = receiver_->transfers().at(i);
      tally.broken += each.is_whole(options_) ? 0 : 1;
      times.push_back(each.took.ms());
    }
    std::ranges::sort(times);
    const auto at = [&](double share) {
      return times[std::min(times.size() - 1, static_cast<size_t>(double(times.size()) * share))];
    };
    tally.transfers = times.size();
    tally.p50 = at(0.5), tally.p99 = at(0.99), tally.p999 = at(0.999);
    return tally;
  }
  Sites& sites() { return sites_; }

 private:
  uint64_t wan_bytes() { return sites_.state(1).wan_port.tx_bytes; }
  uint64_t lan_bytes() { return sites_.state(1).lan_port.rx_bytes; }

  TransferOptions options_;
  Sites sites_;
  std::optional<TransferSender> sender_;
  std::optional<TransferReceiver> receiver_;
};

TEST(Adapts, look) {
  const Phase phases[] = {{"calm", 1e-6},
                          {"bad", 0.01, 3},
                          {"better", 1e-4},
                          {"bursts", 1e-3, 8},
                          {"far", 1e-3, 8, 50_ms},
                          {"calm again", 0}};
  std::vector<std::string> policies = {adaptive, "policy = \"selective_repeat\"\n"};
  for (const auto& [k, m] : std::vector<std::pair<int, int>>{
           {32, 4}, {32, 8}, {32, 12}, {32, 16}}) {
    policies.push_back("policy = \"erasure\"\nparams = { k = " + std::to_string(k) + ", m = " +
                       std::to_string(m) + ", m_max = " + std::to_string(m) + " }\n");
  }
  for (const std::string& policy : policies) {
    AdaptSites world(policy);
    std::printf("%s", policy.c_str());
    for (const Phase& phase : phases) {
      const Tally it = world.run(phase);
      std::printf("  %-10s %llu transfers, %llu broken, p50 %.2f p99 %.2f p99.9 %.2f, sent %.3f\n",
                  phase.name, (unsigned long long)it.transfers, (unsigned long long)it.broken,
                  it.p50, it.p99, it.p999, it.sent);
    }
    for (const auto& each : world.sites().seat(1).decided()) {
      std::printf("    %.1f s: %s\n", double(each.at.ns()) * 1e-9,
                  each.answer.decision.what.c_str());
    }
  }
}

}  // namespace
}  // namespace cw::sim
