#include "dataplane/sdr/line/gap_ledger.h"

#include <gtest/gtest.h>

#include "dataplane/sdr/stream/send/sent_runs.h"

namespace cw::sdr {
namespace {

TEST(GapLedger, names_the_slots_of_a_gap_across_the_wrap_of_psns) {
  GapLedger ledger;
  ledger.on_fresh(Psn(0xfffffe), {.place = 3, .seq = MessageSeq(5), .slot = 100});
  ledger.on_fresh(Psn(0x000002), {.place = 3, .seq = MessageSeq(5), .slot = 108});
  const auto found = ledger.find(Psn(0xffffff), 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->place, 3u);
  EXPECT_EQ(found->first, 102u);
  EXPECT_EQ(found->stride, 2u);
  EXPECT_EQ(found->count, 3u);
  EXPECT_EQ(ledger.find(Psn(0x000001), 1)->first, 106u) << "a part of the gap";
  EXPECT_FALSE(ledger.find(Psn(0x000001), 2)) << "more than the gap";
  EXPECT_FALSE(ledger.find(Psn(0xfffffe), 1)) << "before the gap";
}

TEST(GapLedger, claims_nothing_where_the_sender_jumped) {
  GapLedger ledger;
  ledger.on_fresh(Psn(10), {.seq = MessageSeq(1), .slot = 50});
  ledger.on_fresh(Psn(13), {.seq = MessageSeq(2), .slot = 3});
  EXPECT_FALSE(ledger.find(Psn(11), 2)) << "another message";
  ledger.on_fresh(Psn(16), {.seq = MessageSeq(2), .slot = 1});
  EXPECT_FALSE(ledger.find(Psn(14), 2)) << "a resend";
  ledger.on_fresh(Psn(19), {.seq = MessageSeq(2), .slot = 3});
  EXPECT_FALSE(ledger.find(Psn(17), 2)) << "two slots in three steps";
}

SentRun sent(uint32_t slot, uint32_t psn) {
  return {.first = slot, .count = 1, .stride = 1, .psn_first = Psn(psn)};
}

TEST(SentRuns, gathers_slots_of_one_stride_per_path_and_ends_a_run_at_a_jump) {
  SentRuns runs;
  std::vector<std::pair<uint16_t, SentRun>> told;
  const auto tell = [&](uint16_t path, const SentRun& run) { told.emplace_back(path, run); };
  for (uint32_t i = 0; i < 4; ++i) {
    runs.add(0, sent(2 * i, 0xfffffe + i), tell);
    runs.add(1, sent(2 * i + 1, i), tell);
  }
  EXPECT_TRUE(told.empty());
  runs.add(0, sent(50, 0x000002), tell);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].second.first, 0u);
  EXPECT_EQ(told[0].second.count, 4u);
  EXPECT_EQ(told[0].second.stride, 2u);
  runs.flush_all(tell);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[1].second.first, 50u);
  EXPECT_EQ(told[2].first, 1u);
  EXPECT_EQ(told[2].second.count, 4u);
  runs.flush_all(tell);
  EXPECT_EQ(told.size(), 3u) << "nothing is told twice";
}

}  // namespace
}  // namespace cw::sdr
