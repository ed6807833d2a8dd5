// Frames that wait for a lane, and the lane.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/gateway/ingress/ip_packet.h"
#include "dataplane/gateway/to_wan/codel.h"
#include "dataplane/gateway/to_wan/frame_queue.h"
#include "dataplane/gateway/to_wan/send_lane.h"
#include "dataplane/gateway/to_wan/standstill.h"
#include "tests/unit/gateway/packets.h"
#include "tests/unit/gateway/slot_wire.h"

namespace cw::gateway::test {
namespace {

// ---- frame queue ----

constexpr Instant start = Instant::from_ns(1'000'000'000);

bool push(FrameQueue& queue, uint16_t bucket, size_t bytes, uint8_t fill) {
  Admitted how;
  how.bucket = bucket;
  how.bytes = static_cast<uint16_t>(bytes);
  return queue.try_push(how, std::vector<uint8_t>(bytes, fill), start);
}

uint8_t pop(FrameQueue& queue) {
  const uint8_t fill = queue.packet_of(queue.next()).back();
  queue.pop_next();
  return fill;
}

TEST(FrameQueue, lets_one_row_leave_as_it_came) {
  QueueMemory memory(Bytes(1 << 20), 1);
  FrameQueue queue(memory, false);
  for (uint8_t i = 0; i < 100; ++i) ASSERT_TRUE(push(queue, i % 7, 100 + i, i));
  EXPECT_EQ(queue.frames(), 100u);
  EXPECT_EQ(queue.bytes(), 100u * 100 + 99 * 50);
  for (uint8_t i = 0; i < 100; ++i) EXPECT_EQ(pop(queue), i);
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(FrameQueue, gives_flows_equal_bytes_and_lets_who_sends_little_go_first) {
  QueueMemory memory(Bytes(4 << 20), 1);
  FrameQueue queue(memory, true);
  for (int i = 0; i < 600; ++i) push(queue, 1, 1500, 1);
  for (int i = 0; i < 3000; ++i) push(queue, 2, 300, 2);
  std::map<uint8_t, uint64_t> bytes;
  for (int i = 0; i < 600; ++i) {
    const uint8_t flow = pop(queue);
    bytes[flow] += flow == 1 ? 1500 : 300;
  }
  EXPECT_NEAR(static_cast<double>(bytes[1]), static_cast<double>(bytes[2]), 2 * 1514.0);
  push(queue, 3, 100, 3);
  EXPECT_EQ(pop(queue), 3) << "before 1,000 others";
}

TEST(FrameQueue, is_as_long_as_its_memory_and_the_oldest_make_room) {
  QueueMemory memory(Bytes(0), 1);  // two blocks
  FrameQueue queue(memory, true);
  uint8_t count = 0;
  while (push(queue, count % 2, 1000, count)) ++count;
  EXPECT_EQ(count, 2 * 31) << "of 33 units each, of 1,024 in a block";
  for (int i = 0; i < 30; ++i) queue.drop_oldest();
  EXPECT_FALSE(push(queue, 9, 1000, 200)) << "there is one more in the block";
  queue.drop_oldest();
  EXPECT_TRUE(push(queue, 9, 1000, 200));
  for (const int expected : {32, 34, 31, 33, 200}) EXPECT_EQ(pop(queue), expected);
  queue.clear();
  EXPECT_TRUE(queue.is_empty());
  EXPECT_TRUE(push(queue, 0, 9216, 1));
}

TEST(FrameQueue, leaves_others_their_part_and_gives_back_what_is_empty) {
  QueueMemory memory(Bytes(7 * 32 * 1024), 2);  // 15 blocks: five each, and five
  FrameQueue greedy(memory, false), other(memory, false);
  int count = 0;
  while (push(greedy, 0, 9000, 1)) ++count;
  EXPECT_EQ(count, 10 * 3);
  for (int i = 0; i < 5 * 3; ++i) ASSERT_TRUE(push(other, 0, 9000, 2));
  EXPECT_FALSE(push(other, 0, 9000, 2));
  greedy.clear();
  for (int i = 0; i < 5 * 3; ++i) ASSERT_TRUE(push(other, 0, 9000, 3));
  EXPECT_FALSE(push(other, 0, 9000, 3)) << "the part of the one that is empty";
  for (int i = 0; i < 5 * 3; ++i) ASSERT_TRUE(push(greedy, 0, 9000, 4));
  while (!other.is_empty()) EXPECT_GE(pop(other), 2);
  while (!greedy.is_empty()) EXPECT_EQ(pop(greedy), 4);
}

TEST(FrameQueue, lets_who_has_most_waiting_make_room) {
  QueueMemory memory(Bytes(1 << 20), 1);
  FrameQueue queue(memory, true);
  Admitted little, much;
  little.bucket = 1, much.bucket = 2;
  EXPECT_FALSE(queue.try_drop_fattest(little)) << "nothing waits";
  for (const uint8_t fill : {1, 2}) push(queue, 1, 500, fill);
  for (const uint8_t fill : {3, 4, 5}) push(queue, 2, 1000, fill);
  EXPECT_FALSE(queue.try_drop_fattest(much)) << "it may not push out its own";
  EXPECT_TRUE(queue.try_drop_fattest(little));
  EXPECT_EQ(queue.bytes(), 3000u);
  std::vector<int> left;
  while (!queue.is_empty()) left.push_back(pop(queue));
  EXPECT_EQ(left, (std::vector{1, 2, 4, 5})) << "at its head";
}

// Beside a row of whole frames per flow.
TEST(FrameQueue, loses_and_changes_nothing_whatever_happens) {
  for (const bool is_fair : {false, true}) {
    Prng prng(20261122);
    QueueMemory memory(Bytes(0), 1);
    FrameQueue queue(memory, is_fair);
    std::map<uint16_t, std::deque<std::pair<size_t, uint8_t>>> model;
    std::deque<uint16_t> ages;  // of one row
    uint64_t frames = 0;
    for (int i = 0; i < 50'000; ++i) {
      const auto bucket = static_cast<uint16_t>(prng.below(5));
      const size_t bytes = prng.between(20, 4000);
      const auto fill = static_cast<uint8_t>(i);
      if (prng.chance(0.52)) {
        while (!push(queue, bucket, bytes, fill)) {
          WaitingFrame& next = queue.next();
          const auto& row = model[next.how.bucket];
          ASSERT_EQ(row.front().first, next.how.bytes);
          ASSERT_EQ(row.front().second, queue.packet_of(next).back());
          model[next.how.bucket].pop_front();
          queue.pop_next();
          --frames;
        }
        model[bucket].emplace_back(bytes, fill);
        ++frames;
      } else if (!queue.is_empty()) {
        WaitingFrame& next = queue.next();
        auto& row = model[next.how.bucket];
        ASSERT_EQ(row.front(), std::pair(size_t{next.how.bytes}, queue.packet_of(next).front()));
        ASSERT_EQ(queue.packet_of(next).front(), queue.packet_of(next).back());
        row.pop_front();
        queue.pop_next();
        --frames;
      }
      ASSERT_EQ(queue.frames(), frames);
    }
  }
}
using namespace literals;

// ---- codel ----

constexpr CodelLimits limits{.target = 5_ms, .interval = 100_ms};

/// The milliseconds, from `start` on, at which one of a row of frames is told.
std::vector<int> told(Codel& codel, Duration sojourn, int from_ms, int to_ms) {
  std::vector<int> times;
  for (int ms = from_ms; ms < to_ms; ++ms) {
    if (codel.judge(sojourn, limits, start + Duration::from_ms(ms))) times.push_back(ms);
  }
  return times;
}

TEST(Codel, says_nothing_while_the_queue_is_short_or_soon_short_again) {
  Codel codel;
  EXPECT_TRUE(told(codel, Duration::from_us(4999), 0, 1000).empty());
  EXPECT_TRUE(told(codel, 50_ms, 1000, 1100).empty()) << "a burst of an interval";
  EXPECT_FALSE(codel.judge(4_ms, limits, start + 1100_ms));
  EXPECT_TRUE(told(codel, 50_ms, 1101, 1201).empty());
}

TEST(Codel, tells_one_after_an_interval_and_then_by_the_inverse_square_root) {
  Codel codel;
  std::vector<int> expected;
  double at = 100;
  for (int count = 1; at < 1000; ++count) {
    expected.push_back(static_cast<int>(std::ceil(at - 1e-3)));
    at += 100 / std::sqrt(count);
  }
  EXPECT_EQ(told(codel, 6_ms, 0, 1000), expected);
}

TEST(Codel, begins_again_where_it_was_enough_when_that_is_not_long_ago) {
  Codel soon, late;
  for (Codel* codel : {&soon, &late}) {
    EXPECT_GT(told(*codel, 6_ms, 0, 1000).size(), 20u);
    EXPECT_FALSE(codel->judge(1_ms, limits, start + 1000_ms));
  }
  EXPECT_GT(told(soon, 6_ms, 1100, 1300).size(), 5u);
  EXPECT_EQ(told(late, 6_ms, 3000, 3300), (std::vector{3100, 3200, 3271}));
}

TEST(Standstill, counts_less_and_less_and_ends_with_its_queue) {
  Standstill still;
  still.add(50_ms, 60_ms, start);
  EXPECT_EQ(still.rest(start), 50_ms);
  EXPECT_EQ(still.rest(start + 160_ms), 40_ms);
  still.add(50_ms, 60_ms, start + 160_ms);
  EXPECT_EQ(still.rest(start + 160_ms), 60_ms) << "never more than may wait";
  still.end(start + 161_ms);
  EXPECT_GT(still.rest(start + 161_ms), 59_ms) << "what came meanwhile is still being read";
  still.end(start + 170_ms);
  EXPECT_EQ(still.rest(start + 170_ms), Duration());
}

// ---- send lane ----

/// 10 ms of queue on a link of 80 Mbit/s: 100,000 bytes.
ClassOptions class_of_a_tenth() {
  ClassOptions options;
  options.name = "rest";
  options.queue = 10_ms;
  return options;
}

struct Site {
  explicit Site(const ClassOptions& options = class_of_a_tenth(), const SlotWire::Shape& shape = {},
                Bytes queue_memory = Bytes(8 << 20))
      : wire(shape),
        memory(queue_memory, 1),
        lane(SendLane::make(options, wire.source(), memory, wire.counters(), drops).value()) {
    lane.set_rate(80_Mbps, 80_Mbps);
    wire.start(shape.payload_bytes, start);
    lane.restart(start);
  }
  /// As a gateway does it: counts, offers, counts again.
  std::optional<DropReason> offer(ByteVector packet, FrameOrder order = FrameOrder::InTurn,
                                  uint16_t bucket = 5) {
    wire.counters().add(Counter::lan_in);
    Admitted admitted;
    admitted.bytes = static_cast<uint16_t>(packet.size());
    admitted.bucket = bucket;
    admitted.order = order;
    admitted.ecn = parse_ip_packet(packet)->ecn;
    DropReason why{};
    if (lane.try_offer(admitted, packet, start, why)) return std::nullopt;
    drops.add(why);
    return why;
  }
  void end_turn(Instant now = start) {
    lane.send_waiting(now);
    lane.end_turn(now);
  }
  uint64_t dropped(DropReason reason) { return drops.read_any_thread(reason); }
  uint64_t count(Counter counter) { return wire.counters().read_any_thread(counter); }
  /// in = sent + dropped + waiting
  bool adds_up() {
    return count(Counter::lan_in) == count(Counter::lan_sent) + drops.snapshot_any_thread().sum() +
                                         lane.writer().queued_count() + lane.queue().frames();
  }

  SlotWire wire;
  Drops drops;
  QueueMemory memory;
  SendLane lane;
};

ByteVector packet_of(size_t bytes, uint8_t ecn = 0) {
  return make_packet({.ecn = ecn, .payload = ByteVector(bytes - 20)});
}

TEST(SendLane, numbers_the_frames_of_each_bucket) {
  Site site;
  const auto offer = [&](FrameOrder order, uint16_t bucket) {
    EXPECT_EQ(site.offer(packet_of(60), order, bucket), std::nullopt);
  };
  offer(FrameOrder::InTurn, 1);
  offer(FrameOrder::InTurn, 2);
  offer(FrameOrder::InTurn, 1);
  offer(FrameOrder::Behind, 1);
  offer(FrameOrder::AtOnce, 1);
  offer(FrameOrder::InTurn, 1);
  site.end_turn();
  site.wire.cross(start);
  std::vector<uint32_t> numbers;
  for (const WireFrame& frame : site.wire.frames()) numbers.push_back(frame.header.bucket_seq);
  EXPECT_EQ(numbers, (std::vector<uint32_t>{0, 0, 1, 2, 0, 2}));
  site.wire.stop(start);
  site.wire.start(1024, start);
  site.lane.restart(start);
  offer(FrameOrder::InTurn, 1);
  site.end_turn();
  site.wire.cross(start);
  EXPECT_EQ(site.wire.frames().at(0).header.bucket_seq, 0u) << "a new epoch counts anew";
}

TEST(SendLane, keeps_little_in_the_stream_and_no_more_than_queue_allows) {
  Site site;
  EXPECT_EQ(site.lane.queue_bytes_max(), 100'000u);
  for (int i = 0; i < 200; ++i) {
    const auto why = site.offer(packet_of(1000));
    EXPECT_EQ(why.value_or(DropReason::no_class),
              i < 99 ? DropReason::no_class : DropReason::wan_queue_full);
    site.end_turn();
  }
  EXPECT_EQ(site.wire.source().waiting_bytes(), 30 * 1016u) << "3 ms, the last of it begun";
  EXPECT_LE(site.lane.waiting_bytes(), 100'000u);
  EXPECT_EQ(site.dropped(DropReason::wan_queue_full), 200u - 30 - 69);
  EXPECT_TRUE(site.adds_up());
  for (int i = 0; i < 4; ++i) {
    site.wire.cross(start);
    site.end_turn();
  }
  site.wire.cross(start);
  EXPECT_EQ(site.wire.frames().back().header.bucket_seq, 98u) << "in the order in which they came";
  EXPECT_TRUE(site.lane.is_idle());
  EXPECT_TRUE(site.adds_up());
}

// A slot counts as one, whatever is in it.
TEST(SendLane, small_frames_one_by_one_use_up_messages_and_wait) {
  ClassOptions options = class_of_a_tenth();
  options.queue = 10_s;
  Site site(options, {.messages = 2, .slots = 38, .payload_bytes = 256}, Bytes(0));
  for (int i = 0; i < 2 * 38 + 700; ++i) {
    site.offer(packet_of(40));
    site.end_turn();
  }
  EXPECT_EQ(site.lane.queue().frames(), 682u) << "3 units each, of 1,024 in each of 2 blocks";
  EXPECT_EQ(site.dropped(DropReason::wan_places_full), 18u);
  EXPECT_EQ(site.dropped(DropReason::wan_queue_full), 0u);
  EXPECT_FALSE(site.lane.is_hungry()) << "who is short of places is not waiting for a turn";
  EXPECT_TRUE(site.adds_up());
}

ClassOptions patient() {
  ClassOptions options = class_of_a_tenth();
  options.queue = 100_ms;
  options.hold = 10_s;
  return options;
}

TEST(SendLane, drops_what_waits_in_a_queue_that_is_too_old) {
  ClassOptions options = patient();
  options.hold = 50_ms;
  Site site(options);
  for (int i = 0; i < 40; ++i) site.offer(packet_of(1000));
  site.end_turn();
  const uint64_t waiting = site.lane.queue().frames();
  EXPECT_EQ(waiting, 9u);
  site.wire.cross(start);
  site.end_turn(start + 50_ms);
  EXPECT_EQ(site.dropped(DropReason::wan_queue_old), waiting);
  EXPECT_TRUE(site.adds_up());
}

/// A queue that stands for as long as it is looked at: 20 ms of frames that came at once, and as
/// many come as leave.
void stand_for(Site& site, Duration time, uint8_t ecn, bool goes_back) {
  const auto offer = [&](Instant now) {
    ByteVector packet = packet_of(1000, ecn);
    Admitted how;
    how.bytes = 1000;
    how.ecn = ecn;
    how.goes_back = goes_back;
    DropReason why{};
    site.wire.counters().add(Counter::lan_in);
    EXPECT_TRUE(site.lane.try_offer(how, packet, now, why));
  };
  for (int i = 0; i < 700; ++i) offer(start);
  for (Instant now = start; now < start + time; now += 3_ms) {
    site.wire.cross(now);
    for (int i = 0; i < 31; ++i) offer(now);
    site.end_turn(now);
    site.wire.retire_below(MessageSeq(0), now);
  }
}

TEST(SendLane, tells_senders_of_a_queue_that_stands) {
  const SlotWire::Shape large{.messages = 64, .slots = 1024};
  Site deaf(patient(), large), capable(patient(), large), going_back(patient(), large);
  stand_for(deaf, 900_ms, ecn_not_capable, false);
  stand_for(capable, 900_ms, ecn_ect0, false);
  stand_for(going_back, 900_ms, ecn_not_capable, true);
  EXPECT_GT(deaf.dropped(DropReason::wan_queue_codel), 3u);
  EXPECT_EQ(deaf.count(Counter::lan_marked), 0u);
  EXPECT_EQ(capable.dropped(DropReason::wan_queue_codel), 0u);
  EXPECT_GT(capable.count(Counter::lan_marked), 3u);
  EXPECT_EQ(going_back.dropped(DropReason::wan_queue_codel), 0u) << "it would all come again";
  for (Site* site : {&deaf, &capable, &going_back}) EXPECT_TRUE(site->adds_up());
}

TEST(SendLane, tells_nobody_of_what_stands_because_the_gateway_did) {
  Site site(patient(), {.messages = 64, .slots = 1024});
  site.lane.on_gap(100_ms, start);
  stand_for(site, 900_ms, ecn_ect0, false);
  EXPECT_EQ(site.count(Counter::lan_marked), 0u);
}

TEST(SendLane, marks_nobody_where_the_class_says_so) {
  ClassOptions options = patient();
  options.mark = false;
  Site site(options, {.messages = 64, .slots = 1024});
  stand_for(site, 900_ms, ecn_ect0, false);
  EXPECT_EQ(site.count(Counter::lan_marked), 0u);
  EXPECT_GT(site.dropped(DropReason::wan_queue_codel), 3u);
}

TEST(SendLane, a_slow_link_still_has_room_for_a_few_frames) {
  Site site;
  site.lane.set_rate(Rate::from_bps(1000), Rate::from_bps(1000));
  EXPECT_EQ(site.lane.queue_bytes_max(), 4u * 9216);
}

TEST(SendLane, takes_nothing_for_a_peer_that_is_down) {
  SlotWire wire({});
  Drops drops;
  QueueMemory memory(Bytes(0), 1);
  SendLane lane =
      SendLane::make(class_of_a_tenth(), wire.source(), memory, wire.counters(), drops).value();
  ByteVector packet = packet_of(100);
  DropReason why{};
  EXPECT_FALSE(lane.try_offer({.bytes = 100}, packet, start, why));
  EXPECT_EQ(why, DropReason::peer_down);
}

TEST(SendLane, counts_what_an_epochs_end_takes_with_it) {
  Site site;
  site.offer(packet_of(100));
  site.end_turn();
  site.offer(packet_of(100));
  site.offer(packet_of(100));
  EXPECT_TRUE(site.adds_up());
  site.wire.stop(start);
  EXPECT_EQ(site.offer(packet_of(100)), DropReason::peer_down);
  site.end_turn();
  EXPECT_EQ(site.count(Counter::lan_sent), 1u);
  EXPECT_EQ(site.drops.read_any_thread(DropReason::stream_broken), 2u);
  EXPECT_TRUE(site.adds_up());
}

TEST(SendLane, its_accounts_add_up_whatever_happens) {
  Prng prng(20261121);
  Site site(class_of_a_tenth(), {.messages = 3, .slots = 40, .payload_bytes = 512});
  for (int i = 0; i < 5000; ++i) {
    site.offer(packet_of(prng.between(20, 9000)));
    if (prng.chance(0.3)) {
      site.end_turn();
      ASSERT_TRUE(site.adds_up()) << i;
    }
    if (prng.chance(0.2)) site.wire.cross(start);
    if (prng.chance(0.05)) {
      site.wire.stop(start);
      if (prng.chance(0.5)) site.end_turn();
      site.wire.start(512, start);
      site.lane.restart(start);
    }
  }
  site.end_turn();
  EXPECT_TRUE(site.adds_up());
  EXPECT_GT(site.count(Counter::lan_sent), 100u);
  EXPECT_GT(site.drops.read_any_thread(DropReason::wan_places_full), 100u);
  EXPECT_GT(site.drops.read_any_thread(DropReason::stream_broken), 1u);
  EXPECT_GT(site.drops.read_any_thread(DropReason::peer_down), 1u);
}

}  // namespace

}  // namespace cw::gateway::test
