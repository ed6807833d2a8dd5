// Stories of data crossing between two sites: every size, every configuration, every kind of wire.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/sim/sdr/story.h"
#include "tests/sim/sdr/watched_site.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr uint32_t payload = 1024;

SiteOptions selective_repeat() { return site_under(cw_policy_selective_repeat()); }

/// Losses, damage, copies and disorder at once.
Impairment rough(Duration delay) {
  Impairment wire{.loss = 0.02, .corrupt = 0.001, .duplicate = 0.01, .delay = delay};
  wire.jitter_max = 300_us;
  wire.jitter_reorders = true;
  return wire;
}

void expect_whole(Story& story, Duration faults = 0_s) {
  story.run_faults(faults);
  EXPECT_EQ(story.run_calm(), "") << "seed " << story.options.seed;
  EXPECT_EQ(story.transfer.whole_count(), story.options.transfer.messages);
}

TEST(Sdr, a_lossless_link_delivers_every_message_without_a_resend) {
  Story story(
      {.site = selective_repeat(), .transfer = {.messages = 1000}, .wire = {.delay = 10_ms}});
  expect_whole(story);
  EXPECT_EQ(story.resend_share(), 0);
  EXPECT_EQ(story.b.drops().snapshot_any_thread().sum(), 0u);
}

TEST(Sdr, faults_then_calm_lose_nothing_with_selective_repeat) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const auto sizes = [](uint64_t i) { return i * 7919 % 40000; };
    Story story({.seed = seed,
                 .site = selective_repeat(),
                 .transfer = {.messages = 1000, .bytes_of = sizes},
                 .wire = rough(5_ms)});
    expect_whole(story, 1_s);
    EXPECT_GT(story.resend_share(), 0.005);
  }
}

// ---- sizes --------------------------------------------------------------------------------------

TEST(Sdr, every_size_around_a_slot_and_a_chunk_arrives_whole) {
  constexpr uint64_t chunk = 16 * payload;
  static const std::vector<uint64_t> sizes = {0,
                                              1,
                                              2,
                                              3,
                                              4,
                                              5,
                                              63,
                                              payload - 1,
                                              payload,
                                              payload + 1,
                                              2 * payload,
                                              12345,
                                              chunk - 1,
                                              chunk,
                                              chunk + 1,
                                              64 * payload - 1,
                                              64 * payload,
                                              64 * payload + 1,
                                              2048 * payload - 1,
                                              2048 * payload};
  const auto size_of = [](uint64_t i) { return sizes[i % sizes.size()]; };
  Story story({.site = selective_repeat(),
               .transfer = {.messages = 3 * sizes.size(), .bytes_of = size_of},
               .wire = rough(2_ms)});
  expect_whole(story, 500_ms);
  uint64_t bytes = 0;
  for (const uint64_t size : sizes) bytes += 3 * size;
  EXPECT_EQ(story.transfer.bytes_checked(), bytes);
}

TEST(Sdr, messages_without_bytes_carry_their_immediate_under_every_policy) {
  for (const cw_policy_ops* policy : policy::for_streams()) {
    Story story({.site = site_under(policy),
                 .transfer = {.messages = 500, .bytes_of = [](uint64_t) { return uint64_t{0}; }},
                 .wire = rough(2_ms)});
    expect_whole(story, 500_ms);
    EXPECT_EQ(story.a.counters().read_any_thread(Counter::data_sent), 0u);
  }
}

