// What a gateway lets in of its hosts' packets while it begins and while it ends.
#include "control/gateway/site/valve.h"

#include <gtest/gtest.h>

#include <array>

namespace cw::site {
namespace {

/// Hands out packets that nobody looks at, as many as are asked for.
class EndlessPort final : public Port {
 public:
  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return {}; }
  size_t rx_burst(std::span<Packet*> out, Instant) override {
    std::ranges::fill(out, &packet_);
    return out.size();
  }
  size_t tx_burst(std::span<Packet* const> packets, Instant) override { return packets.size(); }
  size_t take_burst(std::span<Packet*>) override { return 0; }
  void give_back(std::span<Packet* const>) override {}

 private:
  PortFacts facts_;
  Packet packet_;
};

class ValveOf : public testing::Test {
 protected:
  size_t let_in(Instant now) {
    std::array<Packet*, 4> packets;
    return valve_.rx_burst(packets, now);
  }
  EndlessPort port_;
  Valve valve_{port_};
  const Instant start_ = Instant() + Duration::from_s(7), late_ = start_ + Duration::from_s(1);
};

TEST_F(ValveOf, lets_in_what_comes) { EXPECT_EQ(let_in(start_), 4u); }

TEST_F(ValveOf, a_device_of_an_earlier_life_opens_when_it_may) {
  bool may_open = false;
  valve_.open_when([&] { return may_open; }, late_);
  EXPECT_EQ(let_in(start_), 0u);
  may_open = true;
  EXPECT_EQ(let_in(start_), 4u);
  may_open = false;  // once is enough
  EXPECT_EQ(let_in(start_), 4u);
}

TEST_F(ValveOf, such_a_device_opens_at_last_though_nobody_is_there) {
  valve_.open_when([] { return false; }, late_);
  EXPECT_EQ(let_in(late_ - Duration::from_ns(1)), 0u);
  EXPECT_EQ(let_in(late_), 4u);
}

TEST_F(ValveOf, an_end_that_comes_before_leaves_all_packets_where_they_are) {
  valve_.open_when([] { return true; }, late_);
  valve_.shut();
  EXPECT_EQ(let_in(late_), 0u);
  EXPECT_TRUE(valve_.is_shut());
}

}  // namespace
}  // namespace cw::site
