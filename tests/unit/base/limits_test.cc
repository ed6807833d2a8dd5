#include "dataplane/base/limits.h"

#include <gtest/gtest.h>

namespace cw {
namespace {

TEST(Limits, leave_room_for_the_longest_headers_that_are_written) {
  const size_t ethernet = 14, vlan = 4, ipv6 = 40, udp = 8, bth = 12, reth = 16, immediate = 4;
  EXPECT_LE(ethernet + vlan + ipv6 + udp + bth + reth + immediate, limits::headers_bytes_max);
  const size_t pad = 3, icrc = 4;
  EXPECT_LE(pad + icrc, limits::trailer_bytes_max);
}

TEST(Limits, admit_every_split_of_the_immediate_that_the_protocol_names) {
  struct Split {
    unsigned id_bits, slot_bits, user_bits;
  };
  for (const Split& split : {Split{10, 18, 4}, Split{8, 22, 2}, Split{8, 24, 0}}) {
    EXPECT_EQ(split.id_bits + split.slot_bits + split.user_bits, 32u);
    EXPECT_LE(split.id_bits, limits::message_id_bits_max);
    EXPECT_LE(split.slot_bits, limits::slot_bits_max);
  }
}

}  // namespace
}  // namespace cw