TEST(Sdr, pieces_appended_in_any_order_make_the_same_message) {
  for (const uint32_t pieces : {2, 5, 64}) {
    const auto sizes = [](uint64_t i) { return i * 104'729 % (2048 * payload); };
    Story story({.seed = pieces,
                 .site = selective_repeat(),
                 .transfer = {.messages = 60, .bytes_of = sizes, .pieces = pieces, .seed = pieces},
                 .wire = rough(2_ms)});
    expect_whole(story, 500_ms);
  }
}

// ---- completion before everything is there
// -------------------------------------------------------

TEST(Sdr, a_receive_completed_early_has_true_chunk_bits) {
  // Transfer checks every byte behind every set bit, and that no whole message lacks one.
  const auto sizes = [](uint64_t i) { return i * 7919 % 100'000; };
  Story story({.site = site_under(cw_policy_passthrough()),
               .transfer = {.messages = 800, .bytes_of = sizes, .patience = 5_ms},
               .wire = rough(5_ms)});
  story.run_faults(60_s);
  EXPECT_EQ(story.run_calm(), "");
  EXPECT_LT(story.transfer.whole_count(), 800u);
  EXPECT_GT(story.transfer.whole_count(), 100u);
  EXPECT_GT(story.transfer.bytes_checked(), uint64_t{800} * 20'000);
}

TEST(Sdr, late_packets_never_touch_a_buffer_that_was_completed_early) {
  SiteOptions site = selective_repeat();
  site.stream.messages = 2;
  site.stream.data_slots_max = 64;
  Impairment wire{.loss = 0.05, .duplicate = 0.05, .delay = 3_ms};
  wire.reorder = 0.05;
  wire.reorder_delay = 8_ms;
  const auto sizes = [](uint64_t i) { return i * 7919 % (64 * payload); };
  Story story({.site = site,
               .transfer = {.messages = 1500, .bytes_of = sizes, .patience = 1_ms},
               .wire = wire});
  story.run_faults(100_s);
  EXPECT_EQ(story.run_calm(), "");
  const auto drops = story.b.drops().snapshot_any_thread();
  EXPECT_GT(drops[DropReason::generation_late] + drops[DropReason::message_not_open], 100u);
}

// ---- wraps and reuse
// -----------------------------------------------------------------------------

TEST(Sdr, message_sequences_wrap_under_every_policy) {
  for (const cw_policy_ops* policy : policy::for_streams()) {
    SiteOptions site = site_under(policy);
    site.stream.first_seq = MessageSeq() - 3;
    const bool repairs = policy != cw_policy_passthrough();
    Story story({.site = site,
                 .transfer = {.messages = 100},
                 .wire = repairs ? rough(2_ms) : Impairment{.delay = 2_ms}});
    expect_whole(story, repairs ? 500_ms : 0_s);
  }
}

TEST(Sdr, every_id_and_every_generation_is_used_again_and_again) {
  for (const uint8_t generations : {2, 4}) {
    SiteOptions site = selective_repeat();
    site.stream.messages = 4;
    site.stream.generations = generations;
    site.stream.first_seq = MessageSeq() - 100;
    const auto sizes = [](uint64_t i) { return i * 7919 % 6000; };
    Story story({.seed = generations,
                 .site = site,
                 .transfer = {.messages = 2000, .bytes_of = sizes},
                 // Two generations are for wires on which nothing is overtaken.
                 .wire = generations == 2 ? Impairment{.loss = 0.02, .delay = 1_ms} : rough(1_ms)});
    expect_whole(story, 2_s);
  }
}

// ---- configurations
// ------------------------------------------------------------------------------

TEST(Sdr, every_split_number_of_channels_and_of_paths_works) {
  for (const ImmediateSplit& split : {split_default, split_long_messages}) {
    for (const uint8_t channels : {1, 2, 3, 4}) {
      for (const uint16_t paths : {1, 2, 4}) {
        SiteOptions site = selective_repeat();
        site.stream.split = split;
        site.stream.channels = channels;
        site.paths = paths;
        const auto sizes = [](uint64_t i) { return i * 7919 % 60'000; };
        Story story({.seed = uint64_t{channels} * 10 + paths,
                     .site = site,
                     .transfer = {.messages = 150, .bytes_of = sizes},
                     .wire = rough(2_ms)});
        expect_whole(story, 200_ms);
      }
    }
  }
}

TEST(Sdr, paths_of_unequal_length_cause_few_spurious_resends) {
  for (const uint16_t paths : {2, 4}) {
    SiteOptions site = site_under(cw_policy_selective_repeat(), {1});  // the sink asks for slots
    site.paths = paths;
    Story story({.site = site, .transfer = {.messages = 1000}, .wire = {.delay = 5_ms}});
    for (uint16_t path = 0; path < paths; ++path) {
      story.set_forward(path, {.delay = 5_ms + 500_us * path});
    }
    story.run_faults(200_ms);  // until every path has been measured
    const uint64_t before = story.a.counters().read_any_thread(Counter::resends_sent);
    EXPECT_EQ(story.run_faults(100_s), StageEnd::Reached);
    const uint64_t after = story.a.counters().read_any_thread(Counter::resends_sent);
    EXPECT_LT(after - before, 8 * 1000 / 1000);  // one slot in a thousand
    EXPECT_EQ(story.run_calm(), "");
  }
}

TEST(Sdr, a_path_that_goes_dark_delays_messages_and_loses_none) {
  SiteOptions site = selective_repeat();
  site.paths = 2;
  Story story({.site = site, .transfer = {.messages = 600}, .wire = {.delay = 5_ms}});
  story.run_faults(50_ms);
  story.set_forward(1, {.loss = 1, .delay = 5_ms});
  story.run_faults(500_ms);
  EXPECT_GT(story.transfer.received_count(), 20u);
  expect_whole(story);
}

// ---- steady state
// --------------------------------------------------------------------------------

TEST(Sdr, a_hundred_thousand_turns_allocate_nothing) {
  const auto sizes = [](uint64_t i) { return i * 7919 % 30'000; };
  Story story({.site = selective_repeat(),
               .transfer = {.messages = 1'000'000, .bytes_of = sizes},
               .wire = rough(1_ms)});
  story.run_faults(100_ms);  // the epoch begins, and may allocate
  WatchedSite a(story.a), b(story.b);
  Stage stage(story.network, 1);
  for (Actor* actor : std::initializer_list<Actor*>{&a, &b, &story.transfer}) stage.add(*actor);
  const uint64_t before = HeapWatch::allocation_count();
  stage.run_until([&] { return stage.turn_count() > 100'000; }, story.network.now() + 1000_s);
  EXPECT_GT(stage.turn_count(), 100'000u);
  EXPECT_GT(story.transfer.received_count(), 1000u);
  EXPECT_EQ(HeapWatch::allocation_count() - before, 0u);
}

}  // namespace
}  // namespace cw::sim
