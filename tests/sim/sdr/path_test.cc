// Paths that die, shrink and come back while a link is up, found out by the link's own questions
// and by what the peer reports [C-10] [C-58] [C-59].
#include <gtest/gtest.h>

#include <array>

#include "tests/sim/sdr/pair.h"

namespace cw::sim {
namespace {
using namespace literals;

/// Packets longer than `most` on paths of `holed`, one bit each, are lost; data is counted.
struct Hole {
  uint32_t holed = 0;
  uint32_t most = slot_write_header_bytes + 1024 - 1;
  std::array<uint64_t, limits::paths_max> data{};

  WireScript script() {
    WireScript script;
    script.control = [this](const Packet& packet) { return fate_of(packet); };
    script.data = [this](const Packet& packet) {
      ++data[packet.path];
      return fate_of(packet);
    };
    return script;
  }
  Fate fate_of(const Packet& packet) const {
    const bool is_long = packet.bytes + packet.payload_bytes > most;
    return is_long && (holed >> packet.path & 1) != 0 ? Fate::Lose : Fate::Pass;
  }
};

PairOptions pair_with(uint16_t paths) {
  PairOptions options = reliable_pair();
  options.a.paths = options.b.paths = paths;
  return options;
}
/// Of which the link always has something to send.
PairOptions busy_pair_with(uint16_t paths) {
  PairOptions options = pair_with(paths);
  options.courier = {.bytes_max = 40'000, .in_flight = 7, .posted = 8};
  return options;
}

uint32_t too_small(const std::unique_ptr<Site>& site) {
  return site->link().path_health().too_small();
}
uint32_t up(const std::unique_ptr<Site>& site) { return site->link().path_health().up(); }

class Paths : public testing::Test {
 protected:
  void make(uint16_t paths, const PairOptions* options = nullptr) {
    from_a_ = there_.script();
    from_b_ = back_.script();
    pair_.emplace(options == nullptr ? pair_with(paths) : *options, from_a_, from_b_);
    ASSERT_TRUE(pair_->delivers(5, 3_s));
  }
  Pair& pair() { return *pair_; }

  Hole there_, back_;

 private:
  WireScript from_a_, from_b_;
  std::optional<Pair> pair_;
};

TEST_F(Paths, one_alone_that_shrinks_is_noticed_by_who_sends_there_and_so_is_its_recovery) {
  make(1);
  there_.holed = 1;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 1; }, 15_s));
  EXPECT_EQ(too_small(pair().b), 0u);
  EXPECT_TRUE(pair().are_up());
  there_.holed = 0;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 0; }, 1_s));
  EXPECT_TRUE(pair().delivers(20, 3_s));
  EXPECT_EQ(pair().courier().complaint(), "");
}

TEST_F(Paths, one_of_several_that_shrinks_keeps_data_off_it) {
  make(3);
  there_.holed = 1 << 1;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 1 << 1; }, 15_s));
  pair().run_for(1_s);  // what was under way is mended
  const uint64_t before = pair().a->counters().read_any_thread(Counter::resends_sent);
  EXPECT_TRUE(pair().delivers(50, 10_s));
  EXPECT_EQ(pair().a->counters().read_any_thread(Counter::resends_sent), before);
  there_.holed = 0;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 0; }, 1_s));
  EXPECT_TRUE(pair().delivers(20, 3_s));
  EXPECT_EQ(pair().courier().complaint(), "");
}

TEST_F(Paths, that_all_shrink_are_told_and_data_goes_on_when_they_are_mended) {
  make(2);
  there_.holed = 3;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 3; }, 15_s));
  there_.holed = 0;
  EXPECT_TRUE(pair().run_until([&] { return too_small(pair().a) == 0; }, 1_s));
  EXPECT_TRUE(pair().delivers(20, 5_s));
}

// Losses do not ask how long a packet is.
TEST_F(Paths, are_not_taken_for_small_because_they_lose_or_go_dark) {
  PairOptions options = pair_with(2);
  options.wire = {.loss = 0.05, .delay = 10_ms, .jitter_max = 15_ms, .jitter_reorders = true};
  make(2, &options);
  uint32_t seen = 0;
  const auto look = [&] { return seen |= too_small(pair().a) | too_small(pair().b), false; };
  (void)pair().run_until(look, 200_s);
  EXPECT_EQ(seen, 0u);
  there_.most = 0;  // not a packet
  there_.holed = 3;
  (void)pair().run_until(look, 5_s);
  there_.holed = 0;
  (void)pair().run_until(look, 20_s);
  EXPECT_EQ(seen, 0u);
  EXPECT_TRUE(pair().delivers(20, 10_s));
}

