#include "dataplane/gateway/to_wan/slot_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/prng.h"
#include "tests/property/property.h"
#include "tests/sim/checkers/heap_watch.h"
#include "tests/unit/gateway/slot_wire.h"

namespace cw::gateway::test {
namespace {
using namespace literals;

constexpr Instant start = Instant::from_ns(1'000'000'000);

WireFrame frame_of(size_t bytes, uint32_t number = 0) {
  WireFrame frame;
  frame.header = {static_cast<uint16_t>(bytes), static_cast<uint16_t>(number * 7), number,
                  static_cast<FrameOrder>(number % 3)};
  frame.bytes.resize(bytes);
  for (size_t i = 0; i < bytes; ++i) frame.bytes[i] = static_cast<uint8_t>(number * 31 + i);
  return frame;
}

/// A wire and its writer.
struct Way {
  explicit Way(const SlotWire::Shape& shape, bool pads = false)
      : wire(shape), writer(SlotWriter::make(wire.source(), pads).value()) {
    wire.start(shape.payload_bytes, start);
    writer.restart(start);
  }
  Appended append(const WireFrame& frame, uint8_t ecn = 0, uint8_t dscp = 0, Instant now = start) {
    return writer.append(frame.header, frame.bytes, {ecn, dscp, now}, now);
  }
  /// Everything appended so far arrives.
  std::vector<WireFrame> arrived(Instant now = start) {
    writer.end_turn(now);
    wire.cross(now);
    return wire.frames();
  }
  size_t slots_of(uint32_t seq) {
    const auto found = wire.slots().find(seq);
    return found == wire.slots().end() ? 0 : found->second.size();
  }

  SlotWire wire;
  SlotWriter writer;
};

TEST(SlotWriter, a_frame_leaves_with_its_turn_in_a_short_slot) {
  Way way({.payload_bytes = 1024});
  EXPECT_EQ(way.append(frame_of(100, 1)), Appended::Taken);
  EXPECT_EQ(way.append(frame_of(60, 2)), Appended::Taken);
  EXPECT_EQ(way.wire.source().waiting_bytes(), 0u) << "before the turn ends more may come";
  EXPECT_EQ(way.writer.queued_count(), 2u);
  EXPECT_EQ(way.arrived(), (std::vector{frame_of(100, 1), frame_of(60, 2)}));
  EXPECT_EQ(way.wire.slots().at(0).at(0).bytes.size(), 8u + 108 + 68);
  EXPECT_EQ(way.writer.queued_count(), 0u);
  EXPECT_EQ(way.writer.sent_count(), 2u);
  way.writer.end_turn(start);
  way.wire.cross(start);
  EXPECT_EQ(way.slots_of(0), 1u) << "an empty turn sends nothing";
  EXPECT_EQ(way.wire.complaint(), "");
}

TEST(SlotWriter, a_short_slot_is_filled_up_with_zeros_where_it_pads) {
  Way way({.payload_bytes = 1024}, /*pads=*/true);
  EXPECT_EQ(way.append(frame_of(100, 1)), Appended::Taken);
  EXPECT_EQ(way.arrived(), (std::vector{frame_of(100, 1)}));
  const std::span slot(way.wire.slots().at(0).at(0).bytes);
  ASSERT_EQ(slot.size(), 1024u);
  EXPECT_EQ(std::ranges::count(slot.subspan(8 + 108), 0), 1024 - 8 - 108);
  EXPECT_EQ(way.wire.complaint(), "");
}

TEST(SlotWriter, a_full_slot_leaves_at_once) {
  Way way({.payload_bytes = 1024});
  way.append(frame_of(1024 - 8 - 8 - 1));
  EXPECT_EQ(way.wire.source().waiting_bytes(), 0u);
  way.append(frame_of(20, 1));
  EXPECT_EQ(way.wire.source().waiting_bytes(), 1024u) << "the header of the second straddles";
  EXPECT_EQ(way.arrived().size(), 2u);
  EXPECT_EQ(way.wire.complaint(), "");
  Way exact({.payload_bytes = 1024});
  exact.append(frame_of(1024 - 8 - 8));
  EXPECT_EQ(exact.wire.source().waiting_bytes(), 1024u);
  EXPECT_EQ(exact.writer.queued_count(), 0u);
}

TEST(SlotWriter, a_frame_straddles_slots_but_never_messages) {
  Way way({.slots = 38, .payload_bytes = 256});
  EXPECT_EQ(way.append(frame_of(9216, 1)), Appended::Taken);
  EXPECT_EQ(way.append(frame_of(9216, 2)), Appended::Taken);
  EXPECT_EQ(way.arrived(), (std::vector{frame_of(9216, 1), frame_of(9216, 2)}));
  EXPECT_EQ(way.slots_of(0), 38u);
  EXPECT_EQ(way.slots_of(1), 38u);
  EXPECT_EQ(way.wire.complaint(), "");
}

TEST(SlotWriter, a_frame_that_fills_its_message_to_the_last_byte_stays_in_it) {
  Way way({.slots = 64, .payload_bytes = 256});
  const size_t rest = 64 * 248 - 8 - 9216;
  way.append(frame_of(9216, 1));
  way.append(frame_of(rest - 8, 2));
  EXPECT_EQ(way.writer.next_due(), Instant::never()) << "no message is under way";
  way.append(frame_of(20, 3));
  way.arrived();
  EXPECT_EQ(way.slots_of(0), 64u);
  EXPECT_EQ(way.slots_of(1), 1u);
  Way one_more({.slots = 64, .payload_bytes = 256});
  one_more.append(frame_of(9216, 1));
  one_more.append(frame_of(rest - 7, 2));
  EXPECT_EQ(one_more.arrived().size(), 2u);
  EXPECT_EQ(one_more.slots_of(0), 38u);
  EXPECT_EQ(one_more.slots_of(1), 27u);
  EXPECT_EQ(one_more.wire.complaint(), "");
}

TEST(SlotWriter, a_message_ends_after_an_rtt_of_silence) {
  Way way({});
  way.writer.set_rtt(20_ms);
  EXPECT_EQ(way.writer.next_due(), Instant::never());
  way.append(frame_of(100, 1));
  way.append(frame_of(100, 2), 0, 0, start + 5_ms);
  EXPECT_EQ(way.writer.next_due(), start + 25_ms);
  way.writer.on_time(start + 24_ms);
  EXPECT_NE(way.writer.next_due(), Instant::never());
  way.writer.on_time(start + 25_ms);
  EXPECT_EQ(way.writer.next_due(), Instant::never());
  way.append(frame_of(100, 3), 0, 0, start + 26_ms);
  EXPECT_EQ(way.arrived().size(), 3u);
  EXPECT_EQ(way.slots_of(1), 1u) << "in a message of its own";
  way.writer.rebase(100_ms);
  EXPECT_EQ(way.writer.next_due(), start + 146_ms) << "a pause of the machine is no silence";
}

TEST(SlotWriter, has_no_room_while_every_place_is_in_use) {
  Way way({.messages = 2, .slots = 38, .payload_bytes = 256});
  EXPECT_EQ(way.append(frame_of(9216, 1)), Appended::Taken);
  EXPECT_EQ(way.append(frame_of(9216, 2)), Appended::Taken);
  EXPECT_EQ(way.append(frame_of(9216, 3)), Appended::NoRoom);
  way.arrived();
  EXPECT_EQ(way.append(frame_of(9216, 3)), Appended::NoRoom) << "it may have to be sent again";
  way.wire.retire_below(MessageSeq(1), start);
  EXPECT_EQ(way.append(frame_of(9216, 3)), Appended::Taken);
  EXPECT_EQ(way.append(frame_of(300, 4)), Appended::NoRoom);
  way.wire.retire_below(MessageSeq(2), start);
  EXPECT_EQ(way.append(frame_of(300, 4)), Appended::Taken);
  EXPECT_EQ(way.arrived(), (std::vector{frame_of(9216, 1), frame_of(9216, 2), frame_of(9216, 3),
                                        frame_of(300, 4)}));
}

TEST(SlotWriter, the_wire_may_be_marked_only_where_all_would_understand) {
  struct Row {
    std::vector<uint8_t> inner;
    uint8_t outer;
  };
  constexpr uint8_t no = 0, ect1 = 1, ect0 = 2, ce = 3;
  for (const Row& row :
       {Row{{ect0}, ect0}, Row{{ect1, ect1}, ect1}, Row{{ect1, ect0}, ect0}, Row{{ce}, ect0},
        Row{{ect1, ce}, ect0}, Row{{no}, no}, Row{{ect0, no, ect0}, no}, Row{{no, ce}, no}}) {
    Way way({});
    for (const uint8_t ecn : row.inner) way.append(frame_of(50), ecn);
    way.arrived();
    EXPECT_EQ(way.wire.slots().at(0).at(0).ecn, row.outer) << &row;
  }
}

TEST(SlotWriter, every_slot_that_a_frame_touches_bears_its_marks) {
  Way way({.payload_bytes = 256});
  way.append(frame_of(600, 1), 2, 10);  // slots 0, 1 and 112 bytes of 2
  way.append(frame_of(300, 2), 0, 20);  // the rest of slot 2, and slot 3
  way.append(frame_of(20, 3), 2, 30);   // slot 3
  way.append(frame_of(300, 4), 2, 30);  // slots 3 and 4
  way.arrived();
  const auto& slots = way.wire.slots().at(0);
  ASSERT_EQ(slots.size(), 6u);
  const uint8_t ecns[] = {2, 2, 0, 0, 2, 2};
  const uint8_t dscps[] = {10, 10, 10, 20, 30, 30};
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(slots.at(i).ecn, ecns[i]) << i;
    EXPECT_EQ(slots.at(i).dscp, dscps[i]) << i;
  }
}

TEST(SlotWriter, without_an_epoch_takes_nothing) {
  SlotWire wire({});
  SlotWriter writer = SlotWriter::make(wire.source()).value();
  const WireFrame frame = frame_of(100);
  EXPECT_EQ(writer.append(frame.header, frame.bytes, {.since = start}, start), Appended::Broken);
  wire.start(1024, start);
  writer.restart(start);
  EXPECT_EQ(writer.append(frame.header, frame.bytes, {.since = start}, start), Appended::Taken);
  wire.stop(start);
  EXPECT_EQ(writer.append(frame.header, frame.bytes, {.since = start}, start), Appended::Broken);
  writer.end_turn(start);
  EXPECT_EQ(writer.lost_count(), 1u) << "the first was in an unfinished slot";
  EXPECT_EQ(writer.sent_count(), 0u);
  EXPECT_EQ(writer.queued_count(), 0u);
}

TEST(SlotWriter, begins_anew_with_the_slots_of_a_new_epoch) {
  Way way({.messages = 2, .slots = 64, .payload_bytes = 2048});
  way.append(frame_of(3000, 1));
  way.wire.stop(start);
  way.wire.start(256, start);
  way.writer.restart(start);
  EXPECT_EQ(way.append(frame_of(3000, 2)), Appended::Taken);
  EXPECT_EQ(way.arrived(), std::vector{frame_of(3000, 2)});
  EXPECT_EQ(way.wire.slots().at(0).at(0).bytes.size(), 256u);
  EXPECT_EQ(way.writer.lost_count(), 1u);
  EXPECT_EQ(way.writer.sent_count(), 1u);
}

TEST(SlotWriter, a_message_that_its_receiver_ended_early_takes_nothing_else_with_it) {
  Way way({});
  way.append(frame_of(100, 1));
  way.arrived();
  way.append(frame_of(100, 2));
  way.wire.retire_below(MessageSeq(1), start);
  EXPECT_EQ(way.append(frame_of(2000, 3)), Appended::Taken) << "in the next message";
  way.arrived();
  EXPECT_EQ(way.writer.sent_count(), 2u);
  EXPECT_EQ(way.writer.lost_count(), 1u);
  EXPECT_EQ(way.writer.queued_count(), 0u);
  EXPECT_EQ(way.wire.frames(), (std::vector{frame_of(100, 1), frame_of(2000, 3)}));
}

TEST(SlotWriter, keeps_packets_until_nobody_reads_their_slots) {
  Way way({.messages = 2, .slots = 38, .payload_bytes = 256});
  way.append(frame_of(9216, 1));
  EXPECT_EQ(way.wire.kept_count(), 38u);
  way.arrived();
  EXPECT_EQ(way.wire.kept_count(), 0u) << "what has left is not sent again under passthrough";
  way.append(frame_of(100, 2));
  EXPECT_EQ(way.wire.kept_count(), 1u);
  way.wire.stop(start);
  way.writer.end_turn(start);
  EXPECT_EQ(way.wire.kept_count(), 1u) << "for the next slot, whichever epoch it is of";
}

TEST(SlotWriter, takes_a_frame_only_when_there_are_packets_for_all_of_it) {
  Way way({.messages = 2, .slots = 120, .payload_bytes = 256, .packets = 80});
  EXPECT_EQ(way.append(frame_of(9216, 1)), Appended::Taken);
  EXPECT_EQ(way.append(frame_of(9216, 2)), Appended::NoRoom) << "a quarter is not for slots";
  EXPECT_EQ(way.append(frame_of(100, 3)), Appended::Taken);
  EXPECT_EQ(way.arrived(), (std::vector{frame_of(9216, 1), frame_of(100, 3)}));
  EXPECT_EQ(way.append(frame_of(9216, 4)), Appended::Taken) << "they came back";
  EXPECT_EQ(way.arrived().size(), 3u);
  EXPECT_EQ(way.wire.complaint(), "");
}

TEST(SlotWriter, messages_too_small_for_a_frame_are_named) {
  SlotWire wire({.slots = 37});
  EXPECT_EQ(SlotWriter::make(wire.source()).error().sentence,
            "a message has 37 slots: a frame of 9216 bytes needs 38 of the smallest");
}

TEST(SlotWriter, allocates_nothing_once_made) {
  Way way({.messages = 8, .slots = 64});
  const WireFrame frame = frame_of(1500);
  const uint64_t before = sim::HeapWatch::allocation_count();
  {
    const sim::HeapWatch watch;
    for (int i = 0; i < 200; ++i) {
      way.append(frame, 2, 3);
      if (i % 3 == 0) way.writer.end_turn(start);
      if (i % 50 == 0) way.writer.on_time(start + 1_s);
    }
  }
  EXPECT_EQ(sim::HeapWatch::allocation_count(), before);
  EXPECT_GT(way.writer.sent_count(), 100u);
}

// Whatever the sizes, the turns and the silences: all that was taken arrives, in order, as it was.
RC_GTEST_PROP(SlotWriter, frames_arrive_as_they_were, (uint64_t seed)) {
  Prng prng(seed);
  const auto slots = static_cast<uint32_t>(prng.between(38, 120));
  const auto payload = static_cast<uint32_t>(prng.between(256, prng.chance(0.5) ? 600 : 8192));
  const SlotWire::Shape shape{.messages = static_cast<uint32_t>(prng.between(2, 5)),
                              .slots = slots,
                              .payload_bytes = payload,
                              .first_seq = prng.chance(0.5) ? 0 : UINT32_MAX - 2000};
  Way way(shape);
  Instant now = start;
  std::vector<WireFrame> taken;
  uint32_t retired = 0;
  for (uint32_t number = 0; number < 150; ++number) {
    now += Duration::from_us(static_cast<int64_t>(prng.below(1000)));
    const WireFrame frame = frame_of(prng.between(20, prng.chance(0.5) ? 200 : 9216), number);
    const Appended result = way.append(frame, static_cast<uint8_t>(prng.below(4)), 0, now);
    RC_ASSERT(result != Appended::Broken);
    if (result == Appended::Taken) taken.push_back(frame);
    if (prng.chance(0.3)) way.writer.end_turn(now);
    if (prng.chance(0.05)) way.writer.on_time(now + 1_s);
    if (prng.chance(0.3)) way.wire.cross(now);
    const auto& seen = way.wire.slots();
    if (prng.chance(0.5) && seen.size() > retired + 1) {
      retired = static_cast<uint32_t>(seen.size() - 1);  // all but the one under way
      way.wire.retire_below(MessageSeq(uint64_t{shape.first_seq} + retired), now);
    }
  }
  RC_ASSERT(way.arrived(now) == taken);
  RC_ASSERT(way.wire.complaint() == "");
  RC_ASSERT(way.writer.sent_count() == taken.size());
  RC_ASSERT(way.writer.lost_count() == 0u);
}

}  // namespace
}  // namespace cw::gateway::test
