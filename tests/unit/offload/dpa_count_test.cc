// How many instructions of RV64 a packet takes, counted by the emulator: no times.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/unit/offload/dpa_kinds.h"

namespace cw {
namespace {

double instructions_of(const DpaKind& kind) {
  const auto cost = dpa_cost(dpa_options(1), kind);
  if (cost) return cost->instructions;
  ADD_FAILURE() << cost.error().sentence;
  return 1e9;
}

// The measure is what others have published of a DPA's thread that sets a bit per completion, of
// an unreliable connection, completion queue and doorbell included.
TEST(DpaCount, APacketOfAnyKindTakesNoMoreThanPublishedWorkOfTheSameKind) {
  for (const DpaKind& kind : dpa_kinds()) {
    if (kind.name == dpa_next_life().name) continue;  // of a whole message, and no packet
    const double instructions = instructions_of(kind);
    RecordProperty(kind.name, std::to_string(instructions));
    EXPECT_LE(instructions, 66) << kind.name;
  }
}

TEST(DpaCount, TheSameKindAlwaysCostsTheSame) {
  const double first = instructions_of(dpa_out_of_order());
  EXPECT_GT(first, 1);
  EXPECT_EQ(first, instructions_of(dpa_out_of_order()));
}

TEST(DpaCount, CountsNothingUnlessAsked) {
  auto dpa = dpa_of(1);
  ASSERT_TRUE(dpa);
  OwnedRow row(dpa_kind_streams(), {}, [&](size_t bytes) { return dpa->allocate(bytes); });
  ASSERT_TRUE(dpa->start(std::array{row.get()}));
  Events events;
  ASSERT_TRUE(pump(row, dpa_in_order().before, events, 64));
  const uint32_t beat = dpa->beats(0);
  ASSERT_TRUE(comes_true([&] { return dpa->beats(0) - beat >= 2; }));
  EXPECT_EQ(row.get()->instructions, 0U);
}

}  // namespace
}  // namespace cw
