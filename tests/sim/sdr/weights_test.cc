// How QPs of one link share its pacer.
#include <gtest/gtest.h>

#include "tests/sim/sdr/slots_world.h"

namespace cw::sim {
namespace {
using namespace literals;

/// Streams of one link, each kept full unless told not to.
struct Rivals {
  explicit Rivals(const std::vector<uint32_t>& weights, Rate rate)
      : options(options_of(weights, rate)), pair(options, calm) {
    pair.courier().stop();
    pair.courier().post_nothing();
    for (uint16_t qp = 0; qp < weights.size(); ++qp) {
      sources.emplace_back(options.a.stream);
      sinks.push_back(std::make_unique<SlotSink>(*pair.b, qp));
      is_busy.push_back(true);
    }
    EXPECT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
    pair.run_for(100_ms);
  }

  static PairOptions options_of(const std::vector<uint32_t>& weights, Rate rate) {
    PairOptions options = slots_pair();
    options.a.weights = options.b.weights = weights;
    options.a.rate = rate;
    options.a.stream.messages = options.b.stream.messages = 16;
    options.a.stream.data_slots_max = options.b.stream.data_slots_max = 256;
    return options;
  }
  /// How many slots of each stream arrived in `time`.
  std::vector<double> run(Duration time) {
    std::vector<double> arrived;
    for (const auto& sink : sinks) arrived.push_back(-static_cast<double>(sink->arrived_count()));
    const Instant end = pair.network().now() + time;
    while (pair.network().now() < end) {
      for (uint16_t qp = 0; qp < sources.size(); ++qp) fill(qp);
      pair.run_for(500_us);
    }
    for (size_t qp = 0; qp < sinks.size(); ++qp) {
      arrived[qp] += static_cast<double>(sinks[qp]->arrived_count());
      EXPECT_EQ(sinks[qp]->complaint(), "");
    }
    return arrived;
  }
  void fill(uint16_t qp) {
    const sdr::Source stream = pair.a->sends(qp);
    // Slots of other sizes, so that bytes are shared and not packets.
    const auto bytes = static_cast<uint16_t>(qp == 0 ? 300 : 1000);
    while (is_busy[qp] && stream.waiting_bytes() < 60'000) {
      if (!sources[qp].append(stream, bytes, pair.network().now())) return;
    }
  }

  const WireScript calm;
  PairOptions options;
  Pair pair;
  std::vector<SlotSource> sources;
  std::vector<std::unique_ptr<SlotSink>> sinks;
  std::vector<bool> is_busy;
};

constexpr double wire_of_small = 300 + 32, wire_of_large = 1000 + 32;

TEST(Weights, share_the_bytes_of_the_line_within_five_percent) {
  for (const auto& weights : {std::vector<uint32_t>{1, 3}, {3, 1}, {1, 1}, {1, 40}}) {
    SCOPED_TRACE(std::to_string(weights[0]) + " to " + std::to_string(weights[1]));
    Rivals rivals(weights, Rate::from_mbps(100));
    (void)rivals.run(200_ms);
    const auto arrived = rivals.run(1_s);
    const double small = arrived[0] * wire_of_small, large = arrived[1] * wire_of_large;
    const double wanted = static_cast<double>(weights[0]) / (weights[0] + weights[1]);
    EXPECT_NEAR(small / (small + large) / wanted, 1, 0.05);
    EXPECT_GT((small + large) * 8, 0.93e8) << "and the line is full";
  }
}

TEST(Weights, what_one_leaves_the_other_takes_and_nobody_saves_up) {
  Rivals rivals({1, 3}, Rate::from_mbps(100));
  rivals.is_busy[1] = false;
  (void)rivals.run(200_ms);
  const auto alone = rivals.run(1_s);
  EXPECT_GT(alone[0] * wire_of_small * 8, 0.93e8);
  EXPECT_EQ(alone[1], 0);
  rivals.is_busy[1] = true;
  (void)rivals.run(50_ms);
  const auto both = rivals.run(500_ms);
  const double small = both[0] * wire_of_small, large = both[1] * wire_of_large;
  EXPECT_NEAR(small / (small + large), 0.25, 0.0125) << "no debt and no claim of the past";
}

TEST(Weights, of_three_streams_where_resends_are_on_account) {
  Rivals rivals({1, 2, 1}, Rate::from_mbps(100));
  (void)rivals.run(200_ms);
  rivals.pair.network().set_all_impairments({.loss = 0.05, .delay = 10_ms});
  (void)rivals.run(200_ms);
  const auto arrived = rivals.run(1_s);
  EXPECT_NEAR(arrived[1] / arrived[2], 2, 0.1) << "slots alike, loss alike";
}

TEST(Weights, must_not_be_zero) {
  Rivals rivals({1}, Rate::from_mbps(100));
  sdr::QpOptions qp;
  qp.stream.qp = 5;
  qp.weight = 0;
  qp.policy = {cw_policy_passthrough(), {}};
  const auto added = rivals.pair.a->link().add_qp(qp, rivals.pair.network().now());
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().sentence, "qp 5: weight is 0 and must be 1 to 1000");
}

}  // namespace
}  // namespace cw::sim