// ---- one that dies ----

class DyingPath : public Paths {
 protected:
  static constexpr Duration rtt = 20_ms;
  static constexpr Duration found = rtt * 4 + 100_ms;

  void make_busy(uint16_t paths) {
    const PairOptions options = busy_pair_with(paths);
    make(paths, &options);
    pair().run_for(1_s);
    ASSERT_EQ(up(pair().a), (1u << paths) - 1);
  }
  /// All packets of these paths, both ways or one.
  void kill(uint32_t paths, bool is_both_ways = true) {
    there_.most = back_.most = 0;
    there_.holed = paths;
    back_.holed = is_both_ways ? paths : 0;
  }
};

TEST_F(DyingPath,
       takes_no_data_after_four_round_trips_and_does_so_again_a_second_after_it_is_mended) {
  make_busy(4);
  kill(1 << 2);
  pair().run_for(found);
  EXPECT_EQ(up(pair().a), 0b1011u);
  const uint64_t before = there_.data[2];
  const uint64_t others = there_.data[1];
  pair().run_for(10_s);
  EXPECT_EQ(up(pair().b), 0b1011u) << "it sends no data, and takes its time";
  EXPECT_EQ(there_.data[2], before);
  EXPECT_GT(there_.data[1], others + 1000);
  kill(0);
  pair().run_for(1_s);
  EXPECT_EQ(up(pair().a), 0b1111u);
  EXPECT_GT(there_.data[2], before);
  EXPECT_EQ(pair().courier().complaint(), "");
}

TEST_F(DyingPath, one_way_is_left_by_who_sends_there_alone) {
  make_busy(3);
  kill(1 << 1, false);
  pair().run_for(found);
  EXPECT_EQ(up(pair().a), 0b101u);
  kill(0);
  pair().run_for(1_s);
  EXPECT_EQ(up(pair().a), 0b111u);
}

TEST_F(DyingPath, that_loses_long_packets_alone_is_found_out_as_fast) {
  make_busy(4);
  there_.holed = 1;
  pair().run_for(found);
  EXPECT_EQ(up(pair().a), 0b1110u);
  EXPECT_EQ(too_small(pair().a), 1u);
  const uint64_t before = there_.data[0];
  pair().run_for(5_s);
  EXPECT_EQ(there_.data[0], before);
  there_.holed = 0;
  pair().run_for(1_s);
  EXPECT_EQ(up(pair().a), 0b1111u);
}

// By short questions alone: long ones are ten seconds apart, and eight must be missed.
TEST_F(DyingPath, is_found_out_where_no_data_crosses_as_well) {
  PairOptions options = pair_with(2);
  options.courier.messages = 10;
  make(2, &options);
  pair().run_for(1_s);
  ASSERT_EQ(up(pair().a), 0b11u);
  kill(1 << 1);
  EXPECT_TRUE(pair().run_until([&] { return up(pair().a) == 0b01u; }, 10_s));
}

TEST_F(DyingPath, that_was_dead_at_the_start_takes_no_data_until_it_answers) {
  kill(1 << 1);
  const PairOptions options = busy_pair_with(2);
  make(2, &options);
  pair().run_for(1_s);
  const uint64_t before = there_.data[1];
  EXPECT_LT(before, 100u);
  pair().run_for(1_s);
  EXPECT_EQ(there_.data[1], before);
  kill(0);
  pair().run_for(1_s);
  EXPECT_GT(there_.data[1], before);
}

TEST_F(DyingPath, is_none_because_of_chance) {
  PairOptions options = busy_pair_with(4);
  options.wire.loss = 0.05;
  make(4, &options);
  pair().run_for(2_s);
  uint64_t downs = 0, looks = 0;
  const auto look = [&] { return ++looks, downs += up(pair().a) != 0b1111u, false; };
  (void)pair().run_until(look, 60_s);
  EXPECT_EQ(downs, 0u) << looks;
}

// [C-57]
TEST_F(DyingPath, numbers_that_differ_at_the_two_ends_are_agreed_on) {
  PairOptions options = busy_pair_with(4);
  options.b.paths = 2;
  make(4, &options);
  pair().run_for(1_s);
  EXPECT_EQ(up(pair().a), 0b11u);
  EXPECT_EQ(up(pair().b), 0b11u);
  EXPECT_EQ(there_.data[2] + there_.data[3], 0u);
  EXPECT_GT(there_.data[0], 100u);
  EXPECT_EQ(pair().dropped_at_b(DropReason::path_unknown), 0u);
  EXPECT_EQ(pair().courier().complaint(), "");
}

}  // namespace
}  // namespace cw::sim
