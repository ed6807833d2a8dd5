#include "dataplane/sdr/stream/recv/promises.h"

#include <gtest/gtest.h>

namespace cw::sdr {
namespace {

using namespace cw::literals;

struct Two {
  Two() {
    promises.share(portion);
    while (promises.has_room(UINT32_MAX)) promises.make();
  }
  Stock stock{60};
  Portion &portion = stock.join(), &other = stock.join();
  Promises promises;
  Instant now = Instant::from_ns(1'000'000'000);
};

TEST(Promises, of_what_is_its_own_are_made_at_once) {
  Two two;
  EXPECT_EQ(two.portion.held(), two.portion.own());
  two.promises.end();
  EXPECT_TRUE(two.promises.has_room(UINT32_MAX));
}

TEST(Promises, of_what_is_common_are_twice_what_was_begun_in_an_rtt) {
  Two two;
  EXPECT_TRUE(two.promises.has_room(0));
  EXPECT_FALSE(two.promises.has_room(1)) << "nothing was begun";
  for (int i = 0; i < 4; ++i) two.promises.on_begun(two.now, 20_ms);
  EXPECT_TRUE(two.promises.has_room(8));
  EXPECT_FALSE(two.promises.has_room(9));
  two.promises.on_begun(two.now + 20_ms, 20_ms);
  EXPECT_TRUE(two.promises.has_room(8)) << "while the next RTT is not over";
  two.promises.on_begun(two.now + 40_ms, 20_ms);
  EXPECT_FALSE(two.promises.has_room(3));
}

TEST(Promises, to_one_who_has_rested_begin_anew) {
  Two two;
  for (int i = 0; i < 8; ++i) two.promises.on_begun(two.now, 20_ms);
  two.promises.on_begun(two.now + 40_ms, 20_ms);
  EXPECT_TRUE(two.promises.has_room(2));
  EXPECT_FALSE(two.promises.has_room(3));
}

TEST(Promises, end_where_there_is_no_more) {
  Two two;
  while (two.other.has_room(1)) two.other.take();
  EXPECT_FALSE(two.promises.has_room(0));
  two.promises.reset(static_cast<uint32_t>(two.portion.held()));
  EXPECT_EQ(two.portion.held(), 0u);
}

}  // namespace
}  // namespace cw::sdr
