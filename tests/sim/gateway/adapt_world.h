// Two sites whose classes adapt, or do not, and hosts behind them that wait for transfers while the
// line between the sites changes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/gateway/sites.h"
#include "tests/sim/gateway/transfers.h"

namespace cw::sim {

/// What the line is like for a while, each way alike.
struct Weather {
  const char* name;
  double loss = 0, burst = 1;
  Duration rtt = Duration::from_ms(25);

  Impairment impairment() const {
    Impairment wan{.delay = rtt / 2};
    if (burst > 1) {
      wan.gilbert_elliott = GilbertElliott::from_burst(burst, loss);
    } else {
      wan.loss = loss;
    }
    return wan;
  }
};

/// How long transfers took, the shortest first; one that is not whole took for ever.
struct TransferTimes {
  std::vector<double> ms;

  double at(size_t from_last) const {
    return ms[ms.size() - 1 - std::min(from_last, ms.size() - 1)];
  }
  double quantile(double share) const {
    return at(static_cast<size_t>(double(ms.size()) * (1 - share)));
  }
  /// With 95 % confidence a quantile of the law behind these is not above.
  double quantile_at_most(double share) const {
    const double beyond = double(ms.size()) * (1 - share);
    return at(static_cast<size_t>(std::max(0.0, beyond - 1.96 * std::sqrt(beyond))));
  }
  size_t broken() const {
    return static_cast<size_t>(std::ranges::count(ms, Duration::max().ms()));
  }
};

inline std::string adaptive_class(const std::string& lines = "") {
  return "[[class]]\nname = \"bulk\"\npolicy = \"adaptive\"\ntransfer = \"64 KiB\"\n" + lines;
}
/// Of the same room as one that adapts.
inline std::string fixed_class(const std::string& policy) {
  return "[[class]]\nname = \"bulk\"\npolicies = [\"selective_repeat\", \"erasure\"]\npolicy = " +
         policy + "\n";
}
inline std::string erasure_class(int k, int m) {
  return fixed_class("\"erasure\"\nparams = { k = " + std::to_string(k) +
                     ", m = " + std::to_string(m) + ", m_max = " + std::to_string(m) + " }");
}

class AdaptSites {
 public:
  struct Setup {
    uint64_t seed = 7;
    Duration every = Duration::from_ms(20);  ///< a transfer
    Weather begin{"before"};
    std::string wan;  ///< lines of [wan]
  };
  explicit AdaptSites(const std::string& classes) : AdaptSites(classes, Setup()) {}
  AdaptSites(const std::string& classes, const Setup& setup)
      : AdaptSites(
            site_files(
                2, {.rate = "500 Mbit/s", .rtt = "25 ms", .wan = setup.wan, .classes = classes}),
            setup) {}
  AdaptSites(const std::vector<std::string>& files, const Setup& setup)
      : every_(setup.every),
        sites_({.seed = setup.seed, .files = files, .wan = setup.begin.impairment()}) {
    EXPECT_TRUE(sites_.come_up());
  }

  /// Host `from` sends transfers from now on; tells them apart by `number`.
  void begin_transfers(int from = 1, uint16_t number = 1, uint8_t dscp = 0) {
    TransferOptions options{.number = number, .dscp = dscp, .every = every_};
    options.from = static_cast<uint8_t>(from), options.to = static_cast<uint8_t>(3 - from);
    options.begin = sites_.now();
    Pair& pair = *pairs_.emplace_back(std::make_unique<Pair>(options));
    sites_.host(from).run(pair.sender);
    sites_.host(3 - from).run(pair.receiver);
  }

  /// Of the first that was begun, those that begin in `time`, after a change of the weather and
  /// `left_out`.
  TransferTimes run(const Weather& weather, Duration time, Duration left_out = Duration()) {
    sites_.set_wan(weather.impairment());
    sites_.run_for(left_out);
    const uint64_t first = pairs_.front()->sender.begun();
    sites_.run_for(time);
    const uint64_t end = pairs_.front()->sender.begun();
    sites_.run_for(settle_time);
    return times(0, first, end);
  }
  TransferTimes times(size_t pair, uint64_t first, uint64_t end) const {
    TransferTimes times;
    const auto& all = pairs_[pair]->receiver.transfers();
    for (uint64_t i = first; i < end; ++i) {
      const bool is_whole = i < all.size() && all[i].is_whole(pairs_[pair]->options);
      times.ms.push_back((is_whole ? all[i].took : Duration::max()).ms());
    }
    std::ranges::sort(times.ms);
    return times;
  }
  uint64_t begun(size_t pair) const { return pairs_[pair]->sender.begun(); }

  /// Bytes that site 1 sends for each that its hosts do, in `time`.
  double sent_for(Duration time) {
    const site::SiteState before = sites_.state(1);
    sites_.run_for(time);
    const site::SiteState after = sites_.state(1);
    return double(after.wan_port.tx_bytes - before.wan_port.tx_bytes) /
           double(after.lan_port.rx_bytes - before.lan_port.rx_bytes);
  }

  Sites& sites() { return sites_; }
  using Decisions = std::vector<SiteSeat::Decided>;
  const Decisions& decided(int site = 1) { return sites_.seat(site).decided(); }
  std::string story(int site = 1) {
    std::string text;
    for (const auto& each : decided(site)) {
      text += std::to_string(each.at.ns() / 1'000'000) + " ms: " + each.answer.decision.what + "\n";
    }
    return text;
  }
  /// What sends for the class, by its name.
  std::string sends(int site = 1, size_t class_index = 0) {
    return sites_.state(site).lanes[class_index].policy_out;
  }

 private:
  static constexpr Duration settle_time = Duration::from_ms(500);
  struct Pair {
    explicit Pair(const TransferOptions& its) : options(its), sender(its), receiver(its) {}
    TransferOptions options;
    TransferSender sender;
    TransferReceiver receiver;
  };

  Duration every_;
  Sites sites_;
  std::vector<std::unique_ptr<Pair>> pairs_;
};

}  // namespace cw::sim
