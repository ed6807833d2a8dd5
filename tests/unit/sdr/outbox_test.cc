#include "dataplane/sdr/stream/send/outbox.h"

#include <gtest/gtest.h>

#include "tests/property/property.h"

namespace cw::sdr {
namespace {

// One packet after the other is taken while bytes are owed and packets are left.
RC_GTEST_PROP(RowLimit, is_what_packets_one_by_one_would_use_up, ()) {
  const RowLimit limit{.packets = *rc::gen::inRange(1u, 300u),
                       .bytes = *rc::gen::inRange<int64_t>(1, 100'000)};
  const uint32_t packet_bytes = *rc::gen::inRange(1u, 9000u);
  int64_t owed = limit.bytes;
  uint32_t taken = 0;
  while (owed > 0 && taken < limit.packets) {
    owed -= packet_bytes;
    ++taken;
  }
  RC_ASSERT(limit.packets_of(packet_bytes) == taken);
}

TEST(RowLimit, that_names_no_bytes_is_one_of_packets) {
  EXPECT_EQ(RowLimit{}.packets_of(9000), 1u);
  EXPECT_EQ(RowLimit{.packets = 256}.packets_of(9000), 256u);
}

// The pacer counts a row's cookies up by their stride.
RC_GTEST_PROP(SendTicket, of_a_later_slot_is_that_much_further_on, ()) {
  const auto below = [](uint32_t end) { return *rc::gen::inRange(0u, end); };
  const SendTicket first{.slot = below(1u << 20),
                         .place = below(1u << 10),
                         .qp = static_cast<uint16_t>(below(64)),
                         .life = static_cast<uint16_t>(below(1u << 12)),
                         .kind = static_cast<uint16_t>(below(3)),
                         .path_choice = static_cast<uint16_t>(below(3)),
                         .path = static_cast<uint16_t>(below(16))};
  SendTicket later = first;
  const uint32_t stride = below(1u << 10), count = below(1u << 10);
  later.slot += stride * count;
  RC_ASSERT(first.packed() + uint64_t{stride} * count == later.packed());
  RC_ASSERT(SendTicket::unpacked(later.packed()).packed() == later.packed());
}

TEST(Outbox, a_range_is_taken_off_in_rows) {
  Outbox outbox(4);
  ASSERT_TRUE(outbox.try_push({.kind = CW_SEND_DATA, .first = 10, .count = 7, .stride = 3}));
  outbox.advance(Priority::Data, 5);
  EXPECT_EQ(outbox.front(Priority::Data).first, 25u);
  EXPECT_EQ(outbox.front(Priority::Data).count, 2u);
  outbox.advance(Priority::Data, 2);
  EXPECT_TRUE(outbox.is_empty(Priority::Data));
}

}  // namespace
}  // namespace cw::sdr
