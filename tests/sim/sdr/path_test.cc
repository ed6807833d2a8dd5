// Ways that become too small while a link is up: found out by the link's own questions [C-10].
#include <gtest/gtest.h>

#include "tests/sim/sdr/pair.h"

namespace cw::sim {
namespace {
using namespace literals;

/// Packets longer than `most` on paths of `holed`, one bit each, are lost.
struct Hole {
  uint32_t holed = 0;
  uint32_t most = slot_write_header_bytes + 1024 - 1;

  WireScript script() {
    WireScript script;
    script.control = script.data = [this](const Packet& packet) {
      const bool is_long = packet.bytes + packet.payload_bytes > most;
      return is_long && (holed >> packet.path & 1) != 0 ? Fate::Lose : Fate::Pass;
    };
    return script;
  }
};

PairOptions pair_with(uint16_t paths) {
  PairOptions options = reliable_pair();
  options.a.paths = options.b.paths = paths;
  return options;
}

uint32_t too_small(const std::unique_ptr<Site>& site) { return site->link().too_small_paths(); }

class PathSize : public testing::Test {
 protected:
  void make(uint16_t paths, const PairOptions* options = nullptr) {
    from_a_ = there_.script();
    pair_.emplace(options == nullptr ? pair_with(paths) : *options, from_a_, back_);
    ASSERT_TRUE(pair_->delivers(5, 3_s));
  }
  Pair& pair() { return *pair_; }

  Hole there_;

 private:
  WireScript from_a_;
  const WireScript back_{};
  std::optional<Pair> pair_;
};

TEST_F(PathSize, that_shrinks_is_noticed_by_who_sends_there_and_so_is_its_recovery) {
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

TEST_F(PathSize, of_one_path_of_several_keeps_data_off_it) {
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

TEST_F(PathSize, of_no_path_is_left_data_take_them_all) {
  make(2);
  there_.holed = 3;
  ASSERT_TRUE(pair().run_until([&] { return too_small(pair().a) == 3; }, 15_s));
  there_.holed = 0;
  EXPECT_TRUE(pair().run_until([&] { return too_small(pair().a) == 0; }, 1_s));
  EXPECT_TRUE(pair().delivers(20, 5_s));
}

// Losses do not ask how long a packet is.
TEST_F(PathSize, is_not_taken_for_small_because_it_loses_or_goes_dark) {
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

}  // namespace
}  // namespace cw::sim
