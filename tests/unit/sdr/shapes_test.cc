// By what links of one make find each other, and who is answered first of those that say hello.
#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/sdr/link/epoch/knocks.h"
#include "dataplane/sdr/link/epoch/link_shape.h"
#include "dataplane/sdr/link/epoch/strangers.h"

namespace cw::sdr {
namespace {
using namespace literals;

// ---- shapes ----

uint32_t bits_of(const PairKeys& keys) { return LinkShape(keys).bits(); }

// [C-64] Both ends count it by themselves, whatever their versions: these numbers stay. FNV-1a of
// "mtu=1500" is 0xcc0c1b39e560422c, of "rtt.b=20 ms" 0x7ffcea5c43e1e3e2.
TEST(LinkShape, is_what_the_wire_format_says) {
  EXPECT_EQ(bits_of({{"mtu", "1500"}}), 0x7bb7c5u);
  EXPECT_EQ(bits_of({{"mtu", "1500"}, {"rtt.b", "20 ms"}}), 0x47fc2eu);
  constexpr uint64_t sum = 0xcc0c1b39e560422c + 0x7ffcea5c43e1e3e2;
  EXPECT_EQ((sum ^ sum >> 24 ^ sum >> 48) & 0xffffff, 0x47fc2eu);
}

TEST(LinkShape, is_the_same_in_whatever_order_and_at_however_many_times_keys_are_added) {
  const PairKeys keys = {{"mtu", "1500"}, {"rtt.b", "20 ms"}, {"qp0.k", "32"}, {"qp0.rows", "2"}};
  PairKeys backwards = keys;
  std::ranges::reverse(backwards);
  EXPECT_EQ(bits_of(backwards), bits_of(keys));
  LinkShape one_by_one(PairKeys{});
  for (const auto& each : keys) one_by_one.add({each});
  EXPECT_EQ(one_by_one.bits(), bits_of(keys));
}

TEST(LinkShape, is_another_one_with_a_name_a_value_or_a_key_more) {
  const uint32_t bits = bits_of({{"mtu", "1500"}});
  EXPECT_NE(bits_of({{"mtu", "1501"}}), bits);
  EXPECT_NE(bits_of({{"mtv", "1500"}}), bits);
  EXPECT_NE(bits_of({{"mtu", "1500"}, {"rate", ""}}), bits);
  EXPECT_NE(bits_of({{"mtu", "1500"}, {"mtu", "1500"}}), bits);
}

// Zero says that its sender does not say.
TEST(LinkShape, is_never_zero) {
  EXPECT_EQ(bits_of({}), 1u);
  EXPECT_EQ(bits_of({{"x", "77911877"}}), 1u) << "whose lower 24 bits are zero";
}

// ---- strangers ----

constexpr Instant start = Instant() + 1_s;

TEST(Strangers, are_answered_at_once_and_then_one_in_ten_milliseconds) {
  Strangers strangers;
  EXPECT_EQ(strangers.due(), Instant::never());
  strangers.on_hello({1, 7}, start);
  EXPECT_EQ(strangers.due(), start);
  EXPECT_EQ(strangers.next().nonce, 1u);
  strangers.on_answered(start);
  EXPECT_EQ(strangers.due(), Instant::never());
  strangers.on_hello({2, 7}, start + 1_ms);
  EXPECT_EQ(strangers.due(), start + 10_ms);
  strangers.on_answered(start + 10_ms);
  strangers.on_hello({3, 7}, start + 40_ms);
  EXPECT_EQ(strangers.due(), start + 40_ms);
}

TEST(Strangers, of_whom_none_was_answered_the_latest_is) {
  Strangers strangers;
  for (const uint64_t each : {1, 2, 3}) strangers.on_hello({each, 7}, start);
  EXPECT_EQ(strangers.next().nonce, 3u);
  EXPECT_EQ(strangers.due(), start) << "as soon as the first would have been";
}

// [C-27] Hellos of former lives are said again and again by who has recorded them.
TEST(Strangers, an_unanswered_one_goes_before_those_that_were_answered) {
  Strangers strangers;
  Instant now = start;
  for (const uint64_t former : {1, 2, 3}) {
    strangers.on_hello({former, 7}, now);
    strangers.on_answered(now);
    now += 10_ms;
  }
  for (const uint64_t each : {2, 1, 7, 3, 2}) strangers.on_hello({each, 7}, now);
  EXPECT_EQ(strangers.next().nonce, 7u);
  strangers.on_answered(now);
  for (const uint64_t each : {8, 7, 1}) strangers.on_hello({each, 7}, now);
  EXPECT_EQ(strangers.next().nonce, 8u) << "nor does one that has just been answered";
}

TEST(Strangers, of_whom_all_were_answered_the_latest_is_too) {
  Strangers strangers;
  for (const uint64_t former : {1, 2}) {
    strangers.on_hello({former, 7}, start);
    strangers.on_answered(start);
  }
  strangers.on_hello({1, 7}, start + 20_ms);
  strangers.on_hello({2, 7}, start + 20_ms);
  EXPECT_EQ(strangers.next().nonce, 2u);
}

TEST(Strangers, that_wait_for_an_answer_are_forgotten_when_nobody_gives_one) {
  Strangers strangers;
  strangers.on_hello({1, 7}, start);
  strangers.forget();
  EXPECT_EQ(strangers.due(), Instant::never());
  strangers.on_hello({2, 7}, start);
  EXPECT_EQ(strangers.next().nonce, 2u) << "whoever comes next is the first";
}

// ---- knocks ----

TEST(Knocks, are_heard_for_two_seconds_each_of_its_kind) {
  Knocks knocks;
  EXPECT_FALSE(knocks.are_of_our_shape(Instant()) || knocks.are_of_another(Instant()));
  knocks.on_hello(/*is_of_our_shape=*/true, start);
  knocks.on_hello(/*is_of_our_shape=*/false, start + 1_s);
  EXPECT_TRUE(knocks.are_of_our_shape(start + 1999_ms));
  EXPECT_FALSE(knocks.are_of_our_shape(start + 2_s));
  EXPECT_TRUE(knocks.are_of_another(start + 2999_ms));
  EXPECT_FALSE(knocks.are_of_another(start + 3_s));
}

}  // namespace
}  // namespace cw::sdr
