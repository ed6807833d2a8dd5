#include "dataplane/gateway/send_lane.h"

#include <gtest/gtest.h>

#include "dataplane/base/prng.h"
#include "dataplane/gateway/ip_packet.h"
#include "tests/unit/gateway/packets.h"
#include "tests/unit/gateway/slot_wire.h"

namespace cw::gateway::test {
namespace {
using namespace literals;

constexpr Instant start = Instant::from_ns(1'000'000'000);

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
