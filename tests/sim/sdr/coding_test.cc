// Erasure coding in the core: blocks are cut and told, repair slots made, sent and placed, and rows
// with holes rebuilt, whatever is lost.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "tests/sim/sdr/coding_world.h"
#include "tests/sim/sdr/slots_world.h"
#include "tests/sim/sdr/watched_site.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr uint32_t payload = 1024;

// ---- every byte ---------------------------------------------------------------------------------

TEST(Coding, repair_alone_makes_every_message_of_every_size) {
  static const std::vector<uint64_t> sizes = {
      1,      63,           payload - 1,      payload,          payload + 1,       5 * payload,
      12'345, 16 * payload, 16 * payload + 1, 17 * payload - 1, 128 * payload - 7, 128 * payload};
  for (const uint32_t codec : {0u, 1u}) {
    // As many repair chunks as data chunks: groups of one for xor.
    const CodingKnobs knobs{.k = 8, .m = 8, .rows = 2, .codec = codec};
    const auto size_of = [](uint64_t i) { return sizes[i % sizes.size()]; };
    World world(coding_site(knobs), {.messages = 3 * sizes.size(), .bytes_of = size_of},
                [](uint32_t, bool is_repair) { return !is_repair; });
    EXPECT_TRUE(world.is_done_within(20_s)) << "codec " << codec;
    EXPECT_EQ(world.complaint(), "");
    EXPECT_EQ(world.transfer.whole_count(), 3 * sizes.size());
    EXPECT_EQ(world.at_b(Counter::slots_rebuilt), world.at_a(Counter::data_sent));
    EXPECT_GT(world.at_a(Counter::data_sent), 900u);
    EXPECT_EQ(world.at_a(Counter::resends_sent), 0u);
  }
}

/// Losses, damage, copies and disorder at once.
Impairment rough() {
  Impairment wire{.loss = 0.03, .corrupt = 0.001, .duplicate = 0.01, .delay = 2_ms};
  wire.jitter_max = 300_us;
  wire.jitter_reorders = true;
  return wire;
}

TEST(Coding, random_losses_in_messages_of_several_blocks_cost_few_resends) {
  for (const uint32_t codec : {0u, 1u}) {
    for (const uint64_t seed : {1, 2, 3}) {
      const CodingKnobs knobs{.k = 8, .m = 3, .rows = 2, .codec = codec, .resend_ms = 200};
      const auto sizes = [](uint64_t i) { return 1 + i * 7919 % (128 * payload); };
      Story story({.seed = seed,
                   .site = coding_site(knobs),
                   .transfer = {.messages = 300, .bytes_of = sizes},
                   .wire = rough()});
      story.run_faults(100_s);
      EXPECT_EQ(story.run_calm(), "") << "seed " << seed;
      EXPECT_EQ(story.transfer.whole_count(), 300u);
      EXPECT_GT(count(story.b, Counter::slots_rebuilt), 200u);
      // A row that fails holds up the messages behind it, which are then sent again as well.
      EXPECT_LT(story.resend_share(), codec == 0 ? 0.05 : 0.5);
    }
  }
}

TEST(Coding, pieces_in_any_order_are_cut_into_the_same_blocks) {
  const CodingKnobs knobs{.k = 4, .m = 2, .rows = 2, .resend_ms = 200};
  const auto sizes = [](uint64_t i) { return i * 104'729 % (128 * payload); };
  Story story({.site = coding_site(knobs),
               .transfer = {.messages = 60, .bytes_of = sizes, .pieces = 7, .seed = 3},
               .wire = rough()});
  story.run_faults(20_s);
  EXPECT_EQ(story.run_calm(), "");
  EXPECT_GT(count(story.b, Counter::slots_rebuilt), 20u);
  for (const cw_fact_block_closed& block : coding_log().closed_at_source) {
    EXPECT_TRUE(block.slots == 8 || block.slot_first + block.slots <= 128);
    EXPECT_EQ(block.slot_first, block.block * 8) << "all before it were full";
    EXPECT_EQ(block.repair_first, block.block * 4);
  }
}

TEST(Coding, a_row_too_long_for_a_turn_is_encoded_in_several) {
  const CodingKnobs knobs{.k = 32, .m = 8, .rows = 4};
  SiteOptions site = coding_site(knobs);
  constexpr uint64_t output_work = 32 * payload, row_work = 8 * output_work;
  site.coding.executor.turn_work_max = 3 * output_work;
  const auto lost = [](uint32_t slot, bool is_repair) { return !is_repair && slot % 16 == 3; };
  World world(site, {.messages = 3, .bytes_of = [](uint64_t) { return 128 * payload; }}, lost);
  EXPECT_TRUE(world.is_done_within(5_s));
  EXPECT_EQ(world.complaint(), "");
  EXPECT_EQ(world.at_b(Counter::slots_rebuilt), 3 * 8u);
  EXPECT_EQ(world.at_a(Counter::resends_sent), 0u);
  const CodeExecutor& executor = *world.pair.a->endpoint().desk().executor();
  EXPECT_EQ(executor.turn_work_highest(), 3 * output_work);
  EXPECT_LT(executor.turn_work_highest(), row_work);
  EXPECT_EQ(executor.inline_count(), 3 * 4 * 3u);  // messages, rows, and three jobs of a row
}

// ---- one block ----------------------------------------------------------------------------------

cw_code code_of(const cw_fact_block_closed& block) {
  cw_code code{};
  code.message = block.message;
  code.block = block.block;
  code.slots = block.slots;
  code.rows = block.rows;
  code.k = block.k;
  code.m = block.m;
  code.codec = block.codec;
  code.row_count = CW_UNKNOWN;
  code.slot_first = block.slot_first;
  code.repair_first = block.repair_first;
  return code;
}

/// One message of one full block, of which `lost` data slots and `lost_repair` never come.
struct OneBlock : World {
  OneBlock(const CodingKnobs& knobs, std::set<uint32_t> lost, std::set<uint32_t> lost_repair = {})
      : World(coding_site(knobs), {.messages = 1, .bytes_of = bytes_of(knobs)},
              [lost, lost_repair](uint32_t slot, bool is_repair) {
                return (is_repair ? lost_repair : lost).contains(slot);
              }) {}
  static std::function<uint64_t(uint64_t)> bytes_of(const CodingKnobs& knobs) {
    return [slots = knobs.k * knobs.rows](uint64_t) { return uint64_t{slots} * payload; };
  }
  /// What a decode of the whole block says.
  cw_fact_coded decoded() {
    pair.run_for(300_ms);
    CW_ASSERT(coding_log().closed_at_sink.size() == 1);
    coding_log().coded_at_sink.clear();
    pair.b->recv_stream().on_code(code_of(coding_log().closed_at_sink[0]), pair.network().now());
    pair.run_for(10_ms);
    CW_ASSERT(coding_log().coded_at_sink.size() == 1);
    return coding_log().coded_at_sink[0];
  }
};

TEST(Coding, a_row_is_rebuilt_from_any_k_shards_and_others_wait_for_themselves) {
  // Row 0 has slots 0, 2, .. 14 and repair 0, 2; row 1 the odd ones.
  const CodingKnobs knobs{.k = 8, .m = 2, .rows = 2};
  OneBlock world(knobs, {0, 14, 1, 3, 5});
  const cw_fact_coded coded = world.decoded();
  EXPECT_EQ(coded.result, unsigned{CW_CODED_NEED_MORE});
  EXPECT_EQ(coded.need, 1u) << "row 1 lacks three and has two";
  EXPECT_EQ(coded.row_count, 2u);
  EXPECT_EQ(world.at_b(Counter::slots_rebuilt), 2u) << "row 0 is whole";
  EXPECT_FALSE(world.transfer.is_done());
}

TEST(Coding, repair_that_is_lost_counts_as_loss) {
  OneBlock world({.k = 8, .m = 2, .rows = 2}, {0, 1}, {0});
  EXPECT_TRUE(world.is_done_within(1_s)) << "one repair slot of each row is left";
  OneBlock other({.k = 8, .m = 2, .rows = 2}, {0, 1}, {0, 2});
  const cw_fact_coded coded = other.decoded();
  EXPECT_EQ(coded.result, unsigned{CW_CODED_NEED_MORE});
  EXPECT_EQ(coded.need, 1u);
}

TEST(Coding, a_code_that_is_not_mds_says_when_shards_are_enough_but_not_the_right_ones) {
  // Row 0, groups of xor: shards 0, 2, 4, 6 and 1, 3, 5, 7. Shards 0 and 2 are of one group.
  const CodingKnobs knobs{.k = 8, .m = 2, .rows = 1, .codec = 1};
  OneBlock world(knobs, {0, 2});
  EXPECT_EQ(world.decoded().result, unsigned{CW_CODED_SINGULAR});
  OneBlock other(knobs, {0, 1});
  EXPECT_TRUE(other.is_done_within(1_s));
}

TEST(Coding, more_repair_of_the_same_set_may_be_made_later) {
  OneBlock world({.k = 8, .m = 4, .rows = 2, .is_grown = true}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_TRUE(world.is_done_within(1_s));
  EXPECT_EQ(coding_log().coded_at_source.size(), 2u);
  EXPECT_EQ(world.at_a(Counter::repairs_sent), 8u) << "each repair slot is made once";
}

TEST(Coding, rows_can_be_coded_by_themselves) {
  // Repair is made of row 1 only.
  OneBlock world({.k = 8, .m = 2, .rows = 2, .row_first = 1}, {1, 3});
  EXPECT_TRUE(world.is_done_within(1_s));
  EXPECT_EQ(world.at_a(Counter::repairs_sent), 2u);
}

TEST(Coding, what_comes_after_it_was_rebuilt_is_a_duplicate) {
  // Slot 0 is rebuilt; the second block has lost too much, so that everything is sent again.
  std::set<uint32_t> lost = {0, 16, 18, 20};
  World world(coding_site({.k = 8, .m = 2, .rows = 2, .resend_ms = 20}),
              {.messages = 1, .bytes_of = [](uint64_t) { return 32 * payload; }},
              [&](uint32_t slot, bool is_repair) { return !is_repair && lost.erase(slot) > 0; });
  EXPECT_TRUE(world.is_done_within(1_s));
  EXPECT_EQ(world.at_b(Counter::slots_rebuilt), 3u) << "slot 16 is what the others waited for";
  EXPECT_EQ(world.at_a(Counter::resends_sent), 32u);
  EXPECT_EQ(world.pair.dropped_at_b(DropReason::packet_duplicate), 16u)
      << "slots 0 to 15; with the next the message is over";
  EXPECT_EQ(world.complaint(), "");
}

// ---- records ------------------------------------------------------------------------------------

TEST(Coding, blocks_are_told_until_they_are_heard) {
  uint64_t controls = 0;
  const CodingKnobs knobs{.k = 4, .m = 2, .rows = 1};
  World world(coding_site(knobs),
              {.messages = 40, .bytes_of = [](uint64_t i) { return (1 + i * 7 % 100) * payload; }},
              [](uint32_t slot, bool is_repair) { return !is_repair && slot % 4 == 1; });
  // Every other control packet is lost, once the link is up.
  ASSERT_TRUE(world.pair.run_until([&] { return world.pair.are_up(); }, 3_s));
  world.a_script.control = [&](const Packet&) { return ++controls % 2 ? Fate::Lose : Fate::Pass; };
  EXPECT_TRUE(world.is_done_within(20_s));
  EXPECT_EQ(world.transfer.whole_count(), 40u);
  EXPECT_EQ(world.complaint(), "");
  std::set<std::pair<uint32_t, uint32_t>> told;
  for (const auto& block : coding_log().closed_at_sink) {
    EXPECT_TRUE(told.emplace(block.message, block.block).second) << "once per block";
  }
}

// ---- a policy replaced in the middle of it ----

/// Ten messages, of whose blocks every row loses two slots for ever: only a code brings it.
/// The policy of one end is replaced at its so manieth fact.
struct Replaced : World {
  Replaced(cw_role role, uint32_t facts, CodingKnobs knobs = {.resend_ms = 100},
           uint32_t blocks = 8)
      : World(site_of(role, facts, knobs),
              {.messages = 10, .bytes_of = [=](uint64_t) { return blocks * 16 * payload; }},
              [](uint32_t slot, bool is_repair) { return !is_repair && slot % 16 < 4; }) {}

  static SiteOptions site_of(cw_role role, uint32_t facts, const CodingKnobs& knobs) {
    SiteOptions site = coding_site(knobs);
    site.policy = insatiable_policy(role, facts);
    site.fallback = coding_policy();
    return site;
  }

  void expect_all_rebuilt() {
    EXPECT_TRUE(is_done_within(20_s));
    EXPECT_EQ(complaint(), "");
    EXPECT_EQ(transfer.whole_count(), 10u);
    EXPECT_EQ(at_b(Counter::slots_rebuilt), 10 * 32u);
  }
};

/// A message and a block of which a fact says something for the second time.
bool has_double(const std::vector<cw_fact_block_closed>& facts) {
  std::set<std::pair<uint32_t, uint32_t>> told;
  return std::ranges::any_of(facts, [&](const cw_fact_block_closed& fact) {
    return !told.emplace(fact.message, fact.block).second;
  });
}

TEST(Coding, a_source_that_is_replaced_hears_of_every_block_again) {
  for (const uint32_t facts : {1, 2, 5, 10}) {
    SCOPED_TRACE(facts);
    Replaced world(CW_SOURCE, facts);
    world.expect_all_rebuilt();
    EXPECT_EQ(world.at_a(Counter::policies_quarantined), 1u);
    EXPECT_EQ(has_double(coding_log().closed_at_source), facts > 1);
  }
}

TEST(Coding, a_sink_that_is_replaced_hears_of_every_block_and_slot_again) {
  for (const uint32_t facts : {1, 2, 5, 60, 190}) {
    SCOPED_TRACE(facts);
    Replaced world(CW_SINK, facts);
    world.expect_all_rebuilt();
    EXPECT_EQ(world.at_b(Counter::policies_quarantined), 1u);
  }
}

TEST(Coding, a_sink_replaced_by_the_last_slot_that_comes_rebuilds_all_the_same) {
  // Nothing is sent twice, so nothing but what is told again lets the new instance know.
  uint32_t facts = 1;
  for (bool is_replaced = true; is_replaced; ++facts) {
    Replaced world(CW_SINK, facts, {.resend_ms = 0}, 1);
    EXPECT_TRUE(world.is_done_within(2_s)) << facts << " facts";
    EXPECT_EQ(world.transfer.whole_count(), 10u);
    is_replaced = world.at_b(Counter::policies_quarantined) > 0;
  }
  EXPECT_GT(facts, 100u);
}

// ---- slot by slot -------------------------------------------------------------------------------

PairOptions coded_slots(const CodingKnobs& knobs, Duration age) {
  PairOptions options = slots_pair(coding_policy());
  options.wire.delay = 2_ms;
  SiteOptions site = coding_site(knobs, 64);
  site.stream.messages = 4;
  site.send.slot_by_slot = true;
  site.send.block_age = age;
  options.a = options.b = site;
  return options;
}

TEST(Coding, a_block_is_closed_when_it_grows_old_and_rows_shrink_first) {
  const CodingKnobs knobs{.k = 4, .m = 2, .rows = 4};
  SlotsWorld world(coded_slots(knobs, 1_ms));
  ASSERT_TRUE(world.comes_up());
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(world.append(100));
  world.pair.run_for(900_us);
  EXPECT_TRUE(coding_log().closed_at_source.empty());
  world.pair.run_for(200_us);
  ASSERT_EQ(coding_log().closed_at_source.size(), 1u);
  const cw_fact_block_closed& block = coding_log().closed_at_source[0];
  EXPECT_EQ(block.slots, 6u);
  EXPECT_EQ(block.rows, 2u);
  EXPECT_EQ(block.k, 3u);
  EXPECT_EQ(block.m, 2u);
  ASSERT_TRUE(world.append(100));
  world.pair.run_for(3_ms);
  ASSERT_EQ(coding_log().closed_at_source.size(), 2u);
  EXPECT_EQ(coding_log().closed_at_source[1].slot_first, 6u) << "no slot is left out";
  EXPECT_EQ(coding_log().closed_at_source[1].rows, 1u);
  EXPECT_EQ(coding_log().closed_at_source[1].k, 1u);
}

TEST(Coding, slots_of_any_size_are_rebuilt_and_told_whatever_their_blocks_are) {
  for (const Duration age : {300_us, 5_ms}) {
    for (const uint32_t codec : {0u, 1u}) {
      const CodingKnobs knobs{.k = 4, .m = 2, .rows = 2, .codec = codec, .resend_ms = 100};
      PairOptions options = coded_slots(knobs, age);
      options.wire.loss = 0.05;
      SlotsWorld world(options);
      ASSERT_TRUE(world.comes_up());
      Prng prng(7);
      ASSERT_TRUE(world.appends(3000, prng, 100_s)) << "places come free again";
      EXPECT_TRUE(world.all_arrive(10_s));
      EXPECT_EQ(world.sink->complaint(), "");
      EXPECT_EQ(world.sink->given_up_count(), 0u);
      EXPECT_GT(count(*world.pair.b, Counter::slots_rebuilt), 100u);
    }
  }
}

// ---- steady state -------------------------------------------------------------------------------

TEST(Coding, turns_that_code_allocate_nothing) {
  const CodingKnobs knobs{.k = 8, .m = 3, .rows = 2, .resend_ms = 200};
  const auto sizes = [](uint64_t i) { return i * 7919 % (128 * payload); };
  Story story({.site = coding_site(knobs),
               .transfer = {.messages = 1'000'000, .bytes_of = sizes},
               .wire = rough()});
  story.run_faults(100_ms);  // the epoch begins, and may allocate
  WatchedSite a(story.a), b(story.b);
  Stage stage(story.network, 1);
  for (Actor* actor : std::initializer_list<Actor*>{&a, &b, &story.transfer}) stage.add(*actor);
  const uint64_t before = HeapWatch::allocation_count();
  stage.run_until([&] { return stage.turn_count() > 30'000; }, story.network.now() + 1000_s);
  EXPECT_GT(count(story.b, Counter::slots_rebuilt), 300u);
  EXPECT_EQ(HeapWatch::allocation_count() - before, 0u);
}

// Seed 100904 of the swarm. What the receiver must hear of many small blocks was due faster than
// the pacer lets envelopes go; while its queue was full, the sender wanted a turn at once, for
// ever.
TEST(Coding, a_sender_whose_envelopes_wait_for_the_pacer_waits_too) {
  SiteOptions site = coding_site({.k = 2, .m = 2}, 188);
  site.rate = Rate::from_mbps(283);
  site.stream.messages = 32;
  site.stream.payload_bytes = 300;
  Story story({.site = site,
               .transfer = {.messages = 64,
                            .bytes_of = [](uint64_t) { return uint64_t{188 * 300}; },
                            .in_flight = 16,
                            .posted = 32},
               .wire = {.delay = 150_us}});
  story.run_faults(2_s);
  EXPECT_EQ(story.run_calm(), "");
  EXPECT_LT(story.stage.turn_count(), 3 * story.packets());
}

}  // namespace
}  // namespace cw::sim
