// A stage whose partitions are harts of the emulated DPA: the same play as with the turn and with
// cores (stage_test.cc), and harts that are gone in the middle of it.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <utility>

#include "tests/unit/offload/dpa_rows.h"
#include "tests/unit/offload/owner.h"

namespace cw {
namespace {

struct DpaStage {
  std::unique_ptr<BitStage> stage;
  EmulatedDpa* dpa = nullptr;
};

DpaStage stage_on(uint32_t harts, Duration stall_max) {
  auto dpa = dpa_of(harts);
  EmulatedDpa* const machine = dpa.get();
  BitStageOptions options;
  options.partitions = harts;
  options.stall_max = stall_max;
  auto stage = BitStage::make(std::move(dpa), options);
  EXPECT_TRUE(stage) << (stage ? "" : stage.error().sentence);
  return {std::move(*stage), machine};
}

void expect_sound(const Owner& owner, const Play& played) {
  EXPECT_EQ(owner.impossible, 0u);
  EXPECT_EQ(played.wrong_lives, 0u) << "each life ended with the bits that its packets have";
  EXPECT_GT(owner.out_of_range, 1000u);
}

TEST(DpaStage, gives_the_same_bits_for_the_same_packets) {
  const auto [stage, dpa] = stage_on(2, Duration::from_s(60));
  Owner owner(*stage, {.channels = 8});
  const Play played = play(owner, 20261125, 1'000'000);
  expect_sound(owner, played);
  EXPECT_EQ(played.packets, owner.taken_count + owner.duplicates + owner.late + owner.out_of_range);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(stage->why_left(i), "");
}

TEST(DpaStage, loses_no_bit_when_its_harts_are_gone) {
  const auto [stage, dpa] = stage_on(2, Duration::from_ms(20));
  Owner owner(*stage, {.channels = 8});
  expect_sound(owner, play(owner, 1, 300'000));
  dpa->set_halted(0, true);
  expect_sound(owner, play(owner, 2, 300'000));
  EXPECT_TRUE(stage->why_left(0).starts_with("it took no record for")) << stage->why_left(0);
  kill(dpa->pid(), SIGKILL);
  expect_sound(owner, play(owner, 3, 300'000));
  EXPECT_TRUE(stage->why_left(1).starts_with("it took no record for")) << stage->why_left(1);
}

}  // namespace
}  // namespace cw
