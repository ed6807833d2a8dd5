// An operation of a group on a fabric, at all of its members.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "control/perf/fabric/fabric_world.h"
#include "control/perf/collective/operation_memory.h"

namespace cw::group {

/// One operation at all members, and its memory.
class Round {
 public:
  Round(FabricWorld& world, const Posting& posting)
      : world_(world),
        memory_(posting, static_cast<uint16_t>(world.members()), false, posting.bytes + 1) {
    memory_.prepare();
  }
  void post(size_t rank) {
    const Posting posting = memory_.posting_of(static_cast<uint16_t>(rank));
    const auto posted = world_.group(rank).post(posting, world_.now());
    ASSERT_TRUE(posted) << posted.error().why;
    step_ = *posted;
    world_.touch(rank);
  }
  void post_all() {
    for (size_t rank = 0; rank < world_.members(); ++rank) post(rank);
    begun_ = world_.now();
  }
  bool run(Duration limit = Duration::from_s(10)) {
    return world_.run(limit, [&] {
      for (size_t rank = 0; rank < world_.members(); ++rank) {
        const Stage stage = world_.group(rank).view(step_).stage;
        if (stage != Stage::Done && stage != Stage::Failed) return false;
      }
      return true;
    });
  }
  Duration time() const { return world_.now() - begun_; }
  void expect_right() {
    for (size_t rank = 0; rank < world_.members(); ++rank) {
      const OperationView view = world_.group(rank).view(step_);
      EXPECT_EQ(view.stage, Stage::Done) << rank << ": " << view.failure;
      EXPECT_TRUE(world_.group(rank).try_release(step_));
    }
    EXPECT_EQ(memory_.wrong(), 0u);
  }
  uint64_t fetched() const {
    uint64_t all = 0;
    for (size_t rank = 0; rank < world_.members(); ++rank)
      all += world_.group(rank).view(step_).fetched;
    return all;
  }
  Step step() const { return step_; }

 private:
  FabricWorld& world_;
  perf::OperationMemory memory_;
  Step step_;
  Instant begun_;
};

}  // namespace cw::group
