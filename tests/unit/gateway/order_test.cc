#include "dataplane/gateway/order/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"

namespace cw::gateway::test {
namespace {

using namespace cw::literals;

constexpr uint16_t bucket = 40'000;

/// Frames go by an id of the test, kept where no order looks.
struct Bench {
  explicit Bench(uint32_t first_seq = 0, size_t frames_max = 64, uint32_t slot_frames_max = 1000,
                 size_t buckets = 64)
      : stock(frames_max),
        bucket_stock(buckets),
        order({.messages = 2,
               .data_slots_max = 64,
               .slot_frames_max = slot_frames_max,
               .hold = 100_ms,
               .first_seq = BucketSeq(first_seq)},
              frames, rows, bucket_stock) {
    for (uint32_t place : {0, 1}) rows.begin(place);
  }

  void take(uint32_t id, uint32_t seq, FrameOrder kind = FrameOrder::InTurn, uint32_t slot = 0) {
    take({.header = {20, bucket, seq, kind}, .slot = slot, .packet = {.slot = id}});
  }
  void take(const ParsedFrame& parsed) {
    Frame* frame = frames.try_take(parsed.place);
    ASSERT_NE(frame, nullptr);
    frame->parsed = parsed;
    order.take(frames.index_of(*frame), now);
    look();
  }
  void on_settled(uint32_t slot_first, uint32_t slot_end) {
    order.on_settled(0, slot_first, slot_end);
    look();
  }
  bool on_time(Instant at) {
    const bool has_worked = order.on_time(at);
    look();
    return has_worked;
  }
  bool give_up_oldest() {
    const bool has_worked = order.give_up_oldest();
    look();
    return has_worked;
  }
  /// What has become of frames since.
  void look() {
    for (; !order.released().is_empty(); order.released().drop_front()) {
      const uint32_t frame = order.released().front();
      out.push_back(frames.at(frame).parsed.packet.slot);
      frames.leave(frame);
    }
    for (size_t reason = 0; reason < drop_reason_count; ++reason) {
      for (; seen.values[reason] < frames.dropped().values[reason]; ++seen.values[reason]) {
        refused.push_back(static_cast<DropReason>(reason));
      }
    }
  }

