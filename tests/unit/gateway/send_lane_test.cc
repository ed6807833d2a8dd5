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
  explicit Site(const ClassOptions& options = class_of_a_tenth(), const SlotWire::Shape& shape = {})
      : wire(shape), lane(SendLane::make(options, wire.stream(), wire.counters()).value()) {
    lane.set_rate(80_Mbps);
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
  void end_turn() { drops.add(DropReason::stream_broken, lane.end_turn(start)); }
  uint64_t count(Counter counter) { return wire.counters().read_any_thread(counter); }
  /// in = sent + refused + queued
  bool adds_up() {
    return count(Counter::lan_in) == count(Counter::lan_sent) + drops.snapshot_any_thread().sum() +
                                         lane.writer().queued_count();
  }

  SlotWire wire;
  SendLane lane;
  Drops drops;
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

TEST(SendLane, refuses_beyond_its_queue_and_keeps_the_numbers_whole) {
  Site site;
  EXPECT_EQ(site.lane.queue_bytes_max(), 100'000u);
  uint32_t taken = 0;
  while (!site.offer(packet_of(1000))) {
    ++taken;
    site.end_turn();
  }
  EXPECT_EQ(taken, 99u) << "of 1016 bytes each in a slot of its own";
  EXPECT_EQ(site.drops.read_any_thread(DropReason::wan_queue_full), 1u);
  site.wire.cross(start);
  EXPECT_EQ(site.offer(packet_of(1000)), std::nullopt);
  site.end_turn();
  site.wire.cross(start);
  EXPECT_EQ(site.wire.frames().back().header.bucket_seq, 99u) << "the refused one took none";
  EXPECT_TRUE(site.adds_up());
}

TEST(SendLane, refuses_when_no_message_can_be_opened) {
  ClassOptions options = class_of_a_tenth();
  options.queue = 10_s;
  Site site(options, {.messages = 2, .slots = 38, .payload_bytes = 256});
  EXPECT_EQ(site.offer(packet_of(9000)), std::nullopt);
  EXPECT_EQ(site.offer(packet_of(9000)), std::nullopt);
  EXPECT_EQ(site.offer(packet_of(9000)), DropReason::wan_places_full);
}

// A slot counts as one, whatever is in it.
TEST(SendLane, small_frames_one_by_one_use_up_messages_long_before_its_queue) {
  ClassOptions options = class_of_a_tenth();
  options.queue = 10_s;
  Site site(options, {.messages = 2, .slots = 38, .payload_bytes = 256});
  for (int i = 0; i < 2 * 38; ++i) {
    EXPECT_EQ(site.offer(packet_of(40)), std::nullopt) << i;
    site.end_turn();
  }
  EXPECT_EQ(site.offer(packet_of(40)), DropReason::wan_places_full);
  EXPECT_LT(site.wire.stream().waiting_bytes(), site.lane.queue_bytes_max() / 100);
  EXPECT_EQ(site.drops.read_any_thread(DropReason::wan_queue_full), 0u);
}

TEST(SendLane, marks_those_who_understand_above_half_of_its_queue) {
  Site site;
  for (int i = 0; i < 49; ++i) {
    site.offer(packet_of(1000, ecn_ect0));
    site.end_turn();
  }
  EXPECT_EQ(site.count(Counter::lan_marked), 0u);
  for (int i = 0; i < 2; ++i) {
    site.offer(packet_of(1000, ecn_ect0));
    site.end_turn();
  }
  EXPECT_EQ(site.count(Counter::lan_marked), 1u) << "the 51st met 49,784 and 50,800 bytes";
  site.offer(packet_of(1000));
  site.offer(packet_of(1000, ecn_ce));
  EXPECT_EQ(site.count(Counter::lan_marked), 1u) << "not capable, or marked before";
  site.end_turn();
  site.wire.cross(start);
  const auto frames = site.wire.frames();
  EXPECT_EQ(frames.at(49).bytes, packet_of(1000, ecn_ect0));
  EXPECT_EQ(frames.at(50).bytes, packet_of(1000, ecn_ce));
  EXPECT_EQ(frames.at(51).bytes, packet_of(1000));
}

TEST(SendLane, marks_nobody_where_the_class_says_so) {
  ClassOptions options = class_of_a_tenth();
  options.mark = false;
  Site site(options);
  while (!site.offer(packet_of(1000, ecn_ect0))) site.end_turn();
  EXPECT_EQ(site.count(Counter::lan_marked), 0u);
}

TEST(SendLane, a_slow_link_still_has_room_for_a_few_frames) {
  Site site;
  site.lane.set_rate(Rate::from_bps(1000));
  EXPECT_EQ(site.lane.queue_bytes_max(), 4u * 9216);
}

TEST(SendLane, takes_nothing_for_a_peer_that_is_down) {
  SlotWire wire({});
  SendLane lane = SendLane::make(class_of_a_tenth(), wire.stream(), wire.counters()).value();
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
    if (prng.chance(0.01)) {
      site.wire.stop(start);
      site.wire.start(512, start);
      site.lane.restart(start);
    }
  }
  site.end_turn();
  EXPECT_TRUE(site.adds_up());
  EXPECT_GT(site.count(Counter::lan_sent), 100u);
  EXPECT_GT(site.drops.read_any_thread(DropReason::wan_places_full), 100u);
  EXPECT_GT(site.drops.read_any_thread(DropReason::stream_broken), 1u);
}

}  // namespace
}  // namespace cw::gateway::test
