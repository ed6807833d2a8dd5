#include "dataplane/sdr/stream/send/store/slot_entry.h"

#include <gtest/gtest.h>

#include <vector>

namespace cw::sdr {
namespace {

struct Tables {
  Tables(size_t streams, uint32_t messages) {
    for (size_t i = 0; i < streams; ++i) portions.push_back(&stock.join(messages));
  }
  /// So many as there are.
  std::vector<SlotEntry*> lend_all(size_t stream) {
    std::vector<SlotEntry*> lent;
    while (portions[stream]->has_room(1)) lent.push_back(stock.lend(*portions[stream]));
    return lent;
  }

  SlotTableStock stock{100};
  std::vector<Portion*> portions;
};

TEST(SlotTableStock, has_one_for_each_message_of_who_is_alone) {
  EXPECT_EQ(Tables(1, 64).lend_all(0).size(), 64u);
}

TEST(SlotTableStock, never_has_more_than_all_may_use) {
  Tables tables(2, 4);
  EXPECT_EQ(tables.lend_all(0).size() + tables.lend_all(1).size(), 8u);
}

TEST(SlotTableStock, keeps_a_few_for_each_and_lends_the_rest_to_who_is_busy) {
  Tables tables(64, 64);
  EXPECT_GE(tables.lend_all(0).size(), 64u * 2);
  for (size_t i = 1; i < 64; ++i) EXPECT_GE(tables.lend_all(i).size(), 6u) << i;
}

TEST(SlotTableStock, lends_first_what_was_given_back_last) {
  Tables tables(2, 64);
  SlotEntry* const first = tables.stock.lend(*tables.portions[0]);
  SlotEntry* const second = tables.stock.lend(*tables.portions[1]);
  tables.stock.take_back(*tables.portions[1], second);
  tables.stock.take_back(*tables.portions[0], first);
  EXPECT_EQ(tables.stock.lend(*tables.portions[1]), first);
}

}  // namespace
}  // namespace cw::sdr
