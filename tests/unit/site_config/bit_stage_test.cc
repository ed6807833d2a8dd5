// Who does the bitmap work of each shard, as a plan says. That a stage works, and what a DPA needs,
// is elsewhere: tests/unit/offload.
#include "control/gateway/site/bit_stage.h"

#include <gtest/gtest.h>

namespace cw::site {
namespace {

size_t partitions_of(const OffloadPlan& plan, size_t shard, size_t shards) {
  const auto stage = make_bit_stage(plan, shard, shards);
  EXPECT_TRUE(stage) << (stage ? "" : stage.error().sentence);
  return stage ? (*stage)->partition_count() : 0;
}

TEST(BitStageOfAPlan, is_the_turns_own_by_default) { EXPECT_EQ(partitions_of({}, 0, 1), 1u); }

TEST(BitStageOfAPlan, deals_cores_out_to_shards) {
  const OffloadPlan plan{.executor = OffloadExecutor::Cores, .cores = {0, 0, 0}};
  EXPECT_EQ(partitions_of(plan, 0, 1), 3u);
  EXPECT_EQ(partitions_of(plan, 0, 2), 2u);
  EXPECT_EQ(partitions_of(plan, 1, 2), 1u);
  EXPECT_EQ(partitions_of(plan, 4, 5), 1u) << "two shards share a core where there are too few";
}

TEST(BitStageOfAPlan, says_which_core_was_refused) {
  const OffloadPlan plan{.executor = OffloadExecutor::Cores, .cores = {0, 1000}};
  EXPECT_TRUE(make_bit_stage(plan, 0, 2));
  const auto refused = make_bit_stage(plan, 1, 2);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("core 1000 was refused"), std::string::npos);
}

}  // namespace
}  // namespace cw::site
