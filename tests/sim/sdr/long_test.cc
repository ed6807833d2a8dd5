// Stories too long for builds that check every access: the longest message, and more packets than a
// path has transmission numbers.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "tests/sim/sdr/story.h"

namespace cw::sim {
namespace {
using namespace literals;

// The sender's GiB is one buffer of 16 MiB seen through 64 windows, each shifted by one slot, so
// that no two pieces are alike and a slot in a wrong place shows. Payload travels by reference.
TEST(SdrLong, one_message_of_a_gibibyte_arrives_whole) {
  constexpr uint64_t slot = 4096, gibibyte = uint64_t{1} << 30, pieces = 64;
  constexpr uint64_t piece = gibibyte / pieces;
  SiteOptions site = site_under(cw_policy_selective_repeat());
  site.stream.messages = 2;
  site.stream.payload_bytes = slot;
  site.stream.data_slots_max = gibibyte / slot;
  site.rate = Rate::from_gbps(100);
  Story story({.site = site,
               .transfer = {.messages = 0},
               .wire = {.loss = 0.001, .delay = 2_ms},
               .carry_bytes = false});
  std::vector<uint8_t> source(piece + pieces * slot);
  fill_pattern(source, 1, 1, 0);
  const auto target = std::make_unique_for_overwrite<uint8_t[]>(gibibyte);

  const auto receive = story.b.receives().try_post({target.get(), gibibyte});
  const auto send = story.a.sends().try_open({.immediate = 7});
  for (uint64_t i = 0; i < pieces; ++i) {
    const std::span bytes(source.data() + i * slot, piece);
    ASSERT_TRUE(story.a.sends().append(*send, static_cast<uint32_t>(i * piece / slot), bytes));
  }
  ASSERT_TRUE(story.a.sends().close(*send));
  const auto is_over = [&] {
    return story.a.sends().status(*send) != sdr::MessageStatus::Open &&
           story.b.receives().info(*receive).status != sdr::MessageStatus::Open;
  };
  EXPECT_EQ(story.run_faults(60_s, is_over), StageEnd::Reached);
  EXPECT_EQ(story.stage.complaint(), std::nullopt);
  EXPECT_EQ(story.b.receives().info(*receive).status, sdr::MessageStatus::Done);
  EXPECT_EQ(story.b.receives().info(*receive).bytes, gibibyte);
  for (uint64_t i = 0; i < pieces; ++i) {
    const bool is_equal =
        std::memcmp(target.get() + i * piece, source.data() + i * slot, piece) == 0;
    EXPECT_TRUE(is_equal) << "piece " << i;
  }
}

TEST(SdrLong, transmission_numbers_wrap) {
  SiteOptions site = site_under(cw_policy_selective_repeat());
  site.stream.payload_bytes = 256;
  site.rate = Rate::from_gbps(20);
  constexpr uint64_t packets = (uint64_t{1} << 24) + 100'000;
  Story story({.site = site,
               .transfer = {.messages = packets / 2048,
                            .bytes_of = [](uint64_t) { return uint64_t{2048} * 256; }},
               .wire = {.loss = 1e-4, .delay = 100_us}});
  story.run_faults(1000_s);
  EXPECT_EQ(story.run_calm(), "");
  EXPECT_GT(story.a.counters().read_any_thread(Counter::data_sent), uint64_t{1} << 24);
  EXPECT_LT(story.resend_share(), 0.001);
}

}  // namespace
}  // namespace cw::sim