  using Ids = std::vector<uint32_t>;
  Instant now = Instant::from_ns(1'000'000'000);
  Drops drops;
  FrameStock stock;
  FrameTable frames{stock, 2, drops};
  SlotRowStock row_stock{2, 64};
  SlotRows rows{2, 64, row_stock};
  BucketStock bucket_stock;
  Order order;
  Ids out;
  std::vector<DropReason> refused;
  Drops::Snapshot seen;
};

using Ids = Bench::Ids;
using Refused = std::vector<DropReason>;

TEST(Order, releases_in_turn_across_the_wrap) {
  Bench bench(uint32_t{0} - 3);
  for (const uint32_t step : {2u, 1u, 4u, 3u, 0u, 5u}) bench.take(step, step - 3);
  EXPECT_EQ(bench.out, (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(bench.order.counts().held, 0u);
}

TEST(Order, at_once_waits_for_nothing) {
  Bench bench;
  bench.take(1, 5);
  bench.take(2, 0, FrameOrder::AtOnce);
  EXPECT_EQ(bench.out, (Ids{2}));
}

TEST(Order, behind_waits_for_lower_numbers_and_takes_none) {
  Bench bench;
  bench.take(10, 2, FrameOrder::Behind);
  bench.take(11, 2, FrameOrder::Behind);
  bench.take(12, 2);
  bench.take(1, 1);
  EXPECT_EQ(bench.out, Ids{});
  bench.take(0, 0);
  EXPECT_EQ(bench.out, (Ids{0, 1, 10, 11, 12}));
  bench.take(13, 1, FrameOrder::Behind);  // long since
  bench.take(14, 3, FrameOrder::Behind);  // just now
  EXPECT_EQ(bench.out, (Ids{0, 1, 10, 11, 12, 13, 14}));
}

TEST(Order, buckets_do_not_wait_for_each_other) {
  Bench bench;
  bench.take(1, 1);
  bench.take({.header = {20, bucket + 1, 0}, .packet = {.slot = 2}});
  EXPECT_EQ(bench.out, (Ids{2}));
}

TEST(Order, a_number_twice_is_a_duplicate_and_a_lower_one_late) {
  Bench bench;
  bench.take(1, 1);
  bench.take(2, 1);
  bench.take(3, 0);
  bench.take(4, 1);
  EXPECT_EQ(bench.out, (Ids{3, 1}));
  EXPECT_EQ(bench.refused, (Refused{DropReason::frame_duplicate, DropReason::frame_late}));
}

TEST(Order, a_hole_is_given_up_when_all_before_its_follower_is_settled) {
  Bench bench;
  bench.take(3, 3, FrameOrder::InTurn, 7);
  bench.take(2, 2, FrameOrder::InTurn, 5);
  bench.on_settled(0, 5);
  EXPECT_EQ(bench.out, Ids{});
  bench.on_settled(5, 6);
  EXPECT_EQ(bench.out, (Ids{2, 3}));
  EXPECT_EQ(bench.order.counts().missed_exactly, 2u);
  bench.take(0, 0);
  EXPECT_EQ(bench.refused, (Refused{DropReason::frame_late}));
}

TEST(Order, what_comes_from_behind_the_front_is_not_held) {
  Bench bench;
  bench.take(2, 2);
  bench.take({.header = {20, bucket, 4}, .packet = {.slot = 4}, .is_settled = true});
  EXPECT_EQ(bench.out, (Ids{2, 4}));
  EXPECT_EQ(bench.order.counts().missed_exactly, 3u);
}

TEST(Order, a_frame_is_held_for_so_long_and_takes_the_lower_ones_along) {
  Bench bench;
  bench.take(5, 5);
  EXPECT_EQ(bench.order.next_due(), bench.now + 100_ms);
  bench.now += 60_ms;
  bench.take(3, 3);
  bench.take(8, 8);
  EXPECT_FALSE(bench.on_time(bench.now + 39_ms));
  EXPECT_TRUE(bench.on_time(bench.now + 40_ms));
  EXPECT_EQ(bench.out, (Ids{3, 5}));
  EXPECT_EQ(bench.order.counts().missed_by_time, 4u);
  EXPECT_EQ(bench.order.next_due(), bench.now + 100_ms);
  EXPECT_EQ(bench.order.counts().held, 1u);
}

TEST(Order, time_slept_is_not_time_held) {
  Bench bench;
  bench.take(5, 5);
  bench.order.rebase(1_s);
  EXPECT_FALSE(bench.on_time(bench.now + 1'099_ms));
  EXPECT_TRUE(bench.on_time(bench.now + 1'100_ms));
}

TEST(Order, gives_up_the_oldest_when_asked) {
  Bench bench;
  EXPECT_FALSE(bench.give_up_oldest());
  bench.take(5, 5);
  bench.take({.header = {20, bucket + 1, 1}, .packet = {.slot = 7}});
  EXPECT_TRUE(bench.give_up_oldest());
  EXPECT_EQ(bench.out, (Ids{5}));
  EXPECT_EQ(bench.order.counts().missed_by_need, 5u);
}

// [C-49]
TEST(Order, a_number_beyond_what_the_stream_can_hold_is_refused) {
  Bench bench(0, 64, 10);
  const auto in_slot = [&](uint32_t id, uint32_t seq, uint32_t message, uint32_t slot) {
    bench.take({.header = {20, bucket, seq},
                .seq = MessageSeq(message),
                .slot = slot,
                .packet = {.slot = id}});
  };
  in_slot(1, 0, 0, 2);
  in_slot(2, 11, 0, 2);  // ten fit between
  in_slot(3, 12, 0, 2);
  in_slot(4, 21, 0, 3);
  in_slot(5, 22, 0, 3);
  in_slot(6, 1 + 63 * 10, 1, 0);  // the rest of a message, and a slot
  in_slot(7, 2 + 63 * 10, 1, 0);
  in_slot(8, 2, 0, 1);  // before the one that is out
  EXPECT_EQ(bench.out, (Ids{1}));
  EXPECT_EQ(bench.refused, (Refused{DropReason::frame_ahead, DropReason::frame_ahead,
                                    DropReason::frame_ahead, DropReason::frame_ahead}));
}

// [C-49]
TEST(Order, a_number_that_was_a_lie_leaves_no_honest_frame_behind) {
  Bench bench;
  const auto in_slot = [&](uint32_t id, uint32_t seq, uint32_t slot) {
    bench.take({.header = {20, bucket, seq}, .slot = slot, .packet = {.slot = id}});
  };
  in_slot(0, 0, 0);
  in_slot(9, 900, 1);
  EXPECT_TRUE(bench.on_time(bench.now + 100_ms));
  in_slot(1, 1, 1);  // stands no later: late, as far as anybody can tell
  in_slot(2, 2, 2);
  in_slot(4, 4, 3);
  in_slot(3, 3, 3);
  EXPECT_EQ(bench.out, (Ids{0, 9, 2, 3, 4}));
  EXPECT_EQ(bench.refused, (Refused{DropReason::frame_late}));
}

// [C-49]
TEST(Order, a_bucket_that_a_damaged_number_has_led_astray_comes_back) {
  Bench bench(1000, 64, 10);
  const auto in_slot = [&](uint32_t id, uint32_t seq, uint32_t slot) {
    bench.take({.header = {20, bucket, seq}, .slot = slot, .packet = {.slot = id}});
  };
  in_slot(1, 1000, 0);
  in_slot(2, 1001, 1);
  in_slot(99, 5, 2);  // low, and further on: believed
  in_slot(98, 8, 2);  // held
  for (uint32_t i = 3; i < 10; ++i) in_slot(i, 999 + i, i);
  EXPECT_EQ(bench.out, (Ids{1, 2, 99, 98, 6, 7, 8, 9}));
  EXPECT_EQ(bench.refused,
            (Refused{DropReason::frame_ahead, DropReason::frame_ahead, DropReason::frame_ahead}));
}

// [C-49]
TEST(Order, numbers_that_do_not_agree_lead_nowhere) {
  Bench bench(0, 64, 10);
  const auto in_slot = [&](uint32_t id, uint32_t seq, uint32_t slot) {
    bench.take({.header = {20, bucket, seq}, .slot = slot, .packet = {.slot = id}});
  };
  for (uint32_t i = 0; i < 20; ++i) {
    in_slot(i, i, i);
    in_slot(99, 1'000'000 - i * 30'000, i);  // never far enough apart
    in_slot(99, 5'000'000 + i * 100, i);     // nor near enough
  }
  EXPECT_EQ(bench.out.size(), 20u);
  EXPECT_EQ(bench.refused.size(), 40u);
}

TEST(Order, no_numbers_make_it_walk) {
  constexpr uint32_t third = 1000;
  Bench bench(0, 4 * third, 10 * third);
  const auto take_row = [&](uint32_t from) {
    for (uint32_t seq = from; seq < from + third; ++seq) bench.take(seq, seq);
  };
  take_row(1);
  take_row(1 + 2 * third);
  take_row(1 + third);  // each of them in the midst of all
  bench.take(0, 0);
  EXPECT_EQ(bench.out.size(), 3 * third + 1);
  EXPECT_TRUE(std::ranges::is_sorted(bench.out));
  // Sixteen for each, where a walk from the nearer end takes a thousand.
  EXPECT_LT(bench.order.counts().compared, 16 * 3 * third);
}

/// Which number comes next is not known any more: all that was sent before may be.
TEST(Order, a_bucket_that_was_forgotten_waits_for_all_that_was_sent_before) {
  Bench bench(0, 64, 1000, 2);
  const auto in_slot = [&](uint16_t which, uint32_t seq, uint32_t slot) {
    bench.take({.header = {20, which, seq}, .slot = slot, .packet = {.slot = slot}});
  };
  in_slot(1, 0, 0);
  in_slot(2, 0, 1);
  in_slot(3, 0, 2);  // instead of the first
  in_slot(1, 2, 5);
  in_slot(1, 1, 4);
  EXPECT_EQ(bench.out, (Ids{0, 1, 2}));
  bench.on_settled(0, 5);
  EXPECT_EQ(bench.out, (Ids{0, 1, 2, 4, 5}));
  EXPECT_EQ(bench.order.counts().missed_exactly, 0u);
  in_slot(1, 3, 6);
  in_slot(1, 5, 8);
  EXPECT_EQ(bench.out, (Ids{0, 1, 2, 4, 5, 6}));
  bench.on_settled(0, 9);
  EXPECT_EQ(bench.order.counts().missed_exactly, 1u);
  EXPECT_TRUE(bench.refused.empty());
}

TEST(Order, drops_what_has_no_bucket_while_something_waits_in_all) {
  Bench bench(0, 64, 1000, 2);
  for (const uint16_t which : {1, 2, 3}) bench.take({.header = {20, which, 1}});
  EXPECT_EQ(bench.refused, (Refused{DropReason::hold_memory}));
  EXPECT_TRUE(bench.on_time(bench.now + 100_ms));
  bench.take({.header = {20, 3, 0}});
  EXPECT_EQ(bench.out.size(), 3u);
}

TEST(Order, nothing_survives_a_reset) {
  Bench bench(7);
  bench.take(1, 9);
  bench.take(2, 8);
  bench.order.reset();
  EXPECT_EQ(bench.frames.dropped()[DropReason::epoch_over], 2u);
  EXPECT_EQ(bench.frames.lent_count(), 0u);
  EXPECT_EQ(bench.order.counts().held, 0u);
  EXPECT_EQ(bench.order.next_due(), Instant::never());
  bench.on_settled(0, 64);
  bench.take(3, 7);
  EXPECT_EQ(bench.out, (Ids{3}));
}

/// The same bucket as a sorted map, and the rules as sentences of the protocol.
struct Model {
  explicit Model(uint32_t first) : next(first) {}
  void run() {
    while (!held.empty() && held.begin()->first.first <= next) {
      const auto [seq, is_numbered] = held.begin()->first;
      held.erase(held.begin());
      if (is_numbered == 1 && seq < next) {
        ++refused;  // the second of its number
        continue;
      }
      next += is_numbered == 1;
      out.push_back({seq, is_numbered});
    }
  }
  void take(uint32_t id, uint64_t seq, bool is_behind) {
    if (!is_behind && seq < next) return void(++refused);
    held.emplace(Key{seq, is_behind ? 0 : 1}, id);
    run();
  }
  void give_up(uint32_t id) {
    while (holds(id)) {
      next = held.begin()->first.first;
      run();
    }
  }
  bool holds(uint32_t id) const {
    return std::ranges::any_of(held, [&](const auto& one) { return one.second == id; });
  }
  using Key = std::pair<uint64_t, int>;  // a number; 0: behind it
  uint64_t next;                         // does not wrap
  std::multimap<Key, uint32_t> held;
  std::vector<Key> out;
  size_t refused = 0;
};

/// Two buckets, numbers near the wrap, any order, holes given up at any time.
RC_GTEST_PROP(Order, is_that_of_a_sorted_map, ()) {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  RC_LOG("seed " + std::to_string(seed));
  Prng random(seed);
  constexpr uint32_t first = uint32_t{0} - 3;
  Bench bench(first, 400);
  Model models[2] = {Model(first), Model(first)};
  std::vector<std::pair<uint32_t, int>> age;  // id and bucket, as they were taken
  std::map<uint32_t, Model::Key> keys[2];
  for (uint32_t id = 0; id < 300; ++id) {
    const int which = random.chance(0.5) ? 1 : 0;
    Model& model = models[which];
    const bool is_behind = random.chance(0.3);
    const uint64_t seq = model.next + random.below(12) - (model.next > first + 2 ? 2 : 0);
    model.take(id, seq, is_behind);
    bench.take({.header = {20, static_cast<uint16_t>(bucket + which), static_cast<uint32_t>(seq),
                           is_behind ? FrameOrder::Behind : FrameOrder::InTurn},
                .packet = {.slot = id}});
    age.emplace_back(id, which);
    keys[which].emplace(id, Model::Key{seq, is_behind ? 0 : 1});
    if (random.chance(0.1)) {
      const auto is_held = [&](const auto& one) { return models[one.second].holds(one.first); };
      const auto oldest = std::ranges::find_if(age, is_held);
      RC_ASSERT(bench.give_up_oldest() == (oldest != age.end()));
      if (oldest != age.end()) models[oldest->second].give_up(oldest->first);
    }
    RC_ASSERT(bench.order.counts().held == models[0].held.size() + models[1].held.size());
    RC_ASSERT(bench.refused.size() == models[0].refused + models[1].refused);
  }
  for (int which = 0; which < 2; ++which) {
    std::vector<Model::Key> out;
    for (const uint32_t id : bench.out) {
      if (keys[which].contains(id)) out.push_back(keys[which].at(id));
    }
    RC_ASSERT(out == models[which].out);
  }
  RC_ASSERT(bench.frames.lent_count() == bench.order.counts().held);
}

}  // namespace
}  // namespace cw::gateway::test
