#include "tests/demo/swaps.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/lab/one_way.h"

namespace cw::demo {
namespace {

constexpr auto interval = std::chrono::microseconds(500);  // between datagrams
constexpr auto beside = std::chrono::milliseconds(500);    // before the order and after the end
constexpr auto swap_patience = std::chrono::seconds(20);

class Stream {
 public:
  explicit Stream(const lab::Sites& sites) : way_(sites, lab::site_a.host, lab::site_b.host) {}

  void run(std::chrono::microseconds time) {
    const auto end = lab::Time::now() + time;
    for (auto next = lab::Time::now(); next < end; next += interval, ++sent_) {
      std::this_thread::sleep_until(next);
      way_.send_probe();
      way_.receive();
    }
  }
  void tell(SwapResult& result) {
    std::this_thread::sleep_for(beside);  // for those under way
    way_.receive();
    const lab::Latencies latencies = way_.latencies();
    result.sent = sent_;
    result.lost = sent_ - latencies.us.size();
    result.typical_us = latencies.quantile(0.5);
    result.longest_us = latencies.quantile(1);
  }

 private:
  lab::OneWay way_;
  uint64_t sent_ = 0;
};

}  // namespace

std::vector<SwapResult> measure_swaps(const lab::Sites& sites, Gateways& gateways,
                                      const Options& options) {
  std::vector<SwapResult> results;
  std::string from = options.policy;
  for (const std::string& to : swap_targets(options)) {
    SwapResult result{.from = from, .to = to};
    Stream stream(sites);
    stream.run(beside);
    gateways.order(to);
    const auto end = lab::Time::now() + swap_patience;
    while (!gateways.has_swapped(result.took_ms)) {
      gateways.check();
      if (lab::Time::now() > end) throw std::runtime_error(gateways.why_not(to));
      stream.run(std::chrono::milliseconds(20));
    }
    stream.run(beside);
    stream.tell(result);
    results.push_back(result);
    from = to;
  }
  return results;
}

}  // namespace cw::demo
