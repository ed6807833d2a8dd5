// A group's datagrams on harts, a stripe to each.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/unit/offload/dpa_datagrams.h"
#include "tests/unit/offload/dpa_rows.h"

namespace cw {
namespace {

// Published of a DPA's thread are 113 for a datagram that is staged, and copied by somebody else:
// with its completion queue and doorbell, and without a header of 32 bytes to be checked.
TEST(DpaDatagrams, take_at_most_152_instructions_where_113_are_published) {
  for (const DpaDatagrams& kind : dpa_datagrams()) {
    const auto cost = dpa_datagram_cost(dpa_options(1), kind);
    ASSERT_TRUE(cost) << cost.error().sentence;
    RecordProperty(kind.name, std::to_string(*cost));
    EXPECT_LE(*cost, 152) << kind.name;
    EXPECT_GT(*cost, 1) << kind.name;
  }
}

TEST(DpaDatagrams, land_from_harts_that_race) {
  auto dpa = dpa_of(2);
  ASSERT_TRUE(dpa);
  Stripes stripes({.stripes = 2, .chunk_slots = 8},
                  [&](size_t bytes) { return dpa->allocate(bytes); });
  const StripedStep step{.part_bytes = 6001};
  ASSERT_TRUE(dpa->start(stripes.rows()));
  stripes.open(step);
  Prng prng(5);
  std::vector<cw_bits_event> events;
  for (const uint32_t slot : arrivals_of(step, prng)) {
    ASSERT_TRUE(comes_true([&] { return stripes.take(events), stripes.try_put(step, slot); }));
  }
  ASSERT_TRUE(comes_true([&] { return stripes.is_done(); }));
  const uint32_t slots = step.slots().count();
  for (uint32_t slot = 0; slot < slots; ++slot) ASSERT_TRUE(stripes.has_slot(slot));
  for (uint32_t at = 0; at < slots; at += 8) ASSERT_TRUE(stripes.has_chunk(at / 8));
  const std::string memory(reinterpret_cast<const char*>(stripes.memory()),
                           step.part_bytes * step.sources);
  EXPECT_EQ(memory, whole_memory(step));
}

}  // namespace
}  // namespace cw
