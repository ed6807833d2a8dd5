// How links share what they may send together.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <thread>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/core/rate/granter.h"
#include "tests/property/property.h"

namespace cw {
namespace {
using namespace literals;

// ---- a value published ----

struct Eight {
  uint64_t first = 0, middle[5] = {}, final = 0;
};

TEST(Published, is_read_whole_or_not_at_all) {
  Published<Eight> line;
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    for (uint64_t i = 1; i <= 20'000; ++i) line.write({i, {i, i, i, i, i}, i});
    is_over = true;
  });
  Eight seen;
  uint64_t before = 0, reads = 0;
  while (!is_over || reads == 0) {
    if (!line.try_read(seen)) continue;
    ++reads;
    ASSERT_EQ(seen.first, seen.final);
    for (const uint64_t word : seen.middle) ASSERT_EQ(word, seen.first);
    ASSERT_GE(seen.first, before);
    before = seen.first;
  }
  writer.join();
  ASSERT_TRUE(line.try_read(seen));
  EXPECT_EQ(seen.final, 20'000u);
}

TEST(GrantLines, no_two_writers_have_a_cache_line_in_common) {
  const std::vector<GrantLine> lines(3);
  const auto line_of = [](const void* place) { return reinterpret_cast<uintptr_t>(place) / 64; };
  std::vector<uintptr_t> all;
  for (const GrantLine& line : lines) {
    for (const void* place :
         std::initializer_list<const void*>{&line.demand, &line.counts, &line.grant}) {
      all.push_back(line_of(place));
    }
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

// ---- shares ----

RC_GTEST_PROP(ShareOut, gives_no_more_than_is_wanted_and_the_poorest_most, (uint64_t seed)) {
  Prng prng(seed);
  std::vector<Claim> claims(1 + prng.below(8));
  for (Claim& claim : claims) {
    claim.wants = prng.chance(0.3) ? 0 : prng.below(1'000'000);
    claim.weight = static_cast<uint32_t>(1 + prng.below(10));
  }
  const uint64_t capacity = prng.below(3'000'000);
  const uint64_t rest = share_out(capacity, claims);
  uint64_t given = rest;
  for (const Claim& claim : claims) given += claim.given;
  RC_ASSERT(given == capacity);
  for (const Claim& poor : claims) {
    RC_ASSERT(poor.given <= poor.wants);
    if (poor.given == poor.wants) continue;
    RC_ASSERT(rest == 0u);
    for (const Claim& rich : claims) {
      // What each division leaves, less than one, goes to those after it.
      const uint64_t left = claims.size() * poor.weight;
      RC_ASSERT(rich.given * poor.weight <= (poor.given + 1) * rich.weight + left);
    }
  }
}

// ---- grants ----

/// A shard as far as grants see it, which may read what is old by now, stand still, and send by
/// what it read in a turn that is not over.
struct Holder {
  GrantLine* line = nullptr;
  Grant read, goes_by;
  Demand demand{};

  void look() { (void)line->grant.try_read(read); }
  void adopt() { goes_by = read; }
  void tell(Instant now) {
    demand.at = now;
    demand.lowerings = goes_by.lowerings;
    line->demand.write(demand);
  }
  uint64_t in_force(Instant now) const { return now < goes_by.until ? goes_by.rate.bps() : 0; }
  /// By a clock that was read as long ago as a turn may take.
  uint64_t in_force_late(Instant now) const { return in_force(now - grant_margin); }
};

struct World {
  explicit World(size_t count, std::array<uint32_t, grant_classes_max> weights = {1},
                 bool adapt = false)
      : lines(count),
        granter({.rate = rate, .weights = weights, .rate_control = {.adapt = adapt}}, lines),
        holders(count) {
    for (size_t i = 0; i < count; ++i) holders[i].line = &lines[i];
  }
  /// All of them, each millisecond, but those that stand still.
  void run(Duration time, size_t still = SIZE_MAX) {
    for (const Instant end = now + time; now < end; now += grant_interval) {
      granter.turn(now);
      for (size_t i = 0; i < holders.size(); ++i) {
        if (i == still) continue;
        holders[i].look();
        holders[i].adopt();
        holders[i].tell(now);
      }
      EXPECT_LE(sum(), rate.bps());
    }
  }
  uint64_t sum() const {
    uint64_t all = 0;
    for (const Holder& holder : holders) all += holder.in_force_late(now);
    return all;
  }
  double share(size_t holder) const {
    return static_cast<double>(holders[holder].in_force(now)) / static_cast<double>(rate.bps());
  }

  static constexpr Rate rate = Rate::from_mbps(999);
  std::vector<GrantLine> lines;
  Granter granter;
  std::vector<Holder> holders;
  Instant now = Instant() + 1_s;
};

void act_at_random(World& world, Holder& holder, Prng& prng) {
  switch (prng.below(4)) {
    case 0:
      return holder.look();
    case 1:
      return holder.adopt();
    case 2:
      return holder.tell(world.now);
    default:
      holder.demand.kbps[prng.below(2)] =
          prng.chance(0.5) ? Demand::all : static_cast<uint32_t>(prng.below(2'000'000));
  }
}

RC_GTEST_PROP(Grants, never_add_up_to_more_than_the_rate, (uint64_t seed)) {
  Prng prng(seed);
  World world(1 + prng.below(5), {1, 3});
  for (int i = 0; i < 500; ++i) {
    if (prng.chance(0.2)) {
      world.granter.turn(world.now);
    } else {
      act_at_random(world, world.holders[prng.below(world.holders.size())], prng);
    }
    const int64_t most_ns = prng.chance(0.01) ? 30'000'000 : 300'000;
    world.now += Duration::from_ns(static_cast<int64_t>(prng.below(uint64_t(most_ns))));
    RC_ASSERT(world.sum() <= World::rate.bps());
  }
  // Then everybody goes on as usual, and nothing of the rate stays away.
  for (Holder& holder : world.holders) holder.demand.kbps[0] = Demand::all;
  world.run(30_ms);
  RC_ASSERT(world.sum() >= World::rate.bps() / 100 * 98);
}

TEST(Grants, of_one_link_are_all) {
  World world(1);
  world.run(5_ms);
  EXPECT_EQ(world.holders[0].in_force(world.now), World::rate.bps());
}

TEST(Grants, of_who_wants_nothing_go_to_who_wants_all) {
  World world(2);
  world.run(5_ms);
  EXPECT_NEAR(world.share(0), 0.5, 0.01);
  world.holders[0].demand.kbps[0] = Demand::all;
  world.run(5_ms);
  EXPECT_GT(world.share(0), 0.98);
  EXPECT_GT(world.share(1), 0.0) << "envelopes leave always";
  world.holders[1].demand.kbps[0] = Demand::all;
  world.run(5_ms);
  EXPECT_NEAR(world.share(1), 0.5, 0.01);
}

TEST(Grants, give_envelopes_theirs_before_any_class) {
  World world(3, {1, 1});
  for (Holder& holder : world.holders) holder.demand.kbps = {Demand::all, Demand::all};
  world.holders[1].demand = {.envelopes_kbps = 99'900};
  world.run(10_ms);
  EXPECT_NEAR(world.share(1), 0.1, 0.001);
  EXPECT_NEAR(world.share(0), 0.45, 0.01);
  world.holders[1].demand.envelopes_kbps = 1;
  world.run(10_ms);
  EXPECT_LT(world.share(1), 0.005) << "in what each has anyway";
  EXPECT_GT(world.share(1), 0.0);
}

TEST(Grants, follow_the_weights_of_classes_over_all_links) {
  World world(2, {3, 1});
  world.holders[0].demand.kbps = {Demand::all, Demand::all};
  world.holders[1].demand.kbps = {0, Demand::all};
  world.run(10_ms);
  EXPECT_NEAR(world.share(0), 0.75 + 0.125, 0.01);
  EXPECT_NEAR(world.share(1), 0.125, 0.01);
}

TEST(Grants, of_who_stands_still_end_and_are_not_there_when_it_wakes) {
  World world(2);
  for (Holder& holder : world.holders) holder.demand.kbps[0] = Demand::all;
  world.run(10_ms);
  ASSERT_NEAR(world.share(1), 0.5, 0.01);
  world.run(grant_lease + grant_margin + grant_interval * 3, 1);
  EXPECT_EQ(world.share(1), 0.0);
  EXPECT_GT(world.share(0), 0.98);
  world.holders[1].look();
  world.holders[1].adopt();
  EXPECT_EQ(world.share(1), 0.0) << "what it finds is over";
  world.run(5_ms);
  EXPECT_NEAR(world.share(1), 0.5, 0.01);
}

/// Each alone sends 40 % of the rate, of which 60 % arrives, with a queue that came to be. What is
/// left of the sum of what arrives once rate control has seen it.
double left_by_rate_control(bool is_pressed) {
  World world(2, {1}, true);
  world.holders[1].demand.is_pressed = is_pressed;
  LineCounts counts;
  for (int ms = 0; ms < 2000 && world.granter.rate() == World::rate; ++ms) {
    if (ms == 150) counts = {};  // an epoch begins
    counts.sent_packets += 40;
    counts.sent_bytes += 40 * 1250;
    counts.arrived += 24;
    counts.lost += 16;
    counts.rtt = ms < 100 ? 5_ms : 45_ms;
    ++counts.rtts;
    for (GrantLine& line : world.lines) line.counts.write(counts);
    world.run(1_ms);
  }
  const double carried = 2 * 40 * 0.6 * 1250 * 8 * 1000;
  return static_cast<double>(world.granter.rate().bps()) / carried;
}

TEST(Grants, follow_what_rate_control_makes_of_all_links) {
  EXPECT_NEAR(left_by_rate_control(false), 0.75, 0.04) << "it drains the queue";
}

TEST(Grants, drain_no_queue_while_too_much_waits_above_any_of_the_links) {
  EXPECT_GT(left_by_rate_control(true), 0.9);
}

TEST(Grants, are_of_the_quarters_that_are_its_own) {
  World world(2);
  for (Holder& holder : world.holders) holder.demand.kbps[0] = Demand::all;
  world.granter.set_quarters(1);
  world.run(10_ms);
  EXPECT_NEAR(world.share(0) + world.share(1), 0.25, 0.01);
  world.granter.set_quarters(4);
  world.run(10_ms);
  EXPECT_NEAR(world.share(0) + world.share(1), 1.0, 0.01);
}

TEST(Grants, are_wanted_while_packets_wait_at_a_shard_that_turns) {
  World world(2);
  world.run(5_ms);
  EXPECT_FALSE(world.granter.is_wanted(world.now));
  world.holders[1].demand.kbps[0] = 1;
  world.run(5_ms);
  EXPECT_TRUE(world.granter.is_wanted(world.now));
  EXPECT_FALSE(world.granter.is_wanted(world.now + 1_s)) << "nobody has been heard of";
}

TEST(Grants, follow_the_rate_that_is_configured) {
  World world(2);
  for (Holder& holder : world.holders) holder.demand.kbps[0] = Demand::all;
  world.run(10_ms);
  world.granter.set_rate(World::rate.scaled(0.25));
  world.run(10_ms);
  EXPECT_NEAR(world.share(0) + world.share(1), 0.25, 0.01);
}

}  // namespace
}  // namespace cw
